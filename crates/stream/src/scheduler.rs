//! The resource scheduler (paper, 5.3.2): assigns staging memory and link engines of one direction
//! to streams.
//!
//! These are all rules; the tests compare the scheduler with a naive implementation of them:
//! - An active stream holds all resources that it needs.
//! - Among ready permanent streams, the one that was registered first is next. While it does not
//!   fit, no other stream starts.
//! - Otherwise the first ready stream of the queue is next. While it does not fit, no other stream
//!   starts, so that small streams do not starve a large one. A stream whose application has
//!   reached its limit of staging memory is skipped, so that it blocks no other.
//! - An active stream that is not permanent goes to the end of the queue after an application data
//!   unit (ADU) if another ready stream waits and one of these holds: its quantum is used, its own
//!   next ADU cannot begin, or the waiting stream is permanent. If no stream waits, it continues
//!   with a new quantum. A skipped stream waits only for the active streams of its own application.

use crate::ids::{AppId, StreamId};
use std::collections::{BTreeMap, BTreeSet};

/// The resources that a stream needs to be active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Need {
    pub app: AppId,
    pub staging_bytes: u64,
    pub engines: u32,
    pub permanent: bool,
}

/// The staging memory and the engines for streams of one direction (transmit or receive), and the
/// streams that wait for them.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    pub staging_total: u64,
    pub staging_used: u64,
    pub staging_most: u64,
    pub engines_total: u32,
    pub engines_used: u32,
    pub engines_most: u32,
    /// Pending permanent streams, by stream number.
    permanent: BTreeMap<StreamId, Need>,
    /// Other pending streams, in one queue per application.
    queues: BTreeMap<AppId, Queue>,
    /// The position in the queues that the next enqueued stream gets.
    next: u64,
    active: BTreeMap<StreamId, Need>,
    by_app: BTreeMap<AppId, u64>,
}

/// Pending streams of an application, by their positions in the common order of all applications.
/// The queue is skipped if the application has reached its limit of staging memory.
#[derive(Debug, Default)]
struct Queue {
    streams: BTreeMap<u64, (StreamId, Need)>,
    /// The minimum staging memory in bytes that any stream of the queue needs.
    least_bytes: u64,
}

/// The outcome of an attempt to start the next pending stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// No stream is ready.
    Nobody,
    /// This stream received its resources.
    Taken(StreamId),
    /// The next stream waits for resources.
    Waits,
}

impl Scheduler {
    /// Creates a scheduler with this staging memory in bytes and this number of engines, all of
    /// them free.
    pub fn new(staging_total: u64, engines_total: u32) -> Self {
        Self {
            staging_total,
            engines_total,
            ..Self::default()
        }
    }

    /// Adds a pending stream at the end of the queue of its application, or to the permanent
    /// streams.
    pub fn enqueue(&mut self, stream: StreamId, need: Need) {
        if need.permanent {
            self.permanent.insert(stream, need);
        } else {
            let new = Queue {
                least_bytes: u64::MAX,
                ..Queue::default()
            };
            let queue = self.queues.entry(need.app).or_insert(new);
            queue.least_bytes = queue.least_bytes.min(need.staging_bytes);
            queue.streams.insert(self.next, (stream, need));
            self.next += 1;
        }
    }

    /// Removes a pending stream from its queue.
    pub fn forget(&mut self, stream: StreamId) {
        self.permanent.remove(&stream);
        self.queues.retain(|_, queue| {
            queue.streams.retain(|_, (other, _)| *other != stream);
            !queue.streams.is_empty()
        });
    }

    /// Returns whether the free resources are sufficient for `need`.
    pub fn fits(&self, need: &Need) -> bool {
        need.staging_bytes <= self.staging_total - self.staging_used
            && need.engines <= self.engines_total - self.engines_used
    }

    /// Returns the staging memory of the application's active streams, in bytes.
    pub fn held_by_app(&self, app: AppId) -> u64 {
        self.by_app.get(&app).copied().unwrap_or(0)
    }

