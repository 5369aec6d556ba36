//! One file in the cache: its ranges, its tasks under way, and when it is drained.

use super::extents::{Extents, State};
use super::{AHEAD_BYTES, FIRST_AHEAD_BYTES, Fetch, PART_DELAY, RETRY, RETRY_MOST, Settings, Task};
use crate::files::Errno;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// What a client waits for: that all it has written so far is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    round: u64,
    failures: u64,
}

/// The state of a file in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Size in bytes.
    pub size: u64,
    /// The number of bytes in the cache, stored or not.
    pub bytes: u64,
    /// The number of unstored bytes.
    pub unstored: u64,
    /// Whether a client has it open.
    pub is_open: bool,
    /// The error of the last attempt to store it, until all is stored.
    pub error: Option<Errno>,
    /// When the oldest unstored byte was written.
    pub since: Option<Duration>,
}

/// Maximum number of drains before the store syncs them.
const DRAINS: usize = 64;

/// A drain whose bytes are not synced in the store.
#[derive(Debug)]
struct Drain {
    range: Range<u64>,
    /// The oldest round of its bytes.
    round: u64,
    /// Whether the bytes are written to the store.
    is_written: bool,
    /// Whether the store may lose them: it has reported an error meanwhile.
    is_suspect: bool,
}

/// A sync under way.
#[derive(Debug)]
struct Sync {
    ticket: u64,
    /// The drains that it covers.
    drains: Vec<u64>,
}

/// One file in the cache.
#[derive(Debug)]
pub(super) struct File {
    pub size: u64,
    /// Whether the store has files only as a whole: it is synced when all was written there.
    pub is_stored_whole: bool,
    pub extents: Extents,
    /// The number of clients that have it open.
    pub opens: u32,
    /// The number of times it is paused.
    pub pauses: u32,
    /// When its oldest unstored byte was written.
    pub dirty_since: Option<Duration>,
    /// When it is drained again after a failure.
    pub retry_at: Option<Duration>,
    /// When it has something to do, as in [`super::Cache::due`].
    pub due: Option<Duration>,
    /// Its last use, as in [`super::Cache::used`].
    pub used: u64,
    /// The number of this round: it grows whenever a client waits.
    round: u64,
    /// Since when it is to be drained without waiting for its age.
    urgent_since: Option<Duration>,
    drains: BTreeMap<u64, Drain>,
    sync: Option<Sync>,
    /// Whether all dirty bytes are in the range of a drain under way.
    is_blocked: bool,
    /// Where the search for dirty bytes begins.
    cursor: u64,
    /// Where the search for bytes to drop begins.
    dropped: u64,
    error: Option<Errno>,
    failures: u64,
    /// The round in which unstored bytes were last abandoned. Clients that wait for an earlier round get an error.
    abandoned: u64,
    /// The number of failures since the last success.
    failures_in_row: u32,
    /// Whether the last sync has failed.
    has_sync_failed: bool,
    /// Where a client that reads on would read next, and how far is read ahead of it.
    next_read: u64,
    ahead: u64,
}

impl File {
    /// Create a file that one client has open, of which nothing is cached.
    pub fn new(size: u64) -> Self {
        Self {
            size,
            is_stored_whole: false,
            extents: Extents::default(),
            opens: 1,
            pauses: 0,
            dirty_since: None,
            retry_at: None,
            due: None,
            used: 0,
            round: 0,
            urgent_since: None,
            drains: BTreeMap::new(),
            sync: None,
            is_blocked: false,
            cursor: 0,
            dropped: 0,
            error: None,
            failures: 0,
            abandoned: 0,
            failures_in_row: 0,
            has_sync_failed: false,
            next_read: 0,
            ahead: 0,
        }
    }

    /// Return the state of the file.
    pub fn status(&self) -> Status {
        Status {
            size: self.size,
            bytes: self.extents.bytes(),
            unstored: self.extents.unstored(),
            is_open: self.opens > 0,
            error: self.error,
            since: self.dirty_since,
        }
    }

    /// Have the file drained from this time on, without waiting for its age.
    pub fn hurry(&mut self, at: Duration) {
        if self.extents.unstored() > 0 {
            self.urgent_since = Some(self.urgent_since.map_or(at, |before| before.min(at)));
        }
    }

    /// Return when there is something to do, if there is.
    pub fn when_due(&self, settings: &Settings) -> Option<Duration> {
        if self.pauses > 0 || !(self.can_drain() || self.can_sync(settings)) {
            return None;
        }
        let by_age = self.dirty_since.map(|since| since + settings.dirty_age);
        let due = match self.can_drain() {
            true => [self.urgent_since, by_age].into_iter().flatten().min(),
            false => self.dirty_since,
        };
        // After a failure, not before the time to try again.
        due.max(self.retry_at)
    }

