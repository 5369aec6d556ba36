//! Data of files whose store is a bucket: read from a version of an object, and stored as a whole.

use super::file::{File, state as state_of};
use super::state::Cache;
use crate::objects::{Objects, new_mark};
use crate::status::errno;
use isthmus_forward::cache::log::{Operation, Record};
use isthmus_forward::{Errno, Result};
use rustix::fs::{Statx, ftruncate};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Size in bytes of the pieces in which a file is read to be stored.
const PIECE_BYTES: usize = 1 << 20;

/// Maximum number of times that bytes are read again which were dropped meanwhile.
const TRIES: u32 = 100;

impl File {
    /// Return the objects that the file's export shows, if its store is a bucket.
    pub fn objects(&self) -> Option<Arc<Objects>> {
        self.place().0.export.objects.clone()
    }
}

impl Cache {
    /// Return the time for which a file is opened without asking the store again.
    pub fn fresh(&self) -> Duration {
        self.config.fresh
    }

    /// Return whether bytes of a file are not stored.
    pub fn is_unstored(&self, file: &File) -> bool {
        self.state().machine.unstored_of(file.id) > 0
    }

    /// Change files in the store while no task for them is under way, and no other change.
    pub fn while_idle<T>(
        &self,
        mut files: Vec<Arc<File>>,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        // All threads lock files in the same order, so that none deadlock.
        files.sort_by_key(|file| file.id);
        files.dedup_by_key(|file| file.id);
        let _only: Vec<_> = files.iter().map(|file| file.lock_changes()).collect();
        let mut state = self.state();
        for file in &files {
            state.machine.pause(file.id);
        }
        let idle = self.wait(state, |state| {
            let is_idle = files.iter().all(|file| state.machine.is_idle(file.id));
            is_idle.then_some(Ok(()))
        });
        let result = idle.and_then(|()| change());
        let mut state = self.state();
        for file in &files {
            state.machine.resume(file.id);
        }
        drop(state);
        self.work.notify_all();
        result
    }

    /// Add to the log the version of its object that the unstored bytes of a file belong to.
    pub fn record_base(&self, file: &File) {
        let mut state = self.state();
        let known = file.objects().and_then(|objects| objects.of(file.inode));
        if let Some(version) = known.and_then(|known| known.version) {
            let (id, version) = (file.id, version.as_bytes());
            state.journal.amend(
                id,
                &Record::Base {
                    file: id.0,
                    version,
                },
            );
        }
    }

    /// Have a file show another version of its object by `show`, which returns its state in the tree, unless bytes of it are
    /// not stored. What the cache has of the former version is dropped.
    pub fn replace(&self, file: &File, show: impl FnOnce() -> Result<Statx>) -> Result<()> {
        let _alone = file.alone();
        match self.is_unstored(file) {
            true => Ok(()),
            false => self.renew_to(file, &show()?),
        }
    }

