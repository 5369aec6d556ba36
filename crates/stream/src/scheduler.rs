//! The resource scheduler (paper, 5.3.2): staging memory and link engines of one direction.
//!
//! The rules, in full; the naive reference of the tests restates them:
//! - A stream holds its need, all or nothing, while it is active.
//! - Of permanent streams that are pending and ready the one registered first is taken first. While
//!   it does not fit nobody else is taken.
//! - Otherwise the first ready stream of the queue is taken. While it does not fit nobody else is
//!   taken: small streams do not keep a large one out. A stream whose application has all staging
//!   memory that it may have is passed over, so that it keeps nobody else out.
//! - An active stream that is not permanent leaves at the end of an ADU, for the tail of the queue,
//!   if another is ready and waits, and its quantum is used, or its own next ADU cannot begin, or
//!   the one that waits is permanent. If nobody waits, it goes on with a new quantum. One that was
//!   passed over waits for the active streams of its own application only.

use crate::ids::{AppId, StreamId};
use std::collections::{BTreeMap, BTreeSet};

/// What an active stream holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Need {
    pub app: AppId,
    pub staging_bytes: u64,
    pub engines: u32,
    pub permanent: bool,
}

/// Resources of one direction, and who waits for them.
#[derive(Debug)]
pub(crate) struct Scheduler {
    pub staging_total: u64,
    pub staging_used: u64,
    pub staging_most: u64,
    pub engines_total: u32,
    pub engines_used: u32,
    pub engines_most: u32,
    /// Pending streams that are permanent, by number.
    permanent: BTreeMap<StreamId, Need>,
    /// Pending streams that are not, by application.
    queues: BTreeMap<AppId, Queue>,
    /// The next place in the round.
    next: u64,
    active: BTreeMap<StreamId, Need>,
    by_app: BTreeMap<AppId, u64>,
}

/// Pending streams of an application, by their places in the round. Those of one that has all staging
/// memory that it may have are not gone through.
#[derive(Debug, Default)]
struct Queue {
    streams: BTreeMap<u64, (StreamId, Need)>,
    /// None of them needs less.
    least_bytes: u64,
}

/// Who is taken next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Nobody is ready.
    Nobody,
    /// This one, which has its resources now.
    Taken(StreamId),
    /// Somebody waits for resources.
    Waits,
}

impl Scheduler {
    pub fn new(staging_total: u64, engines_total: u32) -> Self {
        Self {
            staging_total,
            staging_used: 0,
            staging_most: 0,
            engines_total,
            engines_used: 0,
            engines_most: 0,
            permanent: BTreeMap::new(),
            queues: BTreeMap::new(),
            next: 0,
            active: BTreeMap::new(),
            by_app: BTreeMap::new(),
        }
    }

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

    /// Takes a stream out of those that wait.
    pub fn forget(&mut self, stream: StreamId) {
        self.permanent.remove(&stream);
        self.queues.retain(|_, queue| {
            queue.streams.retain(|_, (other, _)| *other != stream);
            !queue.streams.is_empty()
        });
    }

    pub fn fits(&self, need: &Need) -> bool {
        need.staging_bytes <= self.staging_total - self.staging_used
            && need.engines <= self.engines_total - self.engines_used
    }

    /// Bytes of staging memory that the application's active streams hold.
    pub fn held_by_app(&self, app: AppId) -> u64 {
        self.by_app.get(&app).copied().unwrap_or(0)
    }

    /// The stream that is to be taken next, by the rules. `ready` says whose next ADU can begin,
    /// `limit` what staging memory an application may have.
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

    /// Takes the next stream if it fits.
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

    /// Whether anybody waits for what an active stream of `app` holds, and if so, whether that one
    /// is permanent.
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

    /// Gives back what the stream holds; false if it holds nothing.
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

    pub fn active(&self) -> BTreeSet<StreamId> {
        self.active.keys().copied().collect()
    }

    /// Those that come before the stream among the pending ones.
    pub fn before(&self, stream: StreamId) -> Vec<StreamId> {
        let permanent = self.permanent.keys().copied();
        let queued = self.queues.values().flat_map(|queue| &queue.streams);
        let queued: BTreeMap<_, _> = queued.map(|(place, (other, _))| (place, *other)).collect();
        let waiting = permanent.chain(queued.into_values());
        waiting.take_while(|other| *other != stream).collect()
    }
}
