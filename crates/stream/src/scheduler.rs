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
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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
    /// Pending streams that are not, in the order of the round.
    queue: VecDeque<(StreamId, Need)>,
    active: BTreeMap<StreamId, Need>,
    by_app: BTreeMap<AppId, u64>,
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
            queue: VecDeque::new(),
            active: BTreeMap::new(),
            by_app: BTreeMap::new(),
        }
    }

    pub fn enqueue(&mut self, stream: StreamId, need: Need) {
        if need.permanent {
            self.permanent.insert(stream, need);
        } else {
            self.queue.push_back((stream, need));
        }
    }

    /// Takes a stream out of those that wait.
    pub fn forget(&mut self, stream: StreamId) {
        self.permanent.remove(&stream);
        self.queue.retain(|(other, _)| *other != stream);
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
        let permanent = self.permanent.iter().map(|(stream, need)| (*stream, *need));
        let waiting = permanent.chain(self.queue.iter().copied());
        let mut may = waiting.filter(|(_, need)| {
            let held = self.held_by_app(need.app);
            held.saturating_add(need.staging_bytes) <= limit(need.app)
        });
        may.find(|(stream, _)| ready(*stream))
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
        let permanent = self.permanent.iter().map(|(stream, need)| (*stream, *need));
        let mut waiting = permanent.chain(self.queue.iter().copied());
        let own = waiting.find(|(stream, need)| need.app == app && ready(*stream));
        own.map(|(_, need)| need.permanent)
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
        let waiting = permanent.chain(self.queue.iter().map(|(other, _)| *other));
        waiting.take_while(|other| *other != stream).collect()
    }
}
