//! The threads that write unstored data to the store.

use super::file::{File, Version, read_all, state as state_of, write_all};
use super::foreground::PIECE;
use super::state::{Cache, Entry, LOOK, State, describe};
use crate::status::errno;
use isthmus_forward::cache::{Task, Work};
use isthmus_forward::{Errno, Result};
use rustix::fs::{FlockOperation, Timespec, Timestamps, UTIME_OMIT, flock, fsync, futimens};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Time that threads have to end.
const LEAVE: Duration = Duration::from_secs(2);

impl Cache {
    /// Start the threads that carry out tasks.
    ///
    /// # Errors
    /// The system has no threads left.
    pub fn start(cache: &Arc<Self>) -> std::io::Result<()> {
        for _ in 0..cache.config.settings.tasks {
            let cache = Arc::clone(cache);
            let thread = std::thread::Builder::new().name("drain".into());
            cache.state().threads += 1;
            let started = {
                let cache = Arc::clone(&cache);
                thread.spawn(move || cache.work())
            };
            if let Err(error) = started {
                cache.state().threads -= 1;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Carry out tasks until the daemon ends.
    fn work(&self) {
        while let Some(work) = self.next() {
            let file = {
                let state = self.state();
                let entry = state.entries.get(&work.file);
                entry.map(|entry| Arc::clone(&entry.file))
            };
            let result = match (&file, &work.task) {
                (None, _) => Err(Errno::STALE),
                (Some(file), Task::Drain(range)) => self.drain(file, range),
                (Some(file), Task::Sync) => self.sync_in_store(file),
            };
            if result == Err(Errno::INTR) {
                // A client changes the file in the store meanwhile.
                self.state().machine.postpone(work.ticket);
                self.changed.notify_all();
                continue;
            }
            self.finish(&work, result);
            if let (Err(error), Some(file)) = (result, file) {
                self.log_failure(&file, error);
            }
        }
        self.state().threads -= 1;
        self.changed.notify_all();
    }

    /// Wait for the next task. `None` when the daemon ends.
    fn next(&self) -> Option<Work> {
        let mut state = self.state();
        let mut has_removed = false;
        loop {
            if state.is_ending {
                return None;
            }
            if !std::mem::replace(&mut has_removed, true) && !state.forgotten.is_empty() {
                let forgotten = std::mem::take(&mut state.forgotten);
                drop(state);
                // As long as the synced log has these files, the next daemon needs their data.
                let synced = self.sync_log_as_it_is();
                state = self.state();
                match synced {
                    Ok(()) => self.remove_data(&forgotten),
                    Err(_) => state.forgotten.extend(forgotten),
                }
                continue;
            }
            let now = self.now();
            if let Some(work) = state.machine.next(now) {
                return Some(work);
            }
            let wake = state.machine.wake_at().filter(|at| *at > now);
            let left = wake.map_or(LOOK, |at| (at - now).min(LOOK));
            let waited = self.work.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            has_removed = false;
        }
    }

    /// Write bytes from the cache to the store.
    fn drain(&self, file: &File, range: &Range<u64>) -> Result<()> {
        if file.objects().is_some() {
            // It is stored as a whole when it is synced.
            return Ok(());
        }
        let (data, store) = (file.data(&self.data)?, file.drain()?);
        self.check_version(file, &store)?;
        let mut buffer = vec![0; (range.end - range.start).min(PIECE) as usize];
        let (mut at, mut took) = (range.start, Duration::ZERO);
        while at < range.end {
            let is_pressed = self.state().machine.is_pressed();
            if !is_pressed {
                self.foreground.give_way(took);
            }
            let piece = if is_pressed {
                PIECE
            } else {
                self.foreground.piece()
            };
            let count = (range.end - at).min(piece) as usize;
            let begin = Instant::now();
            read_all(&data, &mut buffer[..count], at)?;
            write_all(&store, &buffer[..count], at).map_err(errno)?;
            took = begin.elapsed();
            at += count as u64;
        }
        self.note_version(file, &store)
    }

    /// Drop all but the unstored bytes of a file if another program has changed it in the store.
    fn check_version(&self, file: &File, store: &OwnedFd) -> Result<()> {
        let version = Version::of(&state_of(store)?);
        let is_other = {
            let state = self.state();
            let known = state.entries.get(&file.id).and_then(|entry| entry.version);
            // Of several tasks, each sees what the others do.
            state.machine.tasks_of(file.id) == 1 && known.is_some_and(|known| known != version)
        };
        match is_other {
            true => self.renew(file, store),
            false => Ok(()),
        }
    }

    /// Have the store sync a file, with the time of the last change by a client.
    fn sync_in_store(&self, file: &File) -> Result<()> {
        if let Some(objects) = file.objects() {
            return self.store_object(&objects, file);
        }
        let store = file.drain()?;
        self.check_version(file, &store)?;
        let modified = {
            let state = self.state();
            let entry = state.entries.get(&file.id).ok_or(Errno::STALE)?;
            entry.modified
        };
        if let Some(modified) = modified {
            self.store_modified(file, &store, modified)?;
        }
        fsync(&*store).map_err(errno)?;
        if state_of(&*store)?.stx_nlink == 0 {
            // After the system call: a client may have removed it meanwhile.
            let state = self.state();
            let is_being_removed =
                |entry: &Entry| entry.removals > 0 || state.journal.is_removed(file.id);
            if !state.entries.get(&file.id).is_some_and(is_being_removed) {
                // Another program has removed it: the data has no name.
                return Err(Errno::STALE);
            }
        }
        self.note_version(file, &store)
    }

    /// Set the time of the last change of a file in the store.
    pub(super) fn store_modified(&self, file: &File, store: &OwnedFd, at: Timespec) -> Result<()> {
        set_modified(store, at)?;
        if let Some(entry) = self.state().entries.get_mut(&file.id) {
            entry.stored_modified = Some(at);
        }
        Ok(())
    }

    /// Record the version that the store has after this daemon has changed the file.
    pub(super) fn note_version(&self, file: &File, store: &OwnedFd) -> Result<()> {
        let version = Version::of(&state_of(store)?);
        if let Some(entry) = self.state().entries.get_mut(&file.id) {
            (entry.version, entry.is_overlapped) = (Some(version), true);
        }
        Ok(())
    }

    /// Record the result of a task, and wake those who wait for it.
    fn finish(&self, work: &Work, result: Result<()>) {
        let (now, id) = (self.now(), work.file);
        let mut state = self.state();
        let stored = state.machine.finish(now, work.ticket, result);
        state.journal.stored(id, &stored);
        let bytes = stored.iter().map(|range| range.end - range.start);
        state.stored.add(bytes.sum());
        let is_stored = state.machine.unstored_of(id) == 0;
        let mut late = None;
        if is_stored {
            state.journal.leave_out(id);
            if let Some(entry) = state.entries.get_mut(&id) {
                // The client has set the time while the store synced the file with the time before.
                let modified = entry.modified.take();
                let modified = modified.filter(|at| Some(*at) != entry.stored_modified);
                late = modified.map(|at| (Arc::clone(&entry.file), at));
            }
        }
        if let Some((file, at)) = late {
            drop(state);
            let handle = file.drain();
            // As with any change of attributes, no client waits until this is stored.
            let _ = handle.and_then(|handle| set_modified(&handle, at));
            state = self.state();
        }
        if is_stored {
            self.tidy(&mut state, id);
        }
        drop(state);
        if is_stored {
            // After a failure of the host, the file is not written to the store again; without this, it is.
            let _ = self.sync_log();
        }
        self.changed.notify_all();
        self.work.notify_one();
    }

    /// Rewrite the log if most of it is out of date, or something is missing in it or was not synced.
    ///
    /// # Errors
    /// Something is missing, and the log cannot be rewritten.
    pub(super) fn keep_log_short(&self, state: &mut State) -> Result<()> {
        if !state.journal.needs_rewrite() {
            return Ok(());
        }
        if state.is_closed {
            // Another daemon may have the folder.
            return Err(Errno::IO);
        }
        let (entries, machine) = (&state.entries, &state.machine);
        state.journal.rewrite(&self.header, |id| {
            let described = describe(&entries[&id], &self.exports);
            (described, machine.unstored_ranges(id))
        })
    }

    /// Write to the audit log that a file could not be stored.
    fn log_failure(&self, file: &File, error: Errno) {
        let path = file.place().1;
        let what = format!("store {:?}", String::from_utf8_lossy(&path));
        self.gate.log().record("cache", &what, &error.to_string());
    }

    /// Begin no further tasks.
    pub fn halt(&self) {
        self.state().is_ending = true;
        self.work.notify_all();
    }

    /// Drain everything, for at most this time, and end the threads.
    pub fn stop(&self, grace: Duration) {
        let until = Instant::now() + grace;
        let mut state = self.state();
        let ids: Vec<_> = state.entries.keys().copied().collect();
        for id in ids {
            let _ = state.machine.want(self.now(), id);
        }
        self.work.notify_all();
        while state.machine.unstored() > 0 && !state.is_ending {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        (state.is_ending, state.is_closed) = (true, true);
        self.work.notify_all();
        self.changed.notify_all();
        // A thread that the store holds up may still write: until it ends, the folder is locked.
        let waited = self
            .changed
            .wait_timeout_while(state, LEAVE, |state| state.threads > 0);
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.threads == 0 {
            let ids = state.entries.keys().copied();
            let ids = ids.filter(|id| !state.journal.is_logged(*id));
            let ids: Vec<_> = ids.chain(state.forgotten.iter().copied()).collect();
            // The next daemon removes data that cannot be removed now.
            if !state.journal.has_synced() || state.journal.log().file().sync().is_ok() {
                self.remove_data(&ids);
            }
            // The lock ends with the process at the latest.
            let _ = flock(&self.lock, FlockOperation::Unlock);
        }
    }
}

/// Set the time of the last change of a file in the store.
fn set_modified(store: &OwnedFd, at: Timespec) -> Result<()> {
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: at,
    };
    futimens(store, &times).map_err(errno)
}
