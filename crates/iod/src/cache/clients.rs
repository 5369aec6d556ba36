//! What clients do with the data of files in the cache.

use super::file::{File, Version, born, key, read_all, state as state_of, write_all};
use super::state::{Cache, Entry, State};
use crate::export::Place;
use crate::status::errno;
use isthmus_forward::cache::Fetch;
use isthmus_forward::cache::log::{Operation, Record};
use isthmus_forward::{Errno, Result};
use rustix::fs::{FallocateFlags, OFlags, Statx, StatxTimestamp, Timespec, fallocate, ftruncate};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Maximum number of files of which stored bytes are dropped at a time.
const DROPPED_FILES: usize = 16;

impl Cache {
    /// Open a file for a client, which has opened it in the store with these flags as `handle`.
    pub fn open(
        &self,
        place: &Place,
        handle: Arc<OwnedFd>,
        status: &Statx,
        flags: OFlags,
    ) -> Result<Arc<File>> {
        let (key, born) = (key(status), born(status));
        let is_known = self.find(status).is_some();
        let status = match is_known {
            true => *status,
            // It may have changed since: a client has written to it and closed it.
            false => state_of(&*handle)?,
        };
        let version = Version::of(&status);
        let mut state = self.state();
        let known = state.find(key).filter(|entry| entry.file.born == born);
        let (file, is_current) = match known {
            Some(entry) => {
                let file = Arc::clone(&entry.file);
                let is_known = entry.version == Some(version) && !entry.is_overlapped;
                state.machine.open(file.id);
                let is_unstored = state.machine.unstored_of(file.id) > 0;
                // A tree shows a new version of an object by `Cache::replace`.
                let is_object = place.export.objects.is_some();
                (file, is_object || is_unstored || is_known)
            }
            None => {
                let id = state.machine.add(status.stx_size);
                if place.export.objects.is_some() {
                    state.machine.store_whole(id);
                }
                let file = File::new(id, Some(key), status.stx_ino, born, place.clone());
                let file = Arc::new(file);
                let entry = Entry::new(Arc::clone(&file), Some(version));
                state.entries.insert(id, entry);
                state.journal.add(id);
                // Another inode may have had the number.
                state.by_key.insert(key, id);
                (file, true)
            }
        };
        drop(state);
        file.add_place(place);
        file.keep(Arc::clone(&handle), flags);
        if !is_current && let Err(error) = self.renew(&file, &handle) {
            self.close(&file);
            return Err(error);
        }
        Ok(file)
    }

    /// Close a file for a client.
    pub fn close(&self, file: &File) {
        let now = self.now();
        let mut state = self.state();
        state.machine.close(now, file.id);
        if state
            .machine
            .status(file.id)
            .is_some_and(|status| !status.is_open)
        {
            // Many files may wait to be stored. A drain opens the file again, if it has a name that is known.
            if !file.is_nameless() {
                file.close();
            }
        }
        self.tidy(&mut state, file.id);
        drop(state);
        self.work.notify_one();
    }

    /// Drop all but the unstored bytes that the cache has of a former version of a file. `handle` is one of the
    /// file in the store.
    pub fn renew(&self, file: &File, handle: &OwnedFd) -> Result<()> {
        let _alone = file.alone();
        self.renew_to(file, &state_of(handle)?)
    }

    /// Drop all but the unstored bytes that the cache has of a former version of a file, which is used alone. The store has
    /// this state of it. Of the same version, drop what was read while another daemon may have changed it.
    pub(super) fn renew_to(&self, file: &File, status: &Statx) -> Result<()> {
        let mut state = self.state();
        let version = Some(Version::of(status));
        let entry = state.entries.get_mut(&file.id).ok_or(Errno::STALE)?;
        let is_same = std::mem::replace(&mut entry.version, version) == version;
        if !std::mem::take(&mut entry.is_overlapped) && is_same {
            return Ok(());
        }
        let dropped = state.machine.renew(file.id, status.stx_size, is_same);
        file.mark_changed();
        drop(state);
        self.free_space(file, &dropped);
        Ok(())
    }

    /// Give the space of dropped bytes of a file back. What stays in the folder is overwritten later.
    fn free_space(&self, file: &File, ranges: &[Range<u64>]) {
        if ranges.is_empty() || self.state().journal.is_late(file.id) {
            return;
        }
        // A synced log that says of these bytes that they are unstored would have zeros stored.
        let (Ok(data), Ok(())) = (file.data(&self.data), self.sync_log_as_it_is()) else {
            return;
        };
        for range in ranges {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(&data, flags, range.start, range.end - range.start);
        }
    }

