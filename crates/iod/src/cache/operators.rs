//! What operators ask of the cache: what is not stored, storing all of it, and giving it up.

use super::file::{File, state as state_of};
use super::state::Cache;
use isthmus_forward::cache::{FileId, Settings};
use isthmus_forward::message::UnstoredFile;
use isthmus_forward::{Errno, Result};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time over which the rate of storing is measured.
const RATE_TIME: Duration = Duration::from_secs(10);

/// The number of bytes that were stored, and how many each second.
#[derive(Debug)]
pub(super) struct Stored {
    pub bytes: u64,
    rate: f64,
    at: Instant,
}

impl Default for Stored {
    /// Nothing is stored so far.
    fn default() -> Self {
        Self {
            bytes: 0,
            rate: 0.0,
            at: Instant::now(),
        }
    }
}

impl Stored {
    /// Record that bytes were stored.
    pub fn add(&mut self, bytes: u64) {
        self.rate = self.rate() + bytes as f64 / RATE_TIME.as_secs_f64();
        self.at = Instant::now();
        self.bytes += bytes;
    }

    /// Return the number of bytes that are stored each second: an average in which what was stored longer ago counts
    /// less.
    pub fn rate(&self) -> f64 {
        let age = self.at.elapsed().as_secs_f64() / RATE_TIME.as_secs_f64();
        self.rate * (-age).exp()
    }
}

impl Cache {
    /// Return the bounds of the cache.
    pub fn settings(&self) -> &Settings {
        &self.config.settings
    }

    /// Return the absolute path of a file in the store, or the last one it had.
    fn path_in_store(file: &File) -> Vec<u8> {
        let (place, path) = file.place();
        let export = place.export.paths[1].as_os_str().as_bytes();
        match path.is_empty() {
            true => export.to_vec(),
            false => [export, &path].join(&b'/'),
        }
    }

    /// Call `each` with the files that have bytes that are not stored, from the one with this number on, ordered by
    /// number, until it returns `false`.
    pub fn list_unstored(&self, from: u64, each: &mut dyn FnMut(UnstoredFile<'_>) -> bool) {
        let now = self.now();
        let mut next = FileId(from);
        loop {
            let found = {
                let state = self.state();
                let mut entries = state.entries.range(next..);
                entries.find_map(|(id, entry)| {
                    let status = state.machine.status(*id)?;
                    (status.unstored > 0).then(|| (*id, Arc::clone(&entry.file), status))
                })
            };
            let Some((id, file, status)) = found else {
                return;
            };
            let age = status
                .since
                .map_or(Duration::ZERO, |since| now.saturating_sub(since));
            let path = Self::path_in_store(&file);
            let file = UnstoredFile {
                number: id.0,
                bytes: status.unstored,
                age_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
                errno: status.error.map_or(0, |Errno(errno)| errno),
                path: &path,
            };
            if !each(file) {
                return;
            }
            next = FileId(id.0 + 1);
        }
    }

    /// Store all files, and wait until everything that was written before is stored.
    ///
    /// # Errors
    /// That of the first file that could not be stored.
    pub fn drain_all(&self) -> Result<()> {
        let files: Vec<_> = {
            let mut state = self.state();
            let now = self.now();
            let ids: Vec<_> = state.entries.keys().copied().collect();
            let ids = ids
                .into_iter()
                .filter(|id| state.machine.unstored_of(*id) > 0);
            let ids: Vec<_> = ids.collect();
            for id in &ids {
                // All at once; then each is waited for.
                let _ = state.machine.want(now, *id);
            }
            let files = ids.iter().filter_map(|id| state.entries.get(id));
            files.map(|entry| Arc::clone(&entry.file)).collect()
        };
        self.work.notify_all();
        let mut result = Ok(());
        for file in files {
            result = result.and(self.store(&file));
        }
        result
    }

    /// Drop the bytes of a file that are not stored. Return how many, and its path in the store.
    ///
    /// # Errors
    /// [`Errno::NOENT`] if there is no such file with such bytes; what is being stored of it does not end.
    pub fn abandon(&self, number: u64) -> Result<(u64, Vec<u8>)> {
        let id = FileId(number);
        let file = {
            let mut state = self.state();
            let entry = state.entries.get(&id);
            let file = entry.map(|entry| Arc::clone(&entry.file));
            let file = file
                .filter(|_| state.machine.unstored_of(id) > 0)
                .ok_or(Errno::NOENT)?;
            state.machine.pause(id);
            file
        };
        let idle = self.wait(self.state(), |state| {
            state.machine.is_idle(id).then_some(Ok(()))
        });
        let abandoned = idle.map(|()| {
            let _alone = file.alone();
            // A file that is gone has no size.
            let size = file
                .path_handle()
                .and_then(state_of)
                .map_or(0, |status| status.stx_size);
            let mut state = self.state();
            let bytes = state.machine.unstored_of(id);
            state.machine.abandon(id, size);
            state.unrecord(id);
            if let Some(entry) = state.entries.get_mut(&id) {
                (entry.modified, entry.version) = (None, None);
            }
            file.mark_changed();
            bytes
        });
        let mut state = self.state();
        state.machine.resume(id);
        self.tidy(&mut state, id);
        drop(state);
        self.changed.notify_all();
        self.work.notify_all();
        let synced = self.sync_log();
        let bytes = abandoned?;
        synced?;
        Ok((bytes, Self::path_in_store(&file)))
    }
}
