//! What is told.

use crate::{Case, Offer};
use isthmus_kernel::Cycles;

/// What of a message is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Its time has come.
    Generated,
    /// It has arrived, or its head has.
    Delivered,
}

/// Something that the engine told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Told {
    /// The time to which it belongs.
    pub at: Cycles,
    /// What it is.
    pub what: What,
    /// Of which message.
    pub number: usize,
    /// How much of it.
    pub size: u32,
    /// How much later all of it is there.
    pub later: Cycles,
}

/// Messages to be offered: for when, their numbers and themselves.
pub type FollowUps<'c> = Vec<(Cycles, usize, &'c Offer)>;

/// Everything told in the runs of an engine.
#[derive(Debug)]
pub struct Log<'c> {
    case: &'c Case,
    pub(crate) told: Vec<Told>,
    finish_after: usize,
}

impl<'c> Log<'c> {
    pub(crate) fn new(case: &'c Case) -> Self {
        Self {
            case,
            told: Vec::new(),
            finish_after: usize::MAX,
        }
    }

    /// Tells that message `number` was generated at `at`. Returns the messages that follow that, with times
    /// and numbers, in the order in which they are to be offered.
    pub fn generated(&mut self, at: Cycles, number: usize) -> FollowUps<'c> {
        self.told.push(Told {
            at,
            what: What::Generated,
            number,
            size: self.case.offers[number].size,
            later: 0,
        });
        self.follow_ups(What::Generated, number, at + 1)
    }

    /// Tells at `at` that `size` units of message `number` have arrived or will have at `complete`.
    /// Returns the messages that follow that, as [`Log::generated`] does.
    pub fn delivered(
        &mut self,
        at: Cycles,
        number: usize,
        size: u32,
        complete: Cycles,
    ) -> FollowUps<'c> {
        self.told.push(Told {
            at,
            what: What::Delivered,
            number,
            size,
            later: complete - at,
        });
        self.follow_ups(What::Delivered, number, complete)
    }

    fn follow_ups(&self, what: What, number: usize, since: Cycles) -> FollowUps<'c> {
        let offers = self.case.offers.iter().enumerate();
        offers
            .filter(|(_, offer)| offer.after == Some((what, number)))
            .map(|(follow_up, offer)| (since + offer.time, follow_up, offer))
            .collect()
    }

    /// The size of message `number`, for an engine that does not tell it.
    pub fn size(&self, number: usize) -> u32 {
        self.case.offers[number].size
    }

    /// Whether the engine may end its run.
    pub fn is_finished(&self) -> bool {
        self.told.len() >= self.finish_after
    }

    pub(crate) fn finish_after(&mut self, told: usize) {
        self.finish_after = told;
    }

    pub(crate) fn delivered_all(&self) -> bool {
        self.told.len() == 2 * self.case.offers.len()
    }

    pub(crate) fn under_way(&self) -> u64 {
        let of = |what| self.told.iter().filter(|told| told.what == what).count() as u64;
        of(What::Generated) - of(What::Delivered)
    }

    /// Everything, in an order that does not depend on the pieces in which it was told.
    pub(crate) fn sorted(mut self) -> Vec<Told> {
        self.told.sort_unstable();
        self.told
    }
}