    /// Drop stored bytes if the cache is too full for these many bytes more.
    fn make_room(&self, bytes: u64) {
        let excess = self.state().machine.excess(bytes);
        if excess > 0 {
            self.drop_stored(excess);
        }
    }

    /// Drop stored bytes that were not used for the longest time, `bytes` of them if there are as many.
    /// Return how many.
    fn drop_stored(&self, bytes: u64) -> u64 {
        if self.sync_log_as_it_is().is_err() {
            // Their space could not be freed.
            return 0;
        }
        let mut left = bytes;
        let candidates: Vec<_> = {
            let state = self.state();
            let ids = state.machine.least_used().take(DROPPED_FILES);
            let ids = ids.filter(|id| !state.journal.is_late(*id));
            let entries = ids.filter_map(|id| state.entries.get(&id));
            entries.map(|entry| Arc::clone(&entry.file)).collect()
        };
        for file in candidates {
            let Some(_alone) = file.try_alone() else {
                continue;
            };
            let dropped = self.state().machine.drop_stored(file.id, left);
            self.free_space(&file, &dropped);
            self.tidy(&mut self.state(), file.id);
            let bytes = dropped.iter().map(|range| range.end - range.start);
            left = left.saturating_sub(bytes.sum());
            if left == 0 {
                break;
            }
        }
        bytes - left
    }

    /// Read bytes of a file for a client. `None` if some are missing.
    pub fn read(&self, file: &File, offset: u64, bytes: &mut [u8]) -> Result<Option<usize>> {
        let read = self.read_present(file, offset, bytes)?;
        let count = read.unwrap_or(0) as u64;
        self.hits.fetch_add(count, Ordering::Relaxed);
        Ok(read)
    }

