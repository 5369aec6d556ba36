//! A queue in front of one server, first come, first served.

use crate::Busy;
use isthmus_kernel::{Cycles, Gap};

/// Latest completion time. No run reaches it, and the sum of two such times does not overflow.
pub(crate) const LATEST: Cycles = Gap::MAX;

/// A server that serves one request at a time. It serves requests in the order of the calls, also within one cycle.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    free: Cycles,
    busy: Busy,
}

impl Queue {
    /// Serve a request that takes `length` cycles, at `ready` or later. The caller is at time `now`. Return the time of
    /// completion.
    #[inline]
    pub(crate) fn serve(&mut self, now: Cycles, ready: Cycles, length: Cycles) -> Cycles {
        let begin = self.free.max(ready).min(LATEST);
        self.free = begin.saturating_add(length).min(LATEST);
        self.busy.add_span(now, begin, self.free);
        self.free
    }

    /// Return the record of the time spans in which the server is busy.
    pub(crate) fn busy(&self) -> &Busy {
        &self.busy
    }
}
