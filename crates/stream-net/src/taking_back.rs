//! What lies in rings of links and is not sent or confirmed in time: it is copied, so that the rings
//! go back to ranks, or to the system where their ranks have left.

use crate::driver::Driver;
use crate::link::{Input, PATIENCE};
use crate::memory::Memory;
use crate::outside::Outside;
use isthmus_stream::{ConnectionId, LinkId};
use std::collections::BTreeMap;
use std::time::Instant;

/// Copies what lies in the ring of a link to the manager's memory, and takes back before what of it
/// is lent: its rank may write over it after this.
///
/// # Returns
/// How many packets were taken back.
pub(crate) fn take_back(
    link: LinkId,
    outsides: &mut BTreeMap<ConnectionId, Outside>,
    memory: &mut Memory,
) -> u64 {
    let mut revoked = 0;
    for outside in outsides.values_mut() {
        if let Outside::Framed(framed) = outside
            && framed.has_lent_of(link, memory)
        {
            revoked += framed.revoke();
        }
    }
    memory.spill(link);
    revoked
}

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
            let (outsides, memory) = (&mut self.outsides, &mut self.memory);
            self.figures.revoked += take_back(link, outsides, memory);
            any = true;
        }
        any
    }
}