    /// Read bytes of a file. `None` if some are missing.
    pub(super) fn read_present(
        &self,
        file: &File,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<Option<usize>> {
        let _shared = file.share();
        let size = {
            let mut state = self.state();
            let range = offset..offset.saturating_add(bytes.len() as u64);
            if !state.machine.is_present(file.id, &range) {
                return Ok(None);
            }
            state.machine.size(file.id)
        };
        let left = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = bytes.len().min(left);
        if count > 0 {
            read_all(&*file.data(&self.data)?, &mut bytes[..count], offset)?;
        }
        Ok(Some(count))
    }

    /// Read bytes of a file, after those that are missing were read from the store. `answer` gets them; then
    /// bytes after them may be read ahead.
    pub fn fetch(
        &self,
        file: &File,
        offset: u64,
        count: usize,
        answer: impl FnOnce(Result<Vec<u8>>),
    ) {
        let range = offset..offset.saturating_add(count as u64);
        let mut fetches = self.state().machine.fetch(file.id, &range);
        let ahead = fetches
            .iter()
            .position(|fetch| fetch.range.start >= range.end);
        let ahead = fetches.split_off(ahead.unwrap_or(fetches.len()));
        let mut bytes = vec![0; count];
        let mut read = || {
            self.carry_out_fetches(file, &fetches)?;
            loop {
                if let Some(count) = self.read(file, offset, &mut bytes)? {
                    return Ok(count);
                }
                let state = self.state();
                self.wait(state, |state| {
                    let is_fetching = state.machine.is_fetching(file.id, &range);
                    (!is_fetching).then_some(Ok(()))
                })?;
                // Others may have failed to read them, or they were dropped again.
                let missing = self.state().machine.fetch(file.id, &range);
                self.carry_out_fetches(file, &missing)?;
            }
        };
        let result = read();
        answer(result.map(|count| {
            bytes.truncate(count);
            bytes
        }));
        // A client that reads these bytes gets the error.
        let _ = self.carry_out_fetches(file, &ahead);
    }

    /// Read those of these bytes that are missing from the store.
    pub fn fill(&self, file: &File, range: Range<u64>) -> Result<()> {
        let missing = self.state().machine.fetch(file.id, &range);
        self.carry_out_fetches(file, &missing)?;
        self.wait(self.state(), |state| {
            let is_fetching = state.machine.is_fetching(file.id, &range);
            (!is_fetching).then_some(Ok(()))
        })
    }

    /// Read bytes from the store into the cache; after an error, no further ones.
    fn carry_out_fetches(&self, file: &File, fetches: &[Fetch]) -> Result<()> {
        let mut result = Ok(());
        for fetch in fetches {
            match result {
                Ok(()) => result = self.carry_out_fetch(file, fetch),
                Err(_) => self.state().machine.not_fetched(file.id, fetch),
            }
        }
        if result.is_err() {
            self.changed.notify_all();
        }
        result
    }

    /// Read bytes from the store into the cache.
    fn carry_out_fetch(&self, file: &File, fetch: &Fetch) -> Result<()> {
        let bytes = fetch.range.end - fetch.range.start;
        self.make_room(0);
        let read = || {
            let mut buffer = vec![0; usize::try_from(bytes).map_err(|_| Errno::NOMEM)?];
            // Bytes after the end in the store are zero: a client has written after them.
            match file.objects() {
                Some(objects) => {
                    self.read_object(&objects, file, &mut buffer, fetch.range.start)?;
                }
                None => read_all(&*file.reader()?, &mut buffer, fetch.range.start)?,
            }
            self.misses.fetch_add(bytes, Ordering::Relaxed);
            Ok((buffer, file.data(&self.data)?))
        };
        let result = read().and_then(|(buffer, data)| {
            let _alone = file.alone();
            let mut state = self.state();
            if state.is_closed {
                // Another daemon may have the folder.
                return Err(Errno::IO);
            }
            let ranges = state.machine.fetched(file.id, fetch);
            drop(state);
            for range in ranges {
                let from = (range.start - fetch.range.start) as usize;
                let to = (range.end - fetch.range.start) as usize;
                if let Err(error) = write_all(&data, &buffer[from..to], range.start) {
                    // The folder has other bytes than the machine says: forget them.
                    let machine = &mut self.state().machine;
                    let size = machine.size(file.id);
                    machine.renew(file.id, size, false);
                    return Err(errno(error));
                }
            }
            Ok(())
        });
        if result.is_err() {
            self.state().machine.not_fetched(file.id, fetch);
        }
        self.changed.notify_all();
        result
    }

    /// Write data to a file, at its end if `offset` is `None`. `None` if so much is unstored that the client
    /// waits.
    pub fn write(&self, file: &File, offset: Option<u64>, data: &[u8]) -> Result<Option<usize>> {
        let is_admitted = self.state().machine.admit(data.len() as u64);
        if is_admitted {
            match self.write_admitted(file, offset, data, false) {
                Err(Errno::NOSPC) => {}
                other => return other.map(Some),
            }
        }
        self.work.notify_all();
        Ok(None)
    }

    /// Write data to a file once there is room, unless the client has flushed the request.
    pub fn write_later(
        &self,
        file: &File,
        offset: Option<u64>,
        data: &[u8],
        is_flushed: &AtomicBool,
    ) -> Result<usize> {
        loop {
            self.wait(self.state(), |state| {
                if is_flushed.load(Ordering::Relaxed) {
                    return Some(Err(Errno::INTR));
                }
                state.machine.admit(data.len() as u64).then_some(Ok(()))
            })?;
            let progress = self.state().machine.progress();
            match self.write_admitted(file, offset, data, true) {
                Err(Errno::NOSPC) => {}
                other => return other,
            }
            // The file system of the cache is full: what is stored makes room.
            let bytes = self.drop_stored(data.len() as u64);
            let is_all_stored = self.state().machine.unstored() == 0;
            if bytes == 0 && is_all_stored {
                return Err(Errno::NOSPC);
            }
            if bytes == 0 {
                self.work.notify_all();
                self.wait(self.state(), |state| {
                    (state.machine.progress() > progress).then_some(Ok(()))
                })?;
            }
        }
    }

    /// Write data that there is room for. Fails with `ENOSPC` if the caller has to wait, which it may.
    fn write_admitted(
        &self,
        file: &File,
        offset: Option<u64>,
        data: &[u8],
        may_wait: bool,
    ) -> Result<usize> {
        self.make_room(data.len() as u64);
        let write = |offset| match file.is_nameless() && !may_wait {
            true => Err(Errno::NOSPC),
            false => self.write_at(file, offset, data),
        };
        let result = match offset {
            Some(offset) => {
                let _shared = file.share();
                write(offset)
            }
            None => {
                let _alone = file.alone();
                let end = self.state().machine.size(file.id);
                write(end)
            }
        };
        self.state().machine.release(data.len() as u64);
        result.map(|()| data.len())
    }

    /// Write data to the folder, then to the log.
    fn write_at(&self, file: &File, offset: u64, data: &[u8]) -> Result<()> {
        let end = offset.checked_add(data.len() as u64);
        let end = end
            .filter(|end| i64::try_from(*end).is_ok())
            .ok_or(Errno::FBIG)?;
        if data.is_empty() {
            return Ok(());
        }
        if self.state().is_closed {
            return Err(Errno::IO);
        }
        let (id, start) = (file.id, offset);
        let written = write_all(&*file.data(&self.data)?, data, offset).map_err(errno);
        let mut state = self.state();
        let record = Record::Wrote {
            file: id.0,
            start,
            end,
        };
        if let Err(error) = written.and_then(|()| state.record(self, id, &[record])) {
            // Some of it may be in the folder.
            state.machine.not_written(id, start..end);
            return Err(error);
        }
        let (now, due) = (self.now(), state.machine.wake_at());
        state.machine.wrote(now, id, start..end);
        file.mark_changed();
        if let Some(entry) = state.entries.get_mut(&id) {
            (entry.modified, entry.is_modified_set) = (Some(clock()), false);
        }
        let is_due = match (state.machine.wake_at(), due) {
            (Some(at), Some(before)) => at <= now || at < before,
            (at, _) => at.is_some(),
        };
        let is_due = is_due || state.machine.is_pressed();
        drop(state);
        if is_due {
            self.work.notify_one();
        }
        Ok(())
    }

    /// End a file at a size, in the cache and in the store.
    pub fn cut(&self, file: &Arc<File>, size: u64) -> Result<()> {
        let id = file.id;
        let result = self.while_idle(vec![Arc::clone(file)], || match file.objects() {
            Some(objects) => self.cut_object(&objects, file, size),
            None => self.cut_in_store(file, size),
        });
        let mut state = self.state();
        if state.machine.unstored_of(id) == 0 {
            state.journal.leave_out(id);
            if let Some(entry) = state.entries.get_mut(&id) {
                entry.modified = None;
            }
        }
        self.tidy(&mut state, id);
        drop(state);
        self.work.notify_one();
        result
    }

    /// End a file at a size in the store, while no task for it is under way.
    fn cut_in_store(&self, file: &File, size: u64) -> Result<()> {
        let handles = (file.data(&self.data)?, file.writer()?);
        let _alone = file.alone();
        let operation = self.begin(Operation::Cut {
            file: file.id,
            size,
        })?;
        let result = ftruncate(&*handles.1, size).map_err(errno);
        let mut state = self.state();
        if result.is_ok() {
            self.record_cut(&mut state, file, &handles, size);
        }
        state.journal.end(operation, result.is_ok());
        drop(state);
        result.and(self.sync_end(operation))
    }

    /// Record that a file ends at a size in the store, with its data in the cache and its handle in the store.
    pub(super) fn record_cut(
        &self,
        state: &mut State,
        file: &File,
        (data, handle): &(Arc<OwnedFd>, Arc<OwnedFd>),
        size: u64,
    ) {
        state.machine.cut(file.id, size);
        file.mark_changed();
        if let Some(entry) = state.entries.get_mut(&file.id) {
            entry.version = state_of(handle).ok().map(|status| Version::of(&status));
            entry.is_overlapped = true;
            (entry.modified, entry.is_modified_set) = (Some(clock()), false);
        }
        // Zeros after the end, should the file grow again.
        let _ = ftruncate(data, size);
    }

    /// Return the file in the cache that has this state in the store.
    pub fn find(&self, status: &Statx) -> Option<Arc<File>> {
        let state = self.state();
        let entry = state.find(key(status))?;
        (entry.file.born == born(status)).then(|| Arc::clone(&entry.file))
    }

    /// Change the state of a file in the store to what it will be when all is stored. Return `false` if all
    /// is stored already.
    pub fn correct(&self, file: &File, status: &mut Statx) -> bool {
        let state = self.state();
        let Some(entry) = state.entries.get(&file.id) else {
            return false;
        };
        if state.machine.unstored_of(file.id) == 0 {
            return false;
        }
        status.stx_size = state.machine.size(file.id);
        if let Some(modified) = entry.modified {
            status.stx_mtime.tv_sec = modified.tv_sec;
            status.stx_mtime.tv_nsec = u32::try_from(modified.tv_nsec).unwrap_or(0);
            // A write changes this time as well. One that a client has set says nothing of it.
            let of = |time: &StatxTimestamp| (time.tv_sec, time.tv_nsec);
            if !entry.is_modified_set && of(&status.stx_mtime) > of(&status.stx_ctime) {
                status.stx_ctime = status.stx_mtime;
            }
        }
        true
    }

    /// Record that a client has set the time of the last change of a file.
    pub fn set_modified(&self, file: &File, at: Timespec) -> Result<()> {
        let mut state = self.state();
        if state.machine.unstored_of(file.id) == 0 {
            return Ok(());
        }
        let s = u64::try_from(at.tv_sec).unwrap_or(0);
        let ns = u32::try_from(at.tv_nsec).unwrap_or(0);
        let record = Record::Modified {
            file: file.id.0,
            s,
            ns,
        };
        state.record(self, file.id, &[record])?;
        if let Some(entry) = state.entries.get_mut(&file.id) {
            (entry.modified, entry.is_modified_set) = (Some(at), true);
        }
        Ok(())
    }
}

/// Return the time of day.
fn clock() -> Timespec {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default();
    Timespec {
        tv_sec: i64::try_from(now.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: now.subsec_nanos().into(),
    }
}