    /// Return whether there are bytes that no drain has taken.
    fn has_dirty(&self) -> bool {
        self.extents.oldest_round().is_some()
    }

    /// Return whether a drain can begin.
    fn can_drain(&self) -> bool {
        self.has_dirty() && !self.is_blocked
    }

    /// Return whether a sync is worth it: all is written to the store, or all that a client waits for, or a
    /// good part of what may be unstored, or many drains. A file that is stored as a whole is not synced in parts.
    fn can_sync(&self, settings: &Settings) -> bool {
        let written = self.drains.values().filter(|drain| drain.is_written);
        let count = written.clone().count();
        if self.sync.is_some() || count == 0 {
            return false;
        }
        let bytes = written.map(|drain| drain.range.end - drain.range.start);
        let bytes: u64 = bytes.sum();
        let is_done = |before: u64| {
            let is_dirty = self.extents.oldest_round().is_some_and(|at| at < before);
            let running = self.drains.values().filter(|drain| !drain.is_written);
            !is_dirty && running.clone().all(|drain| drain.round >= before)
        };
        let is_wanted = self
            .drains
            .values()
            .any(|drain| drain.is_written && drain.round < self.round);
        is_done(u64::MAX)
            || (is_wanted && is_done(self.round))
            || (!self.is_stored_whole && (bytes >= settings.dirty_bytes / 4 || count >= DRAINS))
    }

    /// Return whether no task is under way.
    pub fn is_idle(&self) -> bool {
        self.sync.is_none() && self.drains.values().all(|drain| drain.is_written)
    }

    /// Record that a client has written bytes.
    pub fn wrote(&mut self, now: Duration, range: Range<u64>, part: u64) {
        self.size = self.size.max(range.end);
        self.is_blocked = false;
        self.extents.write(range.clone(), self.round);
        self.dirty_since.get_or_insert(now);
        // A part that is complete, at the end of what was written.
        let last = (range.end / part).saturating_sub(1) * part..range.end / part * part;
        let is_complete = !self.is_stored_whole && last.end > range.start && !last.is_empty() && {
            let mut unstored = 0;
            for (piece, state) in self.extents.within(last.clone()) {
                if matches!(state, State::Dirty(_)) {
                    unstored += piece.end - piece.start;
                }
            }
            unstored == part
        };
        if is_complete {
            self.hurry(now + PART_DELAY);
        }
    }

    /// Record that bytes may have changed in the cache although they are not written.
    pub fn not_written(&mut self, range: Range<u64>) {
        self.is_blocked = false;
        let parts: Vec<_> = self.extents.within(range).collect();
        for (part, state) in parts {
            match state {
                // What is read replaces them.
                State::Fetching(_) => {}
                State::Fetched | State::Stored => self.extents.set(part, None),
                State::Dirty(_) | State::Draining(_) => self.extents.write(part, self.round),
            }
        }
    }

    /// Begin a round: a client waits until what was written so far is stored.
    pub fn want(&mut self, now: Duration) -> Goal {
        let round = self.round;
        self.round += 1;
        self.retry_at = None;
        self.hurry(now);
        let failures = self.failures;
        Goal { round, failures }
    }

    /// Return whether a goal is reached, or cannot be.
    pub fn reached(&self, goal: Goal) -> Option<Result<(), Errno>> {
        if goal.round < self.abandoned {
            return Some(Err(Errno::IO));
        }
        let is_dirty = self
            .extents
            .oldest_round()
            .is_some_and(|at| at <= goal.round);
        if !is_dirty && self.drains.values().all(|drain| drain.round > goal.round) {
            return Some(Ok(()));
        }
        match self.error {
            Some(error) if self.failures > goal.failures => Some(Err(error)),
            _ => None,
        }
    }

    /// Begin a task.
    pub fn begin(&mut self, ticket: u64, settings: &Settings) -> Option<Task> {
        if self.can_sync(settings) {
            let drains = self.drains.iter().filter(|(_, drain)| drain.is_written);
            let drains = drains.map(|(ticket, _)| *ticket).collect();
            self.sync = Some(Sync { ticket, drains });
            return Some(Task::Sync);
        }
        let part = settings.part_bytes;
        let found = self.to_drain(self.cursor, part);
        let Some((range, round)) = found.or_else(|| self.to_drain(0, part)) else {
            self.is_blocked = true;
            return None;
        };
        self.cursor = range.end;
        self.extents
            .set(range.clone(), Some(State::Draining(ticket)));
        let drain = Drain {
            range: range.clone(),
            round,
            is_written: false,
            is_suspect: false,
        };
        self.drains.insert(ticket, drain);
        Some(Task::Drain(range))
    }

