//! Bytes of other rings, read where they lie by who is told where that is.
//!
//! A process that is the consumer of some rings and the producer of another, the lender, can tell
//! the consumer of that one, the [borrower](crate::borrower), where claimed bytes lie, instead of
//! copying them to it. The borrower maps those rings, for reading only: their descriptors come
//! through the pair of sockets beside the ring. What is lent can be taken back at any time and
//! without the borrower, which then finds its copy no good: see [`words`](crate::words).
//!
//! # How rings are named
//! By the number of their file, which the system gives and both sides ask it for. So whatever was
//! shown before, to whom and by whom, a loan is never read from another ring than it is of.
//!
//! # How many there are
//! A borrower has [`RINGS_SHOWN`] slots. A descriptor comes with the number of its slot, and takes
//! the place of what was there; a byte of its own says that a slot is empty again. So neither side
//! trusts the other for the bound, and a ring is shown once for as long as it is there, however
//! often what was lent of it is taken back.

use crate::claim::Claim;
use crate::line::{Line, RINGS_SHOWN};
use crate::mapping::Mapping;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Stretches of a loan at most.
pub const STRETCHES: usize = 64;

/// Bytes of a ring that are lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The ring: the last 32 bits of its file's number.
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
    /// How often it was said by then what is shown: if that is another number than before, the
    /// borrower looks for what was said.
    pub told: u32,
    /// Where the bytes are.
    pub stretches: Vec<Stretch>,
}

impl Loan {
    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.stretches.iter().map(|one| u64::from(one.len)).sum()
    }
}

/// A ring that the borrower was shown.
#[derive(Debug)]
struct Slot {
    memory: Weak<Mapping>,
    number: u32,
    /// When something of it was lent last.
    epoch: u64,
}

/// The lender's side: which rings the borrower was shown.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    slots: BTreeMap<u8, Slot>,
    told: u32,
    /// Which borrower it was.
    whom: u64,
}

impl Shown {
    /// Where claims lie, for borrower `whom` at the other end of `line`; nothing if it cannot be
    /// told so: they are too many, or their rings are.
    pub fn loan<'c>(
        &mut self,
        (epoch, whom): (u64, u64),
        claims: impl Iterator<Item = &'c Claim>,
        line: &Line,
    ) -> Option<Loan> {
        if self.whom != whom {
            // It has seen nothing yet.
            self.slots.clear();
            self.whom = whom;
        }
        self.withdraw(line);
        let mut stretches = Vec::new();
        for claim in claims {
            let (memory, position) = claim.whereabouts();
            let ring = self.number(epoch, memory, line)?;
            let len = u32::try_from(claim.len()).ok()?;
            stretches.push(Stretch {
                ring,
                position,
                len,
            });
        }
        let told = self.told;
        (stretches.len() <= STRETCHES).then_some(Loan {
            epoch,
            told,
            stretches,
        })
    }

    /// Says which rings are mapped here no more: they have no claims either, and the borrower would
    /// keep their memory.
    fn withdraw(&mut self, line: &Line) {
        let told = &mut self.told;
        self.slots.retain(|slot, one| {
            // What does not fit in the socket is said another time.
            let gone = one.memory.strong_count() == 0 && line.withdraw(*slot);
            *told = told.wrapping_add(u32::from(gone));
            !gone
        });
    }

    /// The number of a ring that the borrower was shown, or is now.
    fn number(&mut self, epoch: u64, memory: &Arc<Mapping>, line: &Line) -> Option<u32> {
        let known = |one: &&mut Slot| std::ptr::eq(one.memory.as_ptr(), &raw const **memory);
        if let Some(one) = self.slots.values_mut().find(known) {
            one.epoch = epoch;
            return Some(one.number);
        }
        let slot = self.room(epoch)?;
        // What the system refuses here costs speed and nothing else.
        let file = memory.to_read().ok()?;
        let number = crate::mapping::number_of(&file)?;
        if self.slots.values().any(|one| one.number == number) {
            return None;
        }
        line.show(slot, &file).ok()?;
        self.told = self.told.wrapping_add(1);
        let memory = Arc::downgrade(memory);
        self.slots.insert(
            slot,
            Slot {
                memory,
                number,
                epoch,
            },
        );
        Some(number)
    }

    /// A slot that is empty, or one of a ring of which nothing is lent now.
    fn room(&self, epoch: u64) -> Option<u8> {
        let idle = |slot: u8| match self.slots.get(&slot) {
            None => true,
            Some(one) => one.memory.strong_count() == 0 || one.epoch != epoch,
        };
        let empty = (0..RINGS_SHOWN).find(|slot| !self.slots.contains_key(slot));
        empty.or_else(|| (0..RINGS_SHOWN).find(|slot| idle(*slot)))
    }
}
