//! Bytes of other rings, read where they lie by who is told where that is.
//!
//! A process that is the consumer of some rings and the producer of another can tell the consumer
//! of that one, the borrower, where claimed bytes lie, instead of copying them to it. The borrower
//! maps those rings, for reading only: their descriptors come through the pair of sockets beside
//! the ring. What is lent can be taken back at any time and without the borrower, which then finds
//! its copy no good: see [`words`](crate::words).

use crate::claim::Claim;
use crate::error::Error;
use crate::line::Line;
use crate::mapping::Mapping;
use crate::words::{Memory, split};
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

/// Rings that a borrower is shown at most at a time.
pub const RINGS_SHOWN: u32 = 64;
/// Stretches of a loan at most.
pub const STRETCHES: usize = 64;

/// Bytes of a ring that are lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The ring: how many were shown before it.
    pub ring: u32,
    /// The first byte, counted from the first that was ever written there.
    pub position: u64,
    /// Bytes.
    pub len: u32,
}

/// What is lent together: bytes one after the other, wherever they lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loan {
    /// When it was lent. A lender begins a new epoch when it takes back what it has lent.
    pub epoch: u64,
    /// Rings that were shown before this one are lent no more.
    pub floor: u32,
    /// Where the bytes are.
    pub stretches: Vec<Stretch>,
}

impl Loan {
    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.stretches.iter().map(|one| u64::from(one.len)).sum()
    }
}

/// The lender's side: which rings the borrower was shown.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// By number; those that are mapped here no more have no claims either.
    rings: BTreeMap<u32, Weak<Mapping>>,
    next: u32,
    floor: u32,
}

impl Shown {
    /// Where claims lie, for a borrower at the other end of `line`; nothing if it cannot be told
    /// so: they are too many, or their rings are.
    pub fn loan<'c>(
        &mut self,
        epoch: u64,
        claims: impl Iterator<Item = &'c Claim>,
        line: &Line,
    ) -> Option<Loan> {
        let mut stretches = Vec::new();
        for claim in claims {
            let (memory, position) = claim.whereabouts();
            let known = self.rings.iter();
            let mut known =
                known.filter(|(_, one)| std::ptr::eq(one.as_ptr(), &raw const **memory));
            let ring = match known.next() {
                Some((number, _)) => *number,
                None => self.show(memory, line)?,
            };
            let len = u32::try_from(claim.len()).ok()?;
            stretches.push(Stretch {
                ring,
                position,
                len,
            });
        }
        let floor = self.floor;
        (stretches.len() <= STRETCHES).then_some(Loan {
            epoch,
            floor,
            stretches,
        })
    }

    fn show(&mut self, memory: &Arc<Mapping>, line: &Line) -> Option<u32> {
        self.rings.retain(|_, one| one.strong_count() > 0);
        self.floor = self.rings.keys().next().copied().unwrap_or(self.next);
        if self.next - self.floor >= RINGS_SHOWN {
            return None;
        }
        // What the system refuses here costs speed and nothing else.
        let file = memory.to_read().ok()?;
        line.give(&file).ok()?;
        let number = self.next;
        self.next = self.next.checked_add(1)?;
        self.rings.insert(number, Arc::downgrade(memory));
        Some(number)
    }

    /// Nothing is lent: where rings of long ago keep new ones from being shown, all are shown
    /// anew.
    pub fn settle(&mut self) {
        if self.next - self.floor >= RINGS_SHOWN / 2 {
            self.rings.clear();
            self.floor = self.next;
        }
    }
}

/// The borrower's side: the rings that it was shown.
#[derive(Debug)]
pub(crate) struct Borrower {
    views: BTreeMap<u32, Arc<Mapping>>,
    next: u32,
    most: u64,
}

impl Borrower {
    /// Of rings of at most `most` bytes.
    pub fn new(most: u64) -> Self {
        Self {
            views: BTreeMap::new(),
            next: 0,
            most,
        }
    }

    /// Whether the loan is of a ring that was not looked for yet.
    pub fn lacks(&self, loan: &Loan) -> bool {
        loan.stretches.iter().any(|one| one.ring >= self.next)
    }

    /// Maps those rings that the loan is of, and lets go of those that are lent no more.
    pub fn see(&mut self, loan: &Loan, came: &mut VecDeque<OwnedFd>) -> Result<(), Error> {
        self.views.retain(|number, _| *number >= loan.floor);
        let newest = loan.stretches.iter().map(|one| one.ring).max();
        while newest.is_some_and(|newest| newest >= self.next) {
            let no = || Error::Loan("it is of a ring that was not shown".into());
            let file = came.pop_front().ok_or_else(no)?;
            if self.next >= loan.floor {
                self.views
                    .insert(self.next, Mapping::view(&file, self.most)?);
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Copies what is lent to `bytes`, which has as many, in steps that are each shown to `seen`.
    pub fn copy(
        &self,
        loan: &Loan,
        bytes: &mut [u8],
        step: usize,
        mut seen: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), Error> {
        let mut done = 0;
        for stretch in &loan.stretches {
            let memory = self.views.get(&stretch.ring);
            let memory = memory.ok_or_else(|| Error::Loan("its ring is lent no more".into()))?;
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