    /// Return the first dirty bytes from `start` on that no drain under way has in its range, and their
    /// oldest round. Of two drains of the same bytes, the store could be left with the older ones.
    fn to_drain(&self, mut start: u64, part: u64) -> Option<(Range<u64>, u64)> {
        let running = self.drains.values().filter(|drain| !drain.is_written);
        loop {
            let (mut range, round) = self.extents.first_dirty(start, part)?;
            let others = running.clone().map(|drain| &drain.range);
            let mut others =
                others.filter(|other| other.start < range.end && range.start < other.end);
            if let Some(other) = others.clone().find(|other| other.start <= range.start) {
                start = other.end;
                continue;
            }
            if let Some(first) = others.by_ref().map(|other| other.start).min() {
                range.end = first;
            }
            return Some((range, round));
        }
    }

    /// Record the result of a task. Return the bytes that are stored now.
    pub fn finish(
        &mut self,
        now: Duration,
        ticket: u64,
        result: Result<(), Errno>,
    ) -> Vec<Range<u64>> {
        self.is_blocked = false;
        let is_sync = self.sync.as_ref().is_some_and(|sync| sync.ticket == ticket);
        match result {
            Ok(()) if self.is_progress(ticket) => {
                (self.failures_in_row, self.retry_at) = (0, None);
                self.has_sync_failed = false;
            }
            Ok(()) => {}
            Err(error) => {
                self.has_sync_failed |= is_sync;
                self.error = Some(error);
                self.failures += 1;
                let wait = RETRY.saturating_mul(1 << self.failures_in_row.min(10));
                self.failures_in_row += 1;
                self.retry_at = Some(now + wait.min(RETRY_MOST));
            }
        }
        let mut stored = Vec::new();
        let sync = self.sync.take_if(|sync| sync.ticket == ticket);
        match (result, sync) {
            (Ok(()), Some(sync)) => {
                for ticket in sync.drains {
                    if let Some(drain) = self.drains.remove(&ticket) {
                        let (from, to) = (State::Draining(ticket), Some(State::Stored));
                        stored.extend(self.extents.change(drain.range, from, to));
                    }
                }
            }
            (Ok(()), None) => {
                if let Some(drain) = self.drains.get_mut(&ticket) {
                    drain.is_written = true;
                    if drain.is_suspect {
                        self.undo(ticket);
                    }
                }
            }
            (Err(_), _) => {
                self.undo(ticket);
                self.suspect();
            }
        }
        if self.extents.unstored() == 0 {
            (self.dirty_since, self.urgent_since) = (None, None);
            (self.retry_at, self.error) = (None, None);
        }
        stored
    }

    /// Return whether the store makes progress if this task succeeds. Drains are none if nothing reaches the store
    /// before the sync, and after a sync that has failed.
    pub fn is_progress(&self, ticket: u64) -> bool {
        let is_sync = self.sync.as_ref().is_some_and(|sync| sync.ticket == ticket);
        is_sync || !(self.is_stored_whole || self.has_sync_failed)
    }

    /// End a task that is not carried out.
    pub fn postpone(&mut self, ticket: u64) {
        self.sync.take_if(|sync| sync.ticket == ticket);
        self.undo(ticket);
        self.is_blocked = false;
    }

    /// Drain again what is not synced in the store. A store reports an error once, to one of the tasks: it
    /// may have lost what others have written.
    pub fn suspect(&mut self) {
        for drain in self.drains.values_mut() {
            drain.is_suspect = true;
        }
        let written = self.drains.iter().filter(|(_, drain)| drain.is_written);
        let written: Vec<_> = written.map(|(ticket, _)| *ticket).collect();
        for ticket in written {
            self.undo(ticket);
        }
    }

    /// Remove a drain, and mark what it was for as dirty again. A client that waits for it waits for what
    /// clients have written over it meanwhile.
    fn undo(&mut self, ticket: u64) {
        let Some(Drain { range, round, .. }) = self.drains.remove(&ticket) else {
            return;
        };
        self.extents.undo(range.clone(), ticket, round);
        for later in self.drains.values_mut() {
            if later.range.start < range.end && range.start < later.range.end {
                later.round = later.round.min(round);
            }
        }
    }

    /// Limit a range to the size of the file.
    fn clip(&self, range: &Range<u64>) -> Range<u64> {
        let end = range.end.min(self.size);
        range.start.min(end)..end
    }

