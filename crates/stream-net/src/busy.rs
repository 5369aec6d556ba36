//! The set of links or connections that are busy: a driver tries to move data on them in each
//! round.

use isthmus_stream::Instant;
use std::collections::BTreeMap;

/// Time in nanoseconds for which a link or connection stays busy after data last moved on it.
const BUSY_NS: u64 = 10_000_000;

/// The set of busy links or connections, each with the time after which it is idle.
#[derive(Debug, Default)]
pub(crate) struct Busy<Id>(BTreeMap<Id, Instant>);

impl<Id: Ord + Copy> Busy<Id> {
    /// Adds a link or connection to the busy ones, so that the following rounds try to move data on
    /// it.
    pub fn add(&mut self, id: Id, now: Instant) {
        self.0.insert(id, now.after_ns(BUSY_NS));
    }

    /// Records whether data moved on a link or connection in a round. If none moved for some time,
    /// the link or connection becomes idle.
    pub fn note(&mut self, id: Id, now: Instant, moved: bool) {
        if moved {
            self.add(id, now);
        } else if self.0.get(&id).is_some_and(|until| *until <= now) {
            self.0.remove(&id);
        }
    }

    /// Returns whether all links or connections are idle.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether this link or connection is busy.
    pub fn contains(&self, id: Id) -> bool {
        self.0.contains_key(&id)
    }

    /// Returns the IDs of all busy links or connections.
    pub fn ids(&self) -> Vec<Id> {
        self.0.keys().copied().collect()
    }
}
