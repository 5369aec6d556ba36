//! Decides what happens to the data of files in the cache of a daemon: what is kept, read ahead, written
//! to the store or dropped, and when.
//!
//! The cache holds ranges of bytes of files of a store that is slower, or further away. A byte in it is
//! *stored* if the store has synced it, otherwise *unstored*. The caller moves the data: it asks
//! [`Cache::next`] for a task, carries it out, and reports it by [`Cache::finish`].
//!
//! | task | from | to |
//! |---|---|---|
//! | [`Task::Drain`] | unstored bytes in the cache | written to the store |
//! | [`Task::Sync`] | written to the store | synced there: stored |
//!
//! A file is drained when a client waits for it, when no client has it open, shortly after a whole part of it was
//! written, when its oldest unstored byte has waited for [`Settings::dirty_age`], or when half of
//! [`Settings::dirty_bytes`] are unstored: then the oldest first.
//!
//! Times are since an origin of the caller's, so that the machine runs on simulated time as well.

mod directories;
mod extents;
mod file;
pub mod journal;
pub mod log;

pub use directories::{Ahead, Directories};
pub use file::{Goal, Status};

use crate::files::Errno;
use file::File;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

/// The number of a file in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// Bounds of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Maximum number of bytes in the cache, stored or not.
    pub bytes: u64,
    /// Maximum number of unstored bytes.
    pub dirty_bytes: u64,
    /// Time after which unstored bytes are drained.
    pub dirty_age: Duration,
    /// Maximum size in bytes of a drain; also the size of the parts that are drained at once.
    pub part_bytes: u64,
    /// Maximum number of tasks at a time.
    pub tasks: usize,
}

impl Default for Settings {
    /// 1 GiB, half of it unstored for at most 5 s; 4 tasks of at most 4 MiB.
    fn default() -> Self {
        Self {
            bytes: 1 << 30,
            dirty_bytes: 1 << 29,
            dirty_age: Duration::from_secs(5),
            part_bytes: 4 << 20,
            tasks: 4,
        }
    }
}

/// Maximum number of bytes that are read ahead of a client that reads a file from start to end.
const AHEAD_BYTES: u64 = 16 << 20;

/// The number of bytes by which reading ahead starts.
const FIRST_AHEAD_BYTES: u64 = 256 << 10;

/// Time after which a whole part is drained that a client has written. A program that writes several files has opened
/// them by then.
const PART_DELAY: Duration = Duration::from_millis(100);

/// Time after the first failure until a file is drained again; it doubles with each failure.
const RETRY: Duration = Duration::from_millis(500);

/// Maximum time until a file is drained again.
const RETRY_MOST: Duration = Duration::from_secs(30);

/// What the caller does for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Write these bytes to the store.
    Drain(Range<u64>),
    /// Have the store sync the file.
    Sync,
}

/// A task, with its number for [`Cache::finish`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The number of the task.
    pub ticket: u64,
    /// The file.
    pub file: FileId,
    /// What is to be done.
    pub task: Task,
}

/// Bytes that the caller reads from the store into the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The number of the fetch.
    pub ticket: u64,
    /// The bytes.
    pub range: Range<u64>,
}

/// The state of the cache: which bytes of which files it has.
#[derive(Debug)]
pub struct Cache {
    settings: Settings,
    files: BTreeMap<FileId, File>,
    next_file: u64,
    next_ticket: u64,
    /// The file of each task under way.
    tasks: BTreeMap<u64, FileId>,
    /// The files with something to drain or to sync, by the time at which that is due.
    due: BTreeSet<(Duration, FileId)>,
    /// The files by last use.
    used: BTreeSet<(u64, FileId)>,
    uses: u64,
    unstored: u64,
    /// The number of bytes that clients are about to write.
    admitted: u64,
    bytes: u64,
    progress: Duration,
}