    /// Returns the next stream to start according to the scheduler's rules, `None` if no stream is
    /// ready. `ready` says whether a stream's next application data unit (ADU) can begin, `limit`
    /// returns the staging memory limit of an application.
    fn head(
        &self,
        ready: impl Fn(StreamId) -> bool,
        limit: impl Fn(AppId) -> u64,
    ) -> Option<(StreamId, Need)> {
        let left = |app| limit(app).checked_sub(self.held_by_app(app));
        let fits = |need: &Need| left(need.app).is_some_and(|left| need.staging_bytes <= left);
        let permanent = self.permanent.iter().map(|(stream, need)| (*stream, *need));
        let mut permanent = permanent.filter(|(_, need)| fits(need));
        if let Some(found) = permanent.find(|(stream, _)| ready(*stream)) {
            return Some(found);
        }
        let firsts = self.queues.iter().filter_map(|(app, queue)| {
            let left = left(*app).filter(|left| queue.least_bytes <= *left)?;
            let mut may = queue.streams.iter();
            may.find(|(_, (stream, need))| need.staging_bytes <= left && ready(*stream))
        });
        let first = firsts.min_by_key(|(place, _)| **place);
        first.map(|(_, found)| *found)
    }

    /// Starts the next stream if its resources are free. `ready` says whether a stream's next
    /// application data unit (ADU) can begin, `limit` returns the staging memory limit of an
    /// application.
    pub fn next(&mut self, ready: impl Fn(StreamId) -> bool, limit: impl Fn(AppId) -> u64) -> Next {
        let Some((stream, need)) = self.head(ready, limit) else {
            return Next::Nobody;
        };
        if !self.fits(&need) {
            return Next::Waits;
        }
        self.forget(stream);
        self.staging_used += need.staging_bytes;
        self.engines_used += need.engines;
        self.staging_most = self.staging_most.max(self.staging_used);
        self.engines_most = self.engines_most.max(self.engines_used);
        *self.by_app.entry(need.app).or_insert(0) += need.staging_bytes;
        self.active.insert(stream, need);
        Next::Taken(stream)
    }

    /// Looks for a waiting stream that could use the resources of an active stream of `app`.
    /// Returns whether the waiting stream is permanent, or `None` if no stream waits.
    pub fn waiter(
        &self,
        app: AppId,
        ready: impl Fn(StreamId) -> bool,
        limit: impl Fn(AppId) -> u64,
    ) -> Option<bool> {
        if let Some((_, need)) = self.head(&ready, limit) {
            return Some(need.permanent);
        }
        let permanent = self.permanent.iter();
        let mut permanent = permanent.filter(|(_, need)| need.app == app);
        if permanent.any(|(stream, _)| ready(*stream)) {
            return Some(true);
        }
        let mut own = self.queues.get(&app)?.streams.values();
        own.any(|(stream, _)| ready(*stream)).then_some(false)
    }

    /// Releases the resources of a stream. Returns false if it holds none.
    pub fn release(&mut self, stream: StreamId) -> bool {
        let Some(need) = self.active.remove(&stream) else {
            return false;
        };
        self.staging_used -= need.staging_bytes;
        self.engines_used -= need.engines;
        if let Some(held) = self.by_app.get_mut(&need.app) {
            *held -= need.staging_bytes;
            if *held == 0 {
                self.by_app.remove(&need.app);
            }
        }
        true
    }

    /// Returns the streams that hold resources.
    pub fn active(&self) -> BTreeSet<StreamId> {
        self.active.keys().copied().collect()
    }

    /// Returns the pending streams that the scheduler starts before this one.
    pub fn before(&self, stream: StreamId) -> Vec<StreamId> {
        let permanent = self.permanent.keys().copied();
        let queued = self.queues.values().flat_map(|queue| &queue.streams);
        let queued: BTreeMap<_, _> = queued.map(|(place, (other, _))| (place, *other)).collect();
        let waiting = permanent.chain(queued.into_values());
        waiting.take_while(|other| *other != stream).collect()
    }
}
