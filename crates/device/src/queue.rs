//! One thing after another, first come, first served.

use crate::Busy;
use isthmus_kernel::{Cycles, Gap};

/// The latest time at which anything is done: no run comes to it, and others may be added to it.
pub(crate) const LATEST: Cycles = Gap::MAX;

/// A server of one request at a time. It serves requests in the order of the calls, also those of one
/// cycle.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    free: Cycles,
    busy: Busy,
}

impl Queue {
    /// Take it for `length` cycles, from `ready` on at the earliest; `now` is the time of the call.
    /// Return the time at which the request is done.
    #[inline]
    pub(crate) fn take(&mut self, now: Cycles, ready: Cycles, length: Cycles) -> Cycles {
        let begin = self.free.max(ready).min(LATEST);
        self.free = begin.saturating_add(length).min(LATEST);
        self.busy.take(now, begin, self.free);
        self.free
    }

    /// Return its busy time.
    pub(crate) fn busy(&self) -> &Busy {
        &self.busy
    }
}