    /// Return whether all bytes of a range are in the cache, as far as the file has them.
    pub fn is_present(&mut self, range: &Range<u64>) -> bool {
        let range = self.clip(range);
        let is_fetching = |(_, state)| matches!(state, State::Fetching(_));
        let is_present = range.is_empty()
            || (self.extents.missing(&range).is_empty()
                && !self.extents.within(range.clone()).any(is_fetching));
        if is_present && range.start == self.next_read {
            self.next_read = range.end;
        }
        is_present
    }

    /// Return whether some bytes of a range are being fetched.
    pub fn is_fetching(&self, range: &Range<u64>) -> bool {
        let range = self.clip(range);
        !range.is_empty()
            && self
                .extents
                .within(range)
                .any(|(_, state)| matches!(state, State::Fetching(_)))
    }

    /// Begin to fetch the missing bytes of a range, in parts, and bytes after them if the client reads the
    /// file from start to end. The fetches are numbered from `ticket` on.
    pub fn fetch(&mut self, range: &Range<u64>, ticket: u64, part: u64, most: u64) -> Vec<Fetch> {
        let is_next = range.start == self.next_read;
        self.ahead = match is_next {
            true => (self.ahead * 2)
                .clamp(FIRST_AHEAD_BYTES, AHEAD_BYTES)
                .min(most),
            false => 0,
        };
        self.next_read = range.end.min(self.size);
        let end = range.end.saturating_add(self.ahead);
        let wanted = self.clip(&(range.start..end));
        let mut fetches = Vec::new();
        for gap in self.extents.missing(&wanted) {
            let mut start = gap.start;
            while start < gap.end {
                // The bytes that the client waits for are fetched by themselves.
                let mut end = gap.end.min((start / part + 1) * part);
                if start < range.end {
                    end = end.min(range.end);
                }
                let ticket = ticket + fetches.len() as u64;
                let range = start..end;
                self.extents
                    .set(range.clone(), Some(State::Fetching(ticket)));
                fetches.push(Fetch { ticket, range });
                start = end;
            }
        }
        fetches
    }

    /// End a fetch. Return the bytes that it is still for.
    pub fn fetched(&mut self, fetch: &Fetch, is_ok: bool) -> Vec<Range<u64>> {
        let to = is_ok.then_some(State::Fetched);
        let from = State::Fetching(fetch.ticket);
        self.extents.change(fetch.range.clone(), from, to)
    }

    /// Drop stored bytes, `bytes` of them if there are as many. Return the ranges. Each call goes on where the
    /// last one ended, so that what was read last is not dropped first.
    pub fn drop_stored(&mut self, bytes: u64) -> Vec<Range<u64>> {
        let mut left = bytes;
        let mut ranges = Vec::new();
        let all = self.extents.within(self.dropped..u64::MAX);
        for (range, state) in all.chain(self.extents.within(0..self.dropped)) {
            if matches!(state, State::Fetched | State::Stored) && left > 0 {
                let end = range.end.min(range.start.saturating_add(left));
                left -= end - range.start;
                ranges.push(range.start..end);
            }
        }
        for range in &ranges {
            self.extents.set(range.clone(), None);
            self.dropped = range.end;
        }
        ranges
    }

    /// Drop all but the unstored bytes, and with `keeps_stored` but those that clients have written. Return the
    /// ranges.
    pub fn renew(&mut self, size: u64, keeps_stored: bool) -> Vec<Range<u64>> {
        let keeps_stored = keeps_stored && size >= self.size;
        let clean = self.extents.within(0..u64::MAX);
        let clean = clean.filter(|(_, state)| match state {
            State::Fetching(_) | State::Fetched => true,
            State::Stored => !keeps_stored,
            State::Dirty(_) | State::Draining(_) => false,
        });
        let ranges: Vec<_> = clean.map(|(range, _)| range).collect();
        for range in &ranges {
            self.extents.set(range.clone(), None);
        }
        let unstored = self.unstored_ranges();
        self.size = unstored.last().map_or(size, |last| size.max(last.end));
        ranges
    }

    /// Drop all bytes, while no task is under way. The store has this size.
    pub fn abandon(&mut self, size: u64) {
        self.extents.set(0..u64::MAX, None);
        self.size = size;
        self.drains.clear();
        self.round += 1;
        self.abandoned = self.round;
        (self.dirty_since, self.urgent_since) = (None, None);
        (self.retry_at, self.error) = (None, None);
    }

    /// Return the unstored ranges in order.
    pub fn unstored_ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (range, state) in self.extents.within(0..u64::MAX) {
            match (state, ranges.last_mut()) {
                (State::Fetching(_) | State::Fetched | State::Stored, _) => {}
                (_, Some(last)) if last.end == range.start => last.end = range.end,
                _ => ranges.push(range),
            }
        }
        ranges
    }
}
