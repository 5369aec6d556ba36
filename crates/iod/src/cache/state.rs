//! The state of the cache: its files, its log, and what waits.

use super::file::{self, File, Version};
use super::foreground::Foreground;
use super::found::Paths;
use super::log::Log;
use super::progress::{Lost, Stored};
use crate::config::CacheConfig;
use crate::export::Export;
use isthmus_daemon::Gate;
use isthmus_forward::cache::journal::{Description, Header, Journal};
use isthmus_forward::cache::log::Record;
use isthmus_forward::cache::{Cache as Machine, FileId};
use isthmus_forward::{Errno, Result};
use rustix::fs::{AtFlags, Timespec, unlinkat};
use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most that a thread waits before it looks again.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// What is known of a file in the cache, beside what the machine knows.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) file: Arc<File>,
    /// The version of the store of which the cache has stored bytes.
    pub(super) version: Option<Version>,
    /// Whether this daemon has changed the file in the store since it last compared the version: what another one has
    /// changed meanwhile does not show in it.
    pub(super) is_overlapped: bool,
    /// The time of the last change, while the store does not have it.
    pub(super) modified: Option<Timespec>,
    /// Whether the client has set this time.
    pub(super) is_modified_set: bool,
    /// The last of these times that the store has got.
    pub(super) stored_modified: Option<Timespec>,
    /// The number of clients that are removing a name of it.
    pub(super) removals: u32,
}

impl Entry {
    /// Describe a file that is not in the log.
    pub(super) fn new(file: Arc<File>, version: Option<Version>) -> Self {
        Self {
            file,
            version,
            is_overlapped: false,
            modified: None,
            stored_modified: None,
            is_modified_set: false,
            removals: 0,
        }
    }
}

/// What changes in the cache.
#[derive(Debug)]
pub(super) struct State {
    pub(super) machine: Machine,
    pub(super) journal: Journal<Log>,
    pub(super) entries: BTreeMap<FileId, Entry>,
    /// The files by device and inode of the store.
    pub(super) by_key: HashMap<(u64, u64), FileId>,
    /// The files that are not in the cache any more, and whose data is removed once the log is synced.
    pub(super) forgotten: Vec<FileId>,
    pub(super) stored: Stored,
    /// The number of threads that carry out tasks.
    pub(super) threads: usize,
    /// Whether no task begins any more, and whether no record is written any more.
    pub(super) is_ending: bool,
    pub(super) is_closed: bool,
}

/// The cache of a daemon.
///
/// Locks are taken in this order: the data of a file (`File::share`, `File::alone`), the state, the names of an
/// export. No data is moved to or from the store while the state is locked.
#[derive(Debug)]
pub(crate) struct Cache {
    pub(super) config: CacheConfig,
    pub(super) store_timeout: Duration,
    pub(super) gate: Arc<Gate>,
    pub(super) exports: Vec<Arc<Export>>,
    /// The first records of the log.
    pub(super) header: Header,
    /// The folder of the data.
    pub(super) data: OwnedFd,
    /// Whether a sync of that folder has failed. The system reports that once, and the next sync succeeds without some names.
    pub(super) has_name_sync_failed: Mutex<bool>,
    /// The lock of the folder.
    pub(super) lock: OwnedFd,
    pub(super) state: Mutex<State>,
    pub(super) paths: Mutex<Paths>,
    /// Data that was lost when the host failed, until an operator acknowledges it.
    pub(super) lost: Mutex<Vec<Lost>>,
    /// The number of bytes that clients have read from the cache, and that were read from the store.
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
    /// Wakes those who wait for the store.
    pub(super) changed: Condvar,
    /// Wakes the threads that carry out tasks.
    pub(super) work: Condvar,
    /// The requests of clients that the store answers.
    pub(crate) foreground: Foreground,
    pub(super) origin: Instant,
}

/// The state of the cache as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheStatus {
    /// The number of files with data in the cache.
    pub files: usize,
    /// The number of bytes in the cache.
    pub bytes: u64,
    /// The number of bytes that the store has not synced.
    pub unstored: u64,
    /// The number of files with such bytes.
    pub unstored_files: usize,
    /// The number of files that could not be stored at the last attempt.
    pub failed_files: usize,
    /// For how long the oldest of these bytes has waited.
    pub oldest: Duration,
    /// The number of bytes that were stored so far.
    pub stored: u64,
    /// The number of bytes that are stored each second now.
    pub rate: u64,
    /// The number of bytes that clients have read from the cache.
    pub hits: u64,
    /// The number of bytes that were read from the store.
    pub misses: u64,
}

impl State {
    /// Return a file by device and inode of the store.
    pub(super) fn find(&self, key: (u64, u64)) -> Option<&Entry> {
        self.entries.get(self.by_key.get(&key)?)
    }

