//! What clients ask to be synced: in the cache, or in the store.

use super::file::File;
use super::state::Cache;
use crate::config::Level;
use crate::status::errno;
use isthmus_forward::{Errno, Result};
use rustix::fs::{fdatasync, fsync};
use std::sync::PoisonError;

impl Cache {
    /// Have all that was written to a file so far synced, as the site wants it.
    pub fn sync(&self, file: &File) -> Result<()> {
        match self.config.fsync {
            Level::Cached => self.sync_in_cache(file),
            _ => self.store(file),
        }
    }

    /// Have all that was written to a file so far synced in the store.
    pub fn store(&self, file: &File) -> Result<()> {
        let abandons = file.abandons();
        let now = self.now();
        let mut state = self.state();
        let goal = state.machine.want(now, file.id);
        self.work.notify_all();
        self.wait(state, |state| state.machine.reached(file.id, goal))?;
        if file.abandons() != abandons {
            return Err(Errno::IO);
        }
        let is_newer = {
            let state = self.state();
            state.journal.must_sync() && state.machine.unstored_of(file.id) > 0
        };
        if is_newer {
            // Bytes that were written over while they were drained: after a failure of the host, what was
            // synced in the cache is written to the store again, and must not be older.
            self.sync_in_cache(file)?;
        } else {
            self.sync_log()?;
        }
        // Attributes are changed in the store at once; what was not synced of them is now.
        let synced = fsync(&*file.handle()?).map_err(errno);
        let mut state = self.state();
        if synced.is_err() {
            state.machine.suspect(file.id);
        }
        self.tidy(&mut state, file.id);
        synced
    }

    /// Have the log synced, if a failure of the host leaves data that it is about.
    pub(super) fn sync_log(&self) -> Result<()> {
        let must_sync = self.state().journal.must_sync();
        if must_sync {
            self.sync_log_always()?;
        }
        Ok(())
    }

    /// Have the log synced if a failure of the host leaves data that it is about, also if something is missing in it:
    /// space is freed even if there is none to rewrite the log.
    pub(super) fn sync_log_as_it_is(&self) -> Result<()> {
        let log = {
            let state = self.state();
            let has_synced = state.journal.has_synced();
            has_synced.then(|| state.journal.log().file())
        };
        log.map_or(Ok(()), |log| log.sync().map_err(errno))
    }

    /// Have the log synced, after it was rewritten if something is missing in it.
    pub(super) fn sync_log_always(&self) -> Result<()> {
        let log = {
            let mut state = self.state();
            self.keep_log_short(&mut state)?;
            state.journal.log().file()
        };
        log.sync().map_err(errno)
    }

    /// Have all that was written to a file so far synced in the cache.
    pub fn sync_in_cache(&self, file: &File) -> Result<()> {
        let _only = file.sync_once();
        let (id, data) = (file.id, file.data(&self.data)?);
        loop {
            let sync = {
                let mut state = self.state();
                self.keep_log_short(&mut state)?;
                let unstored = state.machine.unstored_ranges(id);
                state.journal.begin_sync(id, unstored)?
            };
            let synced = fdatasync(&*data).map_err(errno).and_then(|()| {
                match file.objects() {
                    // The tree that shows the objects is on this host.
                    Some(_) => fsync(&*file.handle()?).map_err(errno),
                    None => Ok(()),
                }
            });
            let named = self.sync_names();
            let mut state = self.state();
            if let Err(error) = synced.and(named) {
                // The folder has the names of all files.
                let failed = named.is_ok().then_some(id);
                state.journal.sync_failed(failed);
                return Err(error);
            }
            if state.journal.end_sync(sync)? {
                let log = state.journal.log().file();
                drop(state);
                return log.sync().map_err(errno);
            }
        }
    }

    /// Have the names of all data in the cache synced.
    ///
    /// # Errors
    /// That of the system; `EIO` if an earlier sync has failed.
    fn sync_names(&self) -> Result<()> {
        let has_failed = self.has_name_sync_failed.lock();
        let mut has_failed = has_failed.unwrap_or_else(PoisonError::into_inner);
        if *has_failed {
            return Err(Errno::IO);
        }
        let synced = fsync(&self.data);
        *has_failed = synced.is_err();
        synced.map_err(errno)
    }

    /// Return the error of the last attempt to store a file, if all of it is not stored yet.
    pub fn error(&self, file: &File) -> Result<()> {
        let status = self.state().machine.status(file.id);
        match status.and_then(|status| status.error) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Return whether a client that closes a file waits until it is stored.
    pub fn waits_at_close(&self, file: &File) -> bool {
        self.config.close == Level::Stored && self.state().machine.unstored_of(file.id) > 0
    }
}
