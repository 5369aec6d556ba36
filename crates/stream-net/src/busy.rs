//! Links or connections that are tried in each round of a driver.

use isthmus_stream::Instant;
use std::collections::BTreeMap;

/// How long one is tried in each round after something moved on it, in nanoseconds.
const BUSY_NS: u64 = 10_000_000;

/// What is tried in each round, and until when.
#[derive(Debug)]
pub(crate) struct Busy<Id>(BTreeMap<Id, Instant>);

impl<Id> Default for Busy<Id> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<Id: Ord + Copy> Busy<Id> {
    /// Tries it in the rounds after this one.
    pub fn add(&mut self, id: Id, now: Instant) {
        self.0.insert(id, now.after_ns(BUSY_NS));
    }

    /// Notes whether something moved in a round. What has not moved for some time is busy no more.
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