    /// Read bytes of a file from its object; those after its end are zero.
    pub(super) fn read_object(
        &self,
        objects: &Objects,
        file: &File,
        bytes: &mut [u8],
        offset: u64,
    ) -> Result<()> {
        let size = state_of(&*file.handle()?)?.stx_size;
        let left = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (some, rest) = bytes.split_at_mut(bytes.len().min(left));
        rest.fill(0);
        if some.is_empty() {
            return Ok(());
        }
        let range = offset..offset + some.len() as u64;
        let range = (range != (0..size)).then_some(range);
        // A file that a client has removed has none.
        let version = objects.version(file.inode).ok_or(Errno::STALE)?;
        let read = |version: &str| objects.bucket.read(&file.place().1, version, range.clone());
        let read = match read(&version) {
            // A client may have renamed the file meanwhile, or an upload whose answer was lost has replaced the object.
            Err(Errno::STALE | Errno::NOENT) => read(&self.base(objects, file, &file.place().1)?),
            read => read,
        };
        match read {
            Ok(read) if read.len() == some.len() => some.copy_from_slice(&read),
            // The file belongs to a version that is gone.
            Ok(_) | Err(Errno::NOENT) => return Err(Errno::STALE),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Read bytes of a file from the cache, after those that are missing were read from its object.
    fn read_through(&self, file: &File, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let pieces = bytes.chunks_mut(PIECE_BYTES);
        for (piece, start) in pieces.zip((offset..).step_by(PIECE_BYTES)) {
            let end = start + piece.len() as u64;
            let mut tries = 0..TRIES;
            let count = loop {
                if let Some(count) = self.read_present(file, start, piece)? {
                    break count;
                }
                // Others may need the room in the cache.
                tries.next().ok_or(Errno::NOSPC)?;
                self.fill(file, start..end)?;
            };
            // A client has cut the file meanwhile: it is stored again.
            piece[count..].fill(0);
        }
        Ok(())
    }

    /// Return the version of the object of a file, if it is the one that the file was written to.
    fn base(&self, objects: &Objects, file: &File, path: &[u8]) -> Result<String> {
        let known = objects.version(file.inode);
        let base = objects.base(&file.place().0.export, path, file.inode)?;
        if known.as_ref() != Some(&base) {
            self.record_base(file);
        }
        Ok(base)
    }

    /// Have the log say that a file is about to be stored with a mark, and return the mark: that of the last attempt, if it
    /// had no answer.
    fn begin_upload(&self, objects: &Objects, file: &File) -> Result<String> {
        let mark = {
            let mut state = self.state();
            let mark = match objects.of(file.inode).and_then(|known| known.mark) {
                Some(mark) => mark,
                None => new_mark()?,
            };
            if state.journal.is_logged(file.id) {
                let (id, mark) = (file.id, mark.as_bytes());
                let record = Record::Upload { file: id.0, mark };
                state.record(self, id, &[record])?;
            }
            objects.record_mark(file.inode, mark.clone());
            mark
        };
        self.sync_log()?;
        Ok(mark)
    }

    /// Store a file as an object, in place of the version that it was written to.
    ///
    /// # Errors
    /// [`Errno::STALE`] if the object has another version; [`Errno::INTR`] if the file is paused.
    pub(super) fn store_object(&self, objects: &Objects, file: &File) -> Result<()> {
        let is_removed = {
            let state = self.state();
            !state.entries.contains_key(&file.id) || state.journal.is_removed(file.id)
        };
        if is_removed {
            // It has no name, and ends when it is closed.
            let handle = file.drain()?;
            let size = self.state().machine.size(file.id);
            ftruncate(&*handle, size).map_err(errno)?;
            return self.note_version(file, &handle);
        }
        let (handle, path) = (file.drain()?, file.place().1);
        let base = self.base(objects, file, &path)?;
        let mark = self.begin_upload(objects, file)?;
        let (size, modified) = {
            let state = self.state();
            let modified = state.entries.get(&file.id).and_then(|entry| entry.modified);
            (state.machine.size(file.id), modified)
        };
        let read = |offset, bytes: &mut [u8]| {
            let is_paused = self.state().machine.is_paused(file.id);
            match is_paused {
                true => Err(Errno::INTR),
                false => self.read_through(file, offset, bytes),
            }
        };
        let progressed = || self.state().machine.progressed(self.now());
        let stored = objects
            .bucket
            .store(&path, &base, &mark, size, &read, &progressed);
        match stored {
            // An attempt whose answer was lost may have stored older data: once more, in place of that.
            Err(Errno::STALE) if self.base(objects, file, &path)? != base => {
                return Err(Errno::INTR);
            }
            stored => objects.record_version(file.inode, stored?, Instant::now()),
        }
        self.record_base(file);
        ftruncate(&*handle, size).map_err(errno)?;
        if let Some(modified) = modified {
            self.store_modified(file, &handle, modified)?;
        }
        self.note_version(file, &handle)
    }

    /// End a file at a size, while no task for it is under way. An empty one replaces the object at once; of others, the
    /// bytes that stay are stored again.
    ///
    /// # Errors
    /// [`Errno::FBIG`] if these are more than may be unstored.
    pub(super) fn cut_object(&self, objects: &Objects, file: &File, size: u64) -> Result<()> {
        let before = self.state().machine.size(file.id);
        if before == size && (size > 0 || !self.is_unstored(file)) {
            return Ok(());
        }
        if size > self.config.settings.dirty_bytes {
            return Err(Errno::FBIG);
        }
        let handles = (file.data(&self.data)?, file.writer()?);
        if size > 0 {
            return self.cut_to_rest(file, size, 0..before.min(size), &handles);
        }
        let _alone = file.alone();
        let operation = self.begin(Operation::Cut {
            file: file.id,
            size,
        })?;
        let empty = || {
            let path = file.place().1;
            let base = self.base(objects, file, &path)?;
            let mark = self.begin_upload(objects, file)?;
            objects.store_empty(&path, file.inode, &base, &mark)?;
            ftruncate(&*handles.1, 0).map_err(errno)
        };
        let emptied = empty();
        let mut state = self.state();
        if emptied.is_ok() {
            self.record_cut(&mut state, file, &handles, 0);
        }
        state.journal.end(operation, emptied.is_ok());
        drop(state);
        self.record_base(file);
        emptied.and(self.sync_end(operation))
    }

    /// End a file at a size above zero. These bytes of it stay.
    fn cut_to_rest(
        &self,
        file: &File,
        size: u64,
        rest: Range<u64>,
        handles: &(Arc<OwnedFd>, Arc<OwnedFd>),
    ) -> Result<()> {
        let id = file.id;
        let mut tries = 0..TRIES;
        let _alone = loop {
            self.fill(file, rest.clone())?;
            let alone = file.alone();
            if self.state().machine.is_present(id, &rest) {
                break alone;
            }
            // Others may need the room in the cache.
            tries.next().ok_or(Errno::NOSPC)?;
        };
        let mut state = self.state();
        let (file_id, start, end) = (id.0, 0, size);
        let cut = Record::Stored {
            file: file_id,
            start: size,
            end: u64::MAX,
        };
        let rest = Record::Wrote {
            file: file_id,
            start,
            end,
        };
        state.record(self, id, &[cut, rest])?;
        state.journal.cut(id, size);
        drop(state);
        // A synced log that has the bytes after the end would have the next daemon miss them.
        self.sync_log()?;
        let mut state = self.state();
        ftruncate(&handles.0, size).map_err(errno)?;
        ftruncate(&handles.1, size).map_err(errno)?;
        self.record_cut(&mut state, file, handles, size);
        let now = self.now();
        state.machine.wrote(now, id, 0..size);
        Ok(())
    }
}
