//! Links or connections that a driver tries in each round.

use isthmus_stream::Instant;
use std::collections::BTreeMap;

/// How long a link or connection is tried in each round after data moved on it, in nanoseconds.
const BUSY_NS: u64 = 10_000_000;

/// The links or connections to try in each round, with the time at which that ends.
#[derive(Debug, Default)]
pub(crate) struct Busy<Id>(BTreeMap<Id, Instant>);

impl<Id: Ord + Copy> Busy<Id> {
    /// Tries a link or connection in the following rounds.
    pub fn add(&mut self, id: Id, now: Instant) {
        self.0.insert(id, now.after_ns(BUSY_NS));
    }

    /// Records whether data moved in a round. A link or connection without movement for some time
    /// is idle.
    pub fn note(&mut self, id: Id, now: Instant, moved: bool) {
        if moved {
            self.add(id, now);
        } else if self.0.get(&id).is_some_and(|until| *until <= now) {
            self.0.remove(&id);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, id: Id) -> bool {
        self.0.contains_key(&id)
    }

    pub fn ids(&self) -> Vec<Id> {
        self.0.keys().copied().collect()
    }
}
