//! One thing after another, first come, first served.

use crate::Busy;
use isthmus_kernel::{Cycles, Gap};

/// The latest time at which anything is done: no run comes to it, and others may be added to it.
pub(crate) const LATEST: Cycles = Gap::MAX;

/// What can do one thing at a time. Whoever is told first goes first, also of several in one cycle.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    free: Cycles,
    busy: Busy,
}

impl Queue {
    /// Takes it for `length` cycles, told at `now`, from `ready` on at the earliest. Answers when it is
    /// done.
    #[inline]
    pub(crate) fn take(&mut self, now: Cycles, ready: Cycles, length: Cycles) -> Cycles {
        let begin = self.free.max(ready).min(LATEST);
        self.free = begin.saturating_add(length).min(LATEST);
        self.busy.take(now, begin, self.free);
        self.free
    }

    /// For how long it works.
    pub(crate) fn busy(&self) -> &Busy {
        &self.busy
    }
}