impl Cache {
    /// Create an empty cache.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            files: BTreeMap::new(),
            next_file: 0,
            next_ticket: 0,
            tasks: BTreeMap::new(),
            due: BTreeSet::new(),
            used: BTreeSet::new(),
            uses: 0,
            unstored: 0,
            admitted: 0,
            bytes: 0,
            progress: Duration::ZERO,
        }
    }

    /// Return the number of bytes in the cache, stored or not.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Return the number of unstored bytes.
    #[must_use]
    pub fn unstored(&self) -> u64 {
        self.unstored
    }

    /// Return the number of files.
    #[must_use]
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Return when the store did something last: a task has ended without an error.
    #[must_use]
    pub fn progress(&self) -> Duration {
        self.progress
    }

    /// Return the size of a file in bytes.
    #[must_use]
    pub fn size(&self, id: FileId) -> u64 {
        self.files.get(&id).map_or(0, |file| file.size)
    }

    /// Return the number of unstored bytes of a file.
    #[must_use]
    pub fn unstored_of(&self, id: FileId) -> u64 {
        let file = self.files.get(&id);
        file.map_or(0, |file| file.extents.unstored())
    }

    /// Return the unstored bytes of a file.
    #[must_use]
    pub fn unstored_ranges(&self, id: FileId) -> Vec<Range<u64>> {
        let file = self.files.get(&id);
        file.map(File::unstored_ranges).unwrap_or_default()
    }

    /// Return the state of a file.
    #[must_use]
    pub fn status(&self, id: FileId) -> Option<Status> {
        self.files.get(&id).map(File::status)
    }

    /// Add a file of which nothing is cached. It counts as open.
    pub fn add(&mut self, size: u64) -> FileId {
        let id = FileId(self.next_file);
        self.next_file += 1;
        self.files.insert(id, File::new(size));
        self.used.insert((0, id));
        id
    }

    /// Add a file that a former daemon has left, with this number and these unstored bytes. No client has
    /// it open.
    ///
    /// # Panics
    /// The number is in use.
    pub fn recover(&mut self, now: Duration, id: FileId, size: u64, unstored: &[Range<u64>]) {
        assert!(!self.files.contains_key(&id), "the number is in use");
        self.next_file = self.next_file.max(id.0 + 1);
        self.files.insert(id, File::new(size));
        self.used.insert((0, id));
        for range in unstored {
            self.wrote(now, id, range.clone());
        }
        self.close(now, id);
    }

    /// Have the store sync a file only when all of it was written there: it stores files as a whole.
    pub fn store_whole(&mut self, id: FileId) {
        self.change(id, |file| file.is_stored_whole = true);
    }

    /// Record that the store does something: a task that takes long goes on.
    pub fn progressed(&mut self, now: Duration) {
        self.progress = now;
    }

    /// Record that a client has opened a file.
    pub fn open(&mut self, id: FileId) {
        self.change(id, |file| file.opens += 1);
    }

    /// Record that a client has closed a file. Once no client has it open, it is drained.
    pub fn close(&mut self, now: Duration, id: FileId) {
        self.change(id, |file| {
            file.opens -= 1;
            if file.opens == 0 {
                file.hurry(now);
            }
        });
    }

    /// Remove a file with all its bytes, stored or not. The results of its tasks are ignored.
    pub fn forget(&mut self, id: FileId) {
        self.change(id, |file| file.extents.set(0..u64::MAX, None));
        if let Some(file) = self.files.remove(&id) {
            self.used.remove(&(file.used, id));
            if let Some(due) = file.due {
                self.due.remove(&(due, id));
            }
        }
    }

    /// Change a file by `change`, and keep the totals and the order of files up to date.
    fn change<R>(&mut self, id: FileId, change: impl FnOnce(&mut File) -> R) -> Option<R> {
        let file = self.files.get_mut(&id)?;
        let (unstored, bytes) = (file.extents.unstored(), file.extents.bytes());
        let result = change(file);
        self.unstored = self.unstored - unstored + file.extents.unstored();
        self.bytes = self.bytes - bytes + file.extents.bytes();
        let due = file.when_due(&self.settings);
        if due != file.due {
            if let Some(before) = std::mem::replace(&mut file.due, due) {
                self.due.remove(&(before, id));
            }
            self.due.extend(due.map(|due| (due, id)));
        }
        Some(result)
    }

    /// Record the use of a file.
    fn touch(&mut self, id: FileId) {
        self.uses += 1;
        if let Some(file) = self.files.get_mut(&id) {
            self.used.remove(&(file.used, id));
            file.used = self.uses;
            self.used.insert((file.used, id));
        }
    }

    /// Reserve room for `bytes` that a client writes. Return `false` if as many bytes are unstored as may
    /// be: the client waits.
    ///
    /// A write larger than the bound is admitted when nothing is unstored.
    pub fn admit(&mut self, bytes: u64) -> bool {
        let taken = self.unstored + self.admitted;
        let has_room = taken == 0 || taken + bytes <= self.settings.dirty_bytes;
        if has_room {
            self.admitted += bytes;
        }
        has_room
    }

    /// Give back room that was reserved by [`Cache::admit`]: the data was written, or cannot be.
    pub fn release(&mut self, bytes: u64) {
        self.admitted -= bytes;
    }

    /// Record that a client has written these bytes, which are in the cache.
    pub fn wrote(&mut self, now: Duration, id: FileId, range: Range<u64>) {
        let part = self.settings.part_bytes;
        self.change(id, |file| file.wrote(now, range, part));
        self.touch(id);
    }

    /// Record that a client could not write these bytes, some of which may have changed in the cache: those that are
    /// stored are dropped, the others are drained again.
    pub fn not_written(&mut self, id: FileId, range: Range<u64>) {
        self.change(id, |file| file.not_written(range));
    }

    /// Record that a file ends at this size. Bytes beyond it are dropped. The file is paused
    /// ([`Cache::pause`]) meanwhile, so that no drain makes it longer again.
    pub fn cut(&mut self, id: FileId, size: u64) {
        self.change(id, |file| {
            file.extents.set(size..u64::MAX, None);
            file.size = size;
        });
    }

    /// Drop all bytes of a file, those that are not stored too: the store has this size. The file is paused
    /// ([`Cache::pause`]) meanwhile. Clients that wait for it get an error.
    pub fn abandon(&mut self, id: FileId, size: u64) {
        self.change(id, |file| file.abandon(size));
    }

    /// Start no task for a file until [`Cache::resume`].
    pub fn pause(&mut self, id: FileId) {
        self.change(id, |file| file.pauses += 1);
    }

    /// Start tasks for a file again.
    pub fn resume(&mut self, id: FileId) {
        self.change(id, |file| file.pauses -= 1);
    }

    /// Return whether no task for a file is under way.
    #[must_use]
    pub fn is_idle(&self, id: FileId) -> bool {
        self.files.get(&id).is_none_or(File::is_idle)
    }

    /// Ask that what was written to a file so far is stored. [`Cache::reached`] says when it is.
    pub fn want(&mut self, now: Duration, id: FileId) -> Goal {
        self.change(id, |file| file.want(now)).unwrap_or_default()
    }

    /// Return whether a goal is reached: all is stored, or an attempt after [`Cache::want`] has failed.
    /// `None` if neither is the case yet.
    #[must_use]
    pub fn reached(&self, id: FileId, goal: Goal) -> Option<Result<(), Errno>> {
        match self.files.get(&id) {
            None => Some(Ok(())),
            Some(file) => file.reached(goal),
        }
    }

    /// Return the next task, if one is due. The caller carries it out and calls [`Cache::finish`].
    pub fn next(&mut self, now: Duration) -> Option<Work> {
        if self.tasks.len() >= self.settings.tasks {
            return None;
        }
        let (is_pressed, settings) = (self.is_pressed(), self.settings);
        loop {
            let due = self.due.iter();
            let mut due = due.take_while(|(at, _)| is_pressed || *at <= now);
            let is_ready = |id: &FileId| self.files[id].retry_at.is_none_or(|at| at <= now);
            let &(_, file) = due.find(|(_, id)| is_ready(id))?;
            let ticket = self.next_ticket;
            // A file whose dirty bytes are all being drained is due no more.
            if let Some(task) = self.change(file, |file| file.begin(ticket, &settings))? {
                self.next_ticket += 1;
                self.tasks.insert(ticket, file);
                return Some(Work { ticket, file, task });
            }
        }
    }

    /// Return whether so much is unstored that files are drained before their age.
    #[must_use]
    pub fn is_pressed(&self) -> bool {
        self.unstored + self.admitted > self.settings.dirty_bytes / 2
    }

    /// Return when a task is due, if none is under way until then.
    #[must_use]
    pub fn wake_at(&self) -> Option<Duration> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Record the result of a task. Return the bytes that are stored now.
    pub fn finish(
        &mut self,
        now: Duration,
        ticket: u64,
        result: Result<(), Errno>,
    ) -> Vec<Range<u64>> {
        let Some(id) = self.tasks.remove(&ticket) else {
            return Vec::new();
        };
        if result.is_ok()
            && self
                .files
                .get(&id)
                .is_some_and(|file| file.is_progress(ticket))
        {
            self.progress = now;
        }
        self.change(id, |file| file.finish(now, ticket, result))
            .unwrap_or_default()
    }

    /// End a task that is not carried out because its file is paused. It starts again later.
    pub fn postpone(&mut self, ticket: u64) {
        if let Some(id) = self.tasks.remove(&ticket) {
            self.change(id, |file| file.postpone(ticket));
        }
    }

    /// Return whether a file is paused.
    #[must_use]
    pub fn is_paused(&self, id: FileId) -> bool {
        self.files.get(&id).is_some_and(|file| file.pauses > 0)
    }

    /// Drain again what the store has not synced of a file: it has reported an error.
    pub fn suspect(&mut self, id: FileId) {
        self.change(id, File::suspect);
    }

    /// Return the number of tasks for a file that are under way.
    #[must_use]
    pub fn tasks_of(&self, id: FileId) -> usize {
        self.tasks.values().filter(|of| **of == id).count()
    }

    /// Return whether all these bytes of a file, as far as it has them, are in the cache.
    pub fn is_present(&mut self, id: FileId, range: &Range<u64>) -> bool {
        self.touch(id);
        self.files
            .get_mut(&id)
            .is_some_and(|file| file.is_present(range))
    }

    /// Return whether some of these bytes are being read from the store.
    #[must_use]
    pub fn is_fetching(&self, id: FileId, range: &Range<u64>) -> bool {
        self.files
            .get(&id)
            .is_some_and(|file| file.is_fetching(range))
    }

    /// Begin to read those of these bytes that are missing. A client that reads the file from start to end
    /// gets bytes after them as well.
    pub fn fetch(&mut self, id: FileId, range: &Range<u64>) -> Vec<Fetch> {
        let first = self.next_ticket;
        let (most, part) = (self.settings.bytes / 4, self.settings.part_bytes);
        let fetches = self.change(id, |file| file.fetch(range, first, part, most));
        let fetches = fetches.unwrap_or_default();
        self.next_ticket += fetches.len() as u64;
        fetches
    }

    /// Return those bytes of a fetch that no client has written or dropped meanwhile, and record them as
    /// stored. The caller writes only these to the cache, and lets no client write to the file meanwhile.
    pub fn fetched(&mut self, id: FileId, fetch: &Fetch) -> Vec<Range<u64>> {
        self.change(id, |file| file.fetched(fetch, true))
            .unwrap_or_default()
    }

    /// Record that bytes could not be read.
    pub fn not_fetched(&mut self, id: FileId, fetch: &Fetch) {
        self.change(id, |file| file.fetched(fetch, false));
    }

    /// Return by how much the cache is too full for these many bytes more.
    #[must_use]
    pub fn excess(&self, bytes: u64) -> u64 {
        (self.bytes + bytes).saturating_sub(self.settings.bytes)
    }

    /// Return files with stored bytes, from the one that was not used for the longest time on.
    pub fn least_used(&self) -> impl Iterator<Item = FileId> + '_ {
        let ids = self.used.iter().map(|(_, id)| *id);
        ids.filter(|id| self.files[id].extents.bytes() > self.files[id].extents.unstored())
    }

    /// Drop stored bytes of a file, `bytes` of them if there are as many. Return the ranges to remove. The
    /// caller lets no client use the file until they are removed.
    pub fn drop_stored(&mut self, id: FileId, bytes: u64) -> Vec<Range<u64>> {
        self.change(id, |file| file.drop_stored(bytes))
            .unwrap_or_default()
    }

    /// Drop all but the unstored bytes of a file: the store has another version, of this size. With `keeps_stored`
    /// keep what clients have written as well, unless the file is shorter now. Return the ranges to remove, as
    /// [`Cache::drop_stored`] does.
    pub fn renew(&mut self, id: FileId, size: u64, keeps_stored: bool) -> Vec<Range<u64>> {
        self.change(id, |file| file.renew(size, keeps_stored))
            .unwrap_or_default()
    }
}