    /// Append records of a file to the log; first that it is in the cache, if the log does not say so.
    pub(super) fn record(
        &mut self,
        cache: &Cache,
        id: FileId,
        records: &[Record<'_>],
    ) -> Result<()> {
        if self.is_closed {
            return Err(Errno::IO);
        }
        cache.keep_log_short(self)?;
        let entry = self.entries.get(&id).ok_or(Errno::STALE)?;
        if entry.file.is_nameless() {
            return Ok(());
        }
        let describe = || describe(entry, &cache.exports);
        self.journal.record(id, describe, records)
    }
}

impl Cache {
    /// Return the time since the cache was opened.
    pub(super) fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Return the state, locked.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wait until `ready` returns something, as long as the store makes progress within the store timeout.
    ///
    /// # Errors
    /// [`Errno::IO`] without progress, or when the daemon ends.
    pub(super) fn wait<T>(
        &self,
        mut state: MutexGuard<'_, State>,
        mut ready: impl FnMut(&mut State) -> Option<Result<T>>,
    ) -> Result<T> {
        let started = self.now();
        loop {
            if let Some(result) = ready(&mut state) {
                return result;
            }
            let late = started.max(state.machine.progress()) + self.store_timeout;
            let left = late.saturating_sub(self.now());
            if left.is_zero() || state.is_ending {
                return Err(Errno::IO);
            }
            let waited = self.changed.wait_timeout(state, left.min(LOOK));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Return when the store made progress last.
    pub fn progress(&self) -> Instant {
        self.origin + self.state().machine.progress()
    }

    /// Remove what a file does not need: its handles once it is closed and stored, the file itself once
    /// nothing of it is in the cache.
    pub(super) fn tidy(&self, state: &mut State, id: FileId) {
        if state.is_closed {
            // Another daemon may have the folder.
            return;
        }
        let Some(status) = state.machine.status(id).filter(|status| !status.is_open) else {
            return;
        };
        if state.journal.is_removed(id) || status.bytes == 0 {
            state.journal.leave_out(id);
            if state.journal.is_logged(id) {
                // A later daemon needs the data, since the log says so.
                return;
            }
            if let Some(entry) = state.entries.remove(&id) {
                // Others may still refer to it.
                entry.file.close();
                let key = entry.file.key;
                // Another inode may have the number now.
                let key = key.filter(|key| state.by_key.get(key) == Some(&id));
                key.map(|key| state.by_key.remove(&key));
            }
            state.machine.forget(id);
            state.journal.forget(id);
            match state.journal.has_synced() {
                true => {
                    state.forgotten.push(id);
                    self.work.notify_one();
                }
                false => self.remove_data(&[id]),
            }
        } else if status.unstored == 0
            && let Some(entry) = state.entries.get(&id)
        {
            entry.file.close();
        }
    }

    /// Remove the data of files that are not in the cache any more. There is none of those of which nothing was cached.
    pub(super) fn remove_data(&self, ids: &[FileId]) {
        for id in ids {
            let _ = unlinkat(&self.data, file::name(*id), AtFlags::empty());
        }
    }

    /// Return the state of the cache as a whole.
    pub fn status(&self) -> CacheStatus {
        let state = self.state();
        let all = state
            .entries
            .keys()
            .filter_map(|id| state.machine.status(*id));
        let mut status = CacheStatus {
            files: state.machine.files(),
            bytes: state.machine.bytes(),
            unstored: state.machine.unstored(),
            stored: state.stored.bytes,
            rate: state.stored.rate() as u64,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            ..CacheStatus::default()
        };
        for each in all {
            status.unstored_files += usize::from(each.unstored > 0);
            status.failed_files += usize::from(each.error.is_some());
            let waits = each.since.map(|since| self.now().saturating_sub(since));
            status.oldest = status.oldest.max(waits.unwrap_or_default());
        }
        status
    }
}

/// Describe a file for the log.
pub(super) fn describe(entry: &Entry, exports: &[Arc<Export>]) -> Description {
    let file = &entry.file;
    let (place, path) = file.place();
    let known = file.objects().and_then(|objects| objects.of(file.inode));
    let (base, mark) = known.map_or((None, None), |known| (known.version, known.mark));
    let modified = entry.modified.filter(|_| entry.is_modified_set);
    let modified = modified.map(|at| {
        let s = u64::try_from(at.tv_sec).unwrap_or(0);
        (s, u32::try_from(at.tv_nsec).unwrap_or(0))
    });
    Description {
        export: number_of(exports, &place.export),
        path,
        inode: file.inode,
        born: file.born,
        mark: mark.filter(|_| base.is_some()).map(String::into_bytes),
        base: base.map(String::into_bytes),
        modified,
    }
}

/// Return the path of an export without symbolic links, as the log has it.
pub(super) fn path_of(export: &Arc<Export>) -> &[u8] {
    export.paths[1].as_os_str().as_bytes()
}

/// Return the number of an export in the log.
pub(super) fn number_of(exports: &[Arc<Export>], export: &Arc<Export>) -> u32 {
    let at = exports.iter().position(|each| Arc::ptr_eq(each, export));
    at.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX)
}
