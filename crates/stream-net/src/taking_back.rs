//! Data in rings of ranks that have left: what is not sent in time is copied, so that the rings go back
//! to the system.

use crate::driver::Driver;
use crate::link::{Input, PATIENCE};
use isthmus_stream::LinkId;
use std::time::Instant;

impl Driver {
    /// Lets go of the half of a link that ranks write. What was claimed of a ring keeps it mapped,
    /// all of it, however little that is: for no longer than it may stand in the way of a rank.
    pub(crate) fn end_input(&mut self, id: LinkId) {
        let link = self.links.get_mut(&id);
        let input = link.and_then(|link| link.input.take());
        if input.as_ref().is_some_and(Input::is_ring) {
            self.left.push_back((id, Instant::now() + PATIENCE));
        }
    }

    /// Copies what lies in rings of ranks that left some time ago; whether there was one. Of a new
    /// ring of the same link it is copied too, which costs no more than that.
    pub(crate) fn take_back_of_left(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some((link, at)) = self.left.front().copied()
            && at <= now
        {
            self.left.pop_front();
            self.memory.spill(link);
            any = true;
        }
        any
    }
}
