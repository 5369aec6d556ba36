//! What operators ask of the cache: what is not stored, storing all of it, and giving it up.

use super::file::{File, state as state_of};
use super::state::Cache;
use isthmus_forward::cache::{FileId, Settings};
use isthmus_forward::message::UnstoredFile;
use isthmus_forward::{Errno, Result};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

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
                return self.list_lost(from, each);
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

    /// Call `each` with the files of which data was lost when the host failed, until it returns `false`.
    fn list_lost(&self, from: u64, each: &mut dyn FnMut(UnstoredFile<'_>) -> bool) {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        for lost in lost.iter().filter(|lost| lost.number >= from) {
            let file = UnstoredFile {
                number: lost.number,
                bytes: lost.bytes,
                age_ms: 0,
                errno: Errno::IO.0,
                path: &lost.path,
            };
            if !each(file) {
                return;
            }
        }
    }

    /// Store all files, and wait until everything that was written before is stored, or until `is_flushed`.
    ///
    /// # Errors
    /// That of a file that could not be stored; data of one was given up meanwhile.
    pub fn drain_all(&self, is_flushed: &AtomicBool) -> Result<()> {
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
            if is_flushed.load(Ordering::Relaxed) {
                return Err(Errno::INTR);
            }
            result = self.store(&file).and(result);
        }
        result
    }

    /// Drop the bytes of the file with this number and path in the store that are not stored. Return how many.
    ///
    /// # Errors
    /// [`Errno::NOENT`] if there is no such file with such bytes; [`Errno::INTR`] if `is_flushed` before they are
    /// dropped; what is being stored of it does not end; the log cannot be written. Then nothing is dropped.
    pub fn abandon(&self, number: u64, path: &[u8], is_flushed: &AtomicBool) -> Result<u64> {
        if let Some(bytes) = self.acknowledge_loss(number, path) {
            return Ok(bytes);
        }
        let id = FileId(number);
        let file = {
            let state = self.state();
            let entry = state.entries.get(&id).ok_or(Errno::NOENT)?;
            Arc::clone(&entry.file)
        };
        if Self::path_in_store(&file) != path {
            return Err(Errno::NOENT);
        }
        self.state().machine.pause(id);
        let idle = self.wait(self.state(), |state| {
            if is_flushed.load(Ordering::Relaxed) {
                return Some(Err(Errno::INTR));
            }
            state.machine.is_idle(id).then_some(Ok(()))
        });
        let abandoned = idle.and_then(|()| self.abandon_idle(&file, is_flushed));
        let mut state = self.state();
        state.machine.resume(id);
        self.tidy(&mut state, id);
        drop(state);
        self.changed.notify_all();
        self.work.notify_all();
        abandoned
    }

    /// Drop the bytes of a file that are not stored, while no task is under way.
    fn abandon_idle(&self, file: &File, is_flushed: &AtomicBool) -> Result<u64> {
        let _alone = file.alone();
        let size = file.handle().and_then(|handle| state_of(&*handle));
        let mut state = self.state();
        let id = file.id;
        let status = state
            .machine
            .status(id)
            .filter(|status| status.unstored > 0);
        let status = status.ok_or(Errno::NOENT)?;
        if is_flushed.load(Ordering::Relaxed) {
            return Err(Errno::INTR);
        }
        let size = match size {
            Ok(status) => status.stx_size,
            // A client that has it open would go on at a wrong size.
            Err(error) if status.is_open => return Err(error),
            Err(_) => 0,
        };
        state.journal.leave_out(id);
        if state.journal.is_logged(id) {
            // The next daemon would store them.
            return Err(Errno::NOSPC);
        }
        let entry = state.entries.get_mut(&id).ok_or(Errno::NOENT)?;
        (entry.modified, entry.version) = (None, None);
        if let Some(objects) = file.objects() {
            // Its size in the tree may be that of what is dropped.
            objects.forget(file.inode);
        }
        state.machine.abandon(id, size);
        file.mark_abandoned();
        file.mark_changed();
        drop(state);
        // After a failure of the host they may be stored; without this, they would be.
        self.sync_log()?;
        Ok(status.unstored)
    }

    /// Remove a file from those of which data was lost when the host failed. Return how many bytes.
    fn acknowledge_loss(&self, number: u64, path: &[u8]) -> Option<u64> {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let at = lost
            .iter()
            .position(|lost| lost.number == number && lost.path == path)?;
        Some(lost.remove(at).bytes)
    }
}
