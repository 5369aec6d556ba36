//! Copies data out of the rings of ranks that have left, if it is not sent in time, so that the
//! system can free the rings.

use crate::driver::Driver;
use crate::link::{CLAIM_TIMEOUT, Input};
use isthmus_stream::LinkId;
use std::time::Instant;

impl Driver {
    /// Drops the half of a link to which ranks write. Claims keep the whole ring in memory, so its
    /// claimed data is copied out after `CLAIM_TIMEOUT`.
    pub(crate) fn end_input(&mut self, id: LinkId) {
        let link = self.links.get_mut(&id);
        let input = link.and_then(|link| link.input.take());
        if input.as_ref().is_some_and(Input::is_ring) {
            self.departed
                .push_back((id, Instant::now() + CLAIM_TIMEOUT));
        }
    }

    /// Copies the data out of the rings of ranks that left some time ago. Returns whether there was
    /// such a ring. If the same link has a new ring, its data is copied too, which does no harm.
    pub(crate) fn reclaim_departed(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some((link, at)) = self.departed.front().copied()
            && at <= now
        {
            self.departed.pop_front();
            self.memory.spill(link);
            any = true;
        }
        any
    }
}
