//! Who reads what is lent: the rings that it was shown, as many as it bounds by itself.

use crate::error::Error;
use crate::line::Told;
use crate::loan::Loan;
use crate::mapping::{Mapping, number_of};
use crate::words::{Memory, split};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What a slot holds.
#[derive(Debug)]
enum Ring {
    /// Of which nothing was read yet.
    Shown(OwnedFd),
    Mapped(Arc<Mapping>),
}

/// The borrower's side.
#[derive(Debug)]
pub(crate) struct Borrower {
    /// By slot: the ring and its number.
    slots: BTreeMap<u8, (u32, Ring)>,
    /// What the newest loan said of how often something was told.
    told: Option<u32>,
    most: u64,
    /// Nothing is borrowed any more.
    over: bool,
}

impl Borrower {
    /// Of rings of at most `most` bytes.
    pub fn new(most: u64) -> Self {
        Self {
            slots: BTreeMap::new(),
            told: None,
            most,
            over: false,
        }
    }

    /// From now on of rings of at most `most` bytes.
    pub fn set_most(&mut self, most: u64) {
        self.most = most;
    }

    /// Lets go of all rings.
    pub fn give_up(&mut self) {
        self.slots.clear();
        self.over = true;
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether something was told that this side has not looked for.
    pub fn is_behind(&mut self, loan: &Loan) -> bool {
        self.told.replace(loan.told) != Some(loan.told) || self.lacks(loan)
    }

    /// Whether the loan is of a ring that is not there.
    pub fn lacks(&self, loan: &Loan) -> bool {
        let there = |ring| self.slots.values().any(|(number, _)| *number == ring);
        loan.stretches.iter().any(|one| !there(one.ring))
    }

    /// Takes in what was told of slots.
    pub fn hear(&mut self, told: Told) -> Result<(), Error> {
        for (slot, file) in told {
            let Some(file) = file else {
                self.slots.remove(&slot);
                continue;
            };
            let Some(number) = number_of(&file) else {
                return Err(Error::NoRing("it is no file".into()));
            };
            // What is told last counts.
            self.slots.retain(|_, (other, _)| *other != number);
            self.slots.insert(slot, (number, Ring::Shown(file)));
        }
        Ok(())
    }

    /// The memory of a ring, mapped now if it is not.
    fn view(&mut self, ring: u32) -> Result<Arc<Mapping>, Error> {
        let mut slots = self.slots.iter();
        let Some((slot, _)) = slots.find(|(_, (number, _))| *number == ring) else {
            return Err(Error::Loan("it is of a ring that is not shown".into()));
        };
        let slot = *slot;
        let memory = match self.slots.remove(&slot) {
            Some((_, Ring::Mapped(memory))) => memory,
            Some((_, Ring::Shown(file))) => Mapping::view(file, self.most)?,
            None => unreachable!("it was found just now"),
        };
        let mapped = Ring::Mapped(Arc::clone(&memory));
        self.slots.insert(slot, (ring, mapped));
        Ok(memory)
    }

    /// Copies what is lent to `bytes`, which has as many, in steps that are each shown to `seen`.
    pub fn copy(
        &mut self,
        loan: &Loan,
        bytes: &mut [u8],
        step: usize,
        mut seen: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), Error> {
        let mut done = 0;
        for stretch in &loan.stretches {
            let memory = self.view(stretch.ring)?;
            let end = done + stretch.len as usize;
            let first = stretch.position.wrapping_sub(done as u64);
            while done < end {
                let position = first.wrapping_add(done as u64);
                let (at, len) = split(memory.capacity(), position, step.min(end - done));
                let piece = &mut bytes[done..done + len];
                memory.copy_out(at, piece);
                seen(done, piece);
                done += len;
            }
        }
        Ok(())
    }
}
