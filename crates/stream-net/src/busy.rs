//! Links and connections that are tried in each round of a driver.

use isthmus_stream::{ConnectionId, Instant, LinkId};
use std::collections::BTreeMap;

/// How long a link or connection is tried in each round after something moved on it, in nanoseconds.
const BUSY_NS: u64 = 10_000_000;

/// What is tried in each round, and until when.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    pub links: BTreeMap<LinkId, Instant>,
    pub outsides: BTreeMap<ConnectionId, Instant>,
}

impl Busy {
    /// Tries a link in the rounds after this one.
    pub fn link(&mut self, id: LinkId, now: Instant) {
        self.links.insert(id, now.after_ns(BUSY_NS));
    }

    /// Tries a connection in the rounds after this one.
    pub fn outside(&mut self, id: ConnectionId, now: Instant) {
        self.outsides.insert(id, now.after_ns(BUSY_NS));
    }
}
