//! A daemon: the cache, its log and its data in the memory of a host, in front of a store. It can be killed
//! between any two records of the log and operations of the store.

use super::host::{Data, Host, HostLog};
use super::recover::header;
use super::steps::SyncOutcome;
use super::store::{Store, put, slice};
use isthmus_forward::cache::journal::{CacheSync, Description, Journal};
use isthmus_forward::cache::log::Record;
use isthmus_forward::cache::{Cache, Fetch, FileId, Goal, Settings, Task, Work};
use isthmus_forward::message::Key;
use isthmus_forward::{Errno, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

pub const SETTINGS: Settings = Settings {
    bytes: 100,
    dirty_bytes: 60,
    dirty_age: Duration::from_secs(5),
    part_bytes: 8,
    tasks: 3,
};

/// Time without progress of the store after which clients get an error.
const STORE_TIMEOUT: Duration = Duration::from_secs(20);

/// A file of the store in the cache.
#[derive(Clone, Debug)]
pub struct Entry {
    pub inode: u64,
    pub born: u64,
    pub path: Vec<u8>,
}

impl Entry {
    /// Describes the file for the log.
    pub fn describe(&self) -> Description {
        Description {
            path: self.path.clone(),
            inode: self.inode,
            born: (self.born, 0),
            ..Description::default()
        }
    }
}

/// Bytes that are being read from the store.
pub struct Reading {
    pub file: FileId,
    pub fetch: Fetch,
    pub data: Vec<u8>,
}

/// A sync of the data of a file in the cache that is under way, with the data when it began.
pub struct Syncing {
    file: FileId,
    sync: CacheSync,
    bytes: Vec<u8>,
}

/// A daemon.
pub struct Daemon {
    pub cache: Cache,
    pub journal: Journal<HostLog>,
    pub store: Store,
    pub host: Host,
    pub entries: BTreeMap<FileId, Entry>,
    pub by_inode: BTreeMap<u64, FileId>,
    pub running: Vec<(Work, Vec<u8>)>,
    pub reading: Vec<Reading>,
    pub syncs: Vec<Syncing>,
    pub now: Duration,
    /// The number of records and operations of the store until the daemon is killed.
    pub fuse: Option<u32>,
    pub is_dead: bool,
    /// The connections of sessions by key, and those that ended because a client has a new one.
    pub keys: Vec<(Key, u64)>,
    pub ended: Vec<u64>,
    /// The files that were removed or replaced, by number and time of creation.
    pub removed: Vec<(u64, u64)>,
}

impl Daemon {
    /// Goes on, unless the daemon is killed here.
    pub fn point(&mut self) -> Result<()> {
        if let Some(left) = &mut self.fuse {
            self.is_dead |= *left == 0;
            *left = left.saturating_sub(1);
        }
        if self.is_dead { Err(Errno::IO) } else { Ok(()) }
    }

    /// Appends a record of a file.
    fn record(&mut self, id: FileId, record: Record<'_>) -> Result<()> {
        self.keep_log_short()?;
        let entry = &self.entries[&id];
        self.journal.record(id, || entry.describe(), &[record])
    }

    /// Rewrites the log if it has to be.
    pub fn keep_log_short(&mut self) -> Result<()> {
        match self.journal.needs_rewrite() {
            true => self.rewrite_log(),
            false => Ok(()),
        }
    }

    /// Rewrites the log.
    pub fn rewrite_log(&mut self) -> Result<()> {
        let (entries, cache) = (&self.entries, &self.cache);
        let describe = |id| (entries[&id].describe(), cache.unstored_ranges(id));
        self.journal.rewrite(&header(), describe)
    }

    /// Syncs the log, if a failure of the host leaves data that it is about.
    pub fn sync_log(&mut self) -> Result<()> {
        match self.journal.must_sync() {
            true => self.sync_log_always(),
            false => Ok(()),
        }
    }

    /// Syncs the log if a failure of the host leaves data that it is about, also if something is missing in it.
    pub fn sync_log_as_it_is(&mut self) -> Result<()> {
        match self.journal.has_synced() {
            true => self.journal.log().0.borrow_mut().sync(),
            false => Ok(()),
        }
    }

    /// Syncs the log.
    pub fn sync_log_always(&mut self) -> Result<()> {
        self.keep_log_short()?;
        self.journal.log().0.borrow_mut().sync()
    }

    /// Opens a file for a client.
    pub fn open(&mut self, inode: u64) -> FileId {
        if let Some(id) = self.by_inode.get(&inode) {
            self.cache.open(*id);
            return *id;
        }
        let Some(of) = self.store.inodes.get(&inode) else {
            unreachable!("inode {inode} is in the store");
        };
        let names = &self.store.names;
        let path = names.iter().find(|(_, number)| **number == inode);
        let entry = Entry {
            inode,
            born: of.born,
            path: path.expect("it was found by name").0.clone(),
        };
        let id = self.cache.add(of.data.len() as u64);
        if inode % 3 == 2 {
            self.cache.store_whole(id);
        }
        self.entries.insert(id, entry);
        self.journal.add(id);
        self.by_inode.insert(inode, id);
        self.host.data.insert(id, Data::default());
        id
    }

    /// Closes a file for a client.
    pub fn close(&mut self, id: FileId) {
        if !self.is_dead {
            self.cache.close(self.now, id);
            self.tidy(id);
        }
    }

    /// Removes a file that no client has open and of which nothing is cached.
    pub fn tidy(&mut self, id: FileId) {
        let status = self.cache.status(id).filter(|status| !status.is_open);
        let (Some(status), Some(entry)) = (status, self.entries.get(&id)) else {
            return;
        };
        if self.journal.is_removed(id) || status.bytes == 0 {
            let inode = entry.inode;
            self.journal.leave_out(id);
            if self.journal.is_logged(id) {
                return;
            }
            self.entries.remove(&id);
            if self.by_inode.get(&inode) == Some(&id) {
                self.by_inode.remove(&inode);
            }
            self.cache.forget(id);
            self.journal.forget(id);
            if self.sync_log_as_it_is().is_ok() {
                self.host.data.remove(&id);
            }
            self.store.release(inode);
        }
    }

    /// Returns the number and time of creation of a file in the cache.
    pub fn key(&self, id: FileId) -> (u64, u64) {
        let entry = &self.entries[&id];
        (entry.inode, entry.born)
    }

    /// Returns the size of a file.
    pub fn size(&self, inode: u64) -> u64 {
        let stored = self.store.inodes[&inode].data.len() as u64;
        let id = self.by_inode.get(&inode);
        id.map_or(stored, |id| self.cache.size(*id))
    }

    /// Returns what a client would read of a file from its start.
    pub fn content(&self, inode: u64) -> Vec<u8> {
        let mut content = self.store.inodes[&inode].data.clone();
        if let Some(id) = self.by_inode.get(&inode) {
            for range in self.cache.unstored_ranges(*id) {
                let data = slice(&self.host.data[id].bytes, &range);
                put(&mut content, range.start, &data);
            }
        }
        content
    }

    /// Writes data of a client. Returns `false` if it has to wait for room.
    pub fn write(&mut self, id: FileId, offset: u64, data: &[u8]) -> Result<bool> {
        let count = data.len() as u64;
        if !self.cache.admit(count) {
            assert!(self.cache.unstored() + count > SETTINGS.dirty_bytes);
            return Ok(false);
        }
        let excess = self.cache.excess(count);
        self.drop_stored(excess);
        self.point()?;
        self.host.data.get_mut(&id).unwrap().write(offset, data);
        self.point()?;
        let (start, end) = (offset, offset + count);
        let file = id.0;
        if let Err(error) = self.record(id, Record::Wrote { file, start, end }) {
            self.cache.not_written(id, start..end);
            self.cache.release(count);
            return Err(error);
        }
        self.cache.wrote(self.now, id, start..end);
        self.cache.release(count);
        assert!(self.cache.unstored() <= SETTINGS.dirty_bytes.max(count));
        Ok(true)
    }

    /// Returns bytes of a file, or `None` if some are missing.
    pub fn read(&mut self, id: FileId, range: &Range<u64>) -> Option<Vec<u8>> {
        let is_present = self.cache.is_present(id, range);
        is_present.then(|| {
            let end = range.end.min(self.cache.size(id));
            slice(&self.host.data[&id].bytes, &(range.start.min(end)..end))
        })
    }

    /// Begins to read the missing bytes of a file.
    pub fn fetch(&mut self, file: FileId, range: &Range<u64>) {
        if self.store.is_gone {
            return;
        }
        for fetch in self.cache.fetch(file, range) {
            let inode = self.entries[&file].inode;
            let data = slice(&self.store.inodes[&inode].data, &fetch.range);
            self.reading.push(Reading { file, fetch, data });
        }
    }

    /// Ends a read from the store.
    pub fn end_fetch(&mut self, which: usize, is_ok: bool) {
        if self.reading.is_empty() || self.store.is_gone {
            return;
        }
        let Reading { file, fetch, data } = self.reading.remove(which % self.reading.len());
        let excess = self.cache.excess(0);
        self.drop_stored(excess);
        if !is_ok {
            return self.cache.not_fetched(file, &fetch);
        }
        for part in self.cache.fetched(file, &fetch) {
            let from = (part.start - fetch.range.start) as usize;
            let to = (part.end - fetch.range.start) as usize;
            let cached = self.host.data.get_mut(&file).unwrap();
            cached.write(part.start, &data[from..to]);
        }
    }

    /// Drops stored bytes.
    pub fn drop_stored(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        // A log that says that dropped bytes are unstored would have zeros stored.
        if self.sync_log_as_it_is().is_err() {
            return;
        }
        let ids = self.cache.least_used();
        let ids: Vec<_> = ids.filter(|id| !self.journal.is_late(*id)).collect();
        let mut left = bytes;
        for id in ids {
            for range in self.cache.drop_stored(id, left) {
                let zeros = vec![0; (range.end - range.start) as usize];
                left -= zeros.len() as u64;
                let data = self.host.data.get_mut(&id).unwrap();
                data.write(range.start, &zeros);
            }
            self.tidy(id);
        }
    }

    /// Asks that a file is stored.
    pub fn want(&mut self, id: FileId) -> Goal {
        self.cache.want(self.now, id)
    }

    /// Returns whether a client that waits since `since` has waited for the store for too long.
    pub fn is_late(&self, since: Duration) -> bool {
        self.now > since.max(self.cache.progress()) + STORE_TIMEOUT
    }

    /// Returns whether a file is stored, or that it could not be.
    pub fn reached(&mut self, id: FileId, goal: Goal) -> Option<Result<()>> {
        let result = self.cache.reached(id, goal)?;
        Some(result.and_then(|()| {
            // Bytes may have been written over while they were drained.
            match self.journal.must_sync() && self.cache.unstored_of(id) > 0 {
                true => self.sync_in_cache(id),
                false => self.sync_log(),
            }
        }))
    }

    /// Begins to sync what is unstored of a file in the cache.
    pub fn begin_sync(&mut self, file: FileId) -> Result<()> {
        if self.syncs.iter().any(|sync| sync.file == file) {
            // One at a time.
            return Ok(());
        }
        self.keep_log_short()?;
        let sync = self
            .journal
            .begin_sync(file, self.cache.unstored_ranges(file))?;
        let bytes = self.host.data[&file].bytes.clone();
        self.syncs.push(Syncing { file, sync, bytes });
        Ok(())
    }

    /// Ends a sync in the cache, or that of the names of all files in it. Returns `false` if it has to be repeated.
    pub fn end_sync(&mut self, which: usize, outcome: SyncOutcome) -> Result<bool> {
        let Syncing { file, sync, bytes } = self.syncs.remove(which % self.syncs.len());
        let is_ok = outcome == SyncOutcome::Done;
        if let Some(data) = self.host.data.get_mut(&file) {
            data.synced(&bytes, is_ok);
        }
        if outcome == SyncOutcome::NamesFailed {
            for data in self.host.data.values_mut() {
                let bytes = data.bytes.clone();
                data.synced(&bytes, false);
            }
        }
        if !is_ok {
            let failed = (outcome == SyncOutcome::DataFailed).then_some(file);
            self.journal.sync_failed(failed);
            return Err(Errno::IO);
        }
        if !self.journal.end_sync(sync)? {
            return Ok(false);
        }
        self.journal.log().0.borrow_mut().sync()?;
        Ok(true)
    }

    /// Syncs what is unstored of a file in the cache.
    pub fn sync_in_cache(&mut self, id: FileId) -> Result<()> {
        if let Some(at) = self.syncs.iter().position(|sync| sync.file == id) {
            let _ = self.end_sync(at, SyncOutcome::Done);
        }
        loop {
            self.begin_sync(id)?;
            if self.end_sync(self.syncs.len() - 1, SyncOutcome::Done)? {
                return Ok(());
            }
        }
    }

    /// Begins the next task.
    pub fn begin_task(&mut self) -> bool {
        let Some(work) = self.cache.next(self.now) else {
            return false;
        };
        let entry = &self.entries[&work.file];
        let data = match &work.task {
            Task::Drain(range) => slice(&self.host.data[&work.file].bytes, range),
            Task::Sync => self.store.inodes[&entry.inode].data.clone(),
        };
        self.running.push((work, data));
        assert!(self.running.len() <= SETTINGS.tasks);
        true
    }

    /// Does not carry out a task.
    pub fn postpone(&mut self, which: usize) {
        if !self.running.is_empty() {
            let (work, _) = self.running.remove(which % self.running.len());
            self.cache.postpone(work.ticket);
        }
    }

    /// Ends a task.
    pub fn end_task(&mut self, which: usize, is_ok: bool) {
        if self.running.is_empty() || self.store.is_gone {
            return;
        }
        let (work, data) = self.running.remove(which % self.running.len());
        let id = work.file;
        let Some(entry) = self.entries.get(&id) else {
            // It was removed and closed meanwhile.
            self.cache.finish(self.now, work.ticket, Ok(()));
            return;
        };
        let number = entry.inode;
        let inode = self.store.inodes.get_mut(&number).unwrap();
        match (&work.task, is_ok) {
            (Task::Drain(range), true) => put(&mut inode.data, range.start, &data),
            // Some of it may be there.
            (Task::Drain(range), false) => {
                put(&mut inode.data, range.start, &data[..data.len() / 2]);
            }
            (Task::Sync, true) => inode.synced = data,
            (Task::Sync, false) => {}
        }
        if !is_ok {
            // The store may lose all that it has not synced, and reports this once.
            self.store.fail(number);
            let synced = &self.store.inodes[&number].synced;
            for (other, data) in &mut self.running {
                if other.file == id && other.task == Task::Sync {
                    data.clone_from(synced);
                }
            }
        }
        let result = if is_ok { Ok(()) } else { Err(Errno::IO) };
        let stored = self.cache.finish(self.now, work.ticket, result);
        for range in &stored {
            let synced = slice(&self.store.inodes[&number].synced, range);
            let cached = slice(&self.host.data[&id].bytes, range);
            assert_eq!(synced, cached, "{range:?}");
        }
        self.journal.stored(id, &stored);
        if self.cache.unstored_of(id) == 0 {
            self.journal.leave_out(id);
        }
        self.tidy(id);
    }

    /// Lets the tasks for a file end, and begins no other ones for it. Fails if the store does not answer.
    pub fn pause(&mut self, id: FileId) -> Result<()> {
        self.cache.pause(id);
        while let Some(at) = self.running.iter().position(|(work, _)| work.file == id) {
            if self.store.is_gone {
                self.cache.resume(id);
                return Err(Errno::IO);
            }
            self.end_task(at, true);
        }
        assert!(self.cache.is_idle(id));
        Ok(())
    }

    /// Returns a file in the cache.
    pub fn nth(&self, which: usize) -> Option<FileId> {
        let count = self.entries.len();
        let at = (count > 0).then(|| which % count)?;
        self.entries.keys().nth(at).copied()
    }
}
