//! A daemon: the cache, its log and its data in the memory of a host, in front of a store. It can be killed
//! between any two records of the log and operations of the store.

use super::store::{Store, put, slice};
use isthmus_forward::cache::log::{Record, Replay};
use isthmus_forward::cache::{Cache, Fetch, FileId, Goal, Settings, Task, Work};
use isthmus_forward::message::Key;
use isthmus_forward::{Buffer, Errno, Result};
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

/// Data of a file in the cache.
#[derive(Debug, Default)]
struct Data {
    bytes: Vec<u8>,
    /// What a failure of the host leaves of them.
    on_disk: Vec<u8>,
}

/// What outlives a daemon that is killed.
#[derive(Default)]
pub struct Host {
    log: Buffer,
    /// Where each record of the log ends.
    ends: Vec<usize>,
    /// The number of records that a failure of the host leaves.
    synced_records: usize,
    data: BTreeMap<FileId, Data>,
}

/// A file of the store in the cache.
#[derive(Debug)]
struct Entry {
    inode: u64,
    born: u64,
    path: Vec<u8>,
    is_logged: bool,
    is_removed: bool,
    /// The unstored bytes that were synced in the cache.
    synced: Vec<Range<u64>>,
}

/// Bytes that are being read from the store.
struct Reading {
    file: FileId,
    fetch: Fetch,
    data: Vec<u8>,
}

/// A daemon.
pub struct Daemon {
    pub cache: Cache,
    pub store: Store,
    host: Host,
    entries: BTreeMap<FileId, Entry>,
    by_inode: BTreeMap<u64, FileId>,
    running: Vec<(Work, Vec<u8>)>,
    reading: Vec<Reading>,
    /// The operations on the store that have not ended.
    operations: BTreeMap<u64, Operation>,
    next_operation: u64,
    has_synced: bool,
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

/// An operation on the store, as the log has it.
#[derive(Clone, Debug)]
enum Operation {
    Cut { file: u64, size: u64 },
    Rename { from: Vec<u8>, to: Vec<u8> },
    Remove { file: u64 },
}

impl Operation {
    /// Returns the record that the operation begins.
    fn record(&self, operation: u64) -> Record<'_> {
        match self {
            Self::Cut { file, size } => Record::Cut {
                operation,
                file: *file,
                size: *size,
            },
            Self::Rename { from, to } => Record::Rename {
                operation,
                export: 0,
                from,
                to,
            },
            Self::Remove { file } => Record::Remove {
                operation,
                file: *file,
            },
        }
    }
}

impl Daemon {
    /// Starts a daemon with what the last one has left in its host. After a failure of the host, `loss` is the number of
    /// records that are there beyond the synced ones, and a bit for each position whose bytes are, synced or not.
    pub fn start(
        mut store: Store,
        mut host: Host,
        now: Duration,
        loss: Option<(usize, u64)>,
    ) -> Self {
        let numbers: Vec<_> = store.inodes.keys().copied().collect();
        numbers.iter().for_each(|number| store.release(*number));
        let mut log = host.log.bytes().to_vec();
        if let Some((records, mask)) = loss {
            let more = host.ends.len() - host.synced_records;
            let kept = host.synced_records + records % (more + 1);
            let end = kept.checked_sub(1).map_or(0, |last| host.ends[last]);
            // Some bytes of the next record may be there as well.
            log.truncate(end + 5);
            for data in host.data.values_mut() {
                for (at, byte) in data.bytes.iter_mut().enumerate() {
                    if mask >> (at % 64) & 1 == 0 {
                        *byte = data.on_disk.get(at).copied().unwrap_or(0);
                    }
                }
                data.on_disk.clone_from(&data.bytes);
            }
        }
        let (replay, damage) = Replay::read(&log);
        assert!(loss.is_some() || damage.is_none(), "{damage:?}");
        let mut daemon = Self {
            cache: Cache::new(SETTINGS),
            store,
            host,
            entries: BTreeMap::new(),
            by_inode: BTreeMap::new(),
            running: Vec::new(),
            reading: Vec::new(),
            operations: BTreeMap::new(),
            next_operation: 0,
            has_synced: false,
            now,
            fuse: None,
            is_dead: false,
            keys: Vec::new(),
            ended: Vec::new(),
            removed: Vec::new(),
        };
        daemon.recover(&replay, loss.is_some());
        daemon
    }

    /// Takes what outlives the daemon.
    pub fn take(&mut self) -> (Store, Host, Duration) {
        let (store, host) = (&mut self.store, &mut self.host);
        (std::mem::take(store), std::mem::take(host), self.now)
    }

    /// Adds the files that the log of the last daemon has, and begins a new log.
    fn recover(&mut self, replay: &Replay, is_lost: bool) {
        for (number, left) in &replay.files {
            let id = FileId(*number);
            let mut synced = left.synced();
            let mut unstored = if is_lost {
                synced.clone()
            } else {
                left.unstored()
            };
            let is_here = |path: &&Vec<u8>| {
                let inode = self.store.names.get(*path).filter(|at| **at == left.inode);
                inode.is_some_and(|at| (self.store.inodes[at].born, 0) == left.born)
            };
            let Some(path) = left.paths.iter().find(is_here) else {
                assert!(
                    left.is_removed || unstored.is_empty(),
                    "{left:?} has no name"
                );
                continue;
            };
            let inode = self.store.inodes.get_mut(&left.inode).unwrap();
            if let Some(size) = left.cut {
                // The store has cut the file or not: now it has.
                inode.data.resize(size as usize, 0);
                inode.synced.resize(size as usize, 0);
                unstored = without(unstored, &(size..u64::MAX));
                synced = without(synced, &(size..u64::MAX));
            }
            let Some(last) = unstored.last() else {
                continue;
            };
            let size = last.end.max(inode.data.len() as u64);
            self.cache.recover(self.now, id, size, &unstored);
            if left.inode % 3 == 2 {
                self.cache.store_whole(id);
            }
            let entry = Entry {
                inode: left.inode,
                born: left.born.0,
                path: path.clone(),
                is_logged: true,
                is_removed: false,
                synced,
            };
            self.has_synced |= !entry.synced.is_empty();
            self.entries.insert(id, entry);
            self.by_inode.insert(left.inode, id);
        }
        let entries = &self.entries;
        self.host.data.retain(|id, _| entries.contains_key(id));
        for (id, data) in &mut self.host.data {
            // What is not unstored is forgotten.
            let kept = self.cache.unstored_ranges(*id);
            for (at, byte) in data.bytes.iter_mut().enumerate() {
                if !kept.iter().any(|range| range.contains(&(at as u64))) {
                    *byte = 0xee;
                }
            }
        }
        self.rewrite_log();
    }

    /// Begins a new log with what the old one says, as far as it still matters.
    pub fn rewrite_log(&mut self) {
        self.host.log.clear();
        self.host.ends.clear();
        let (version, boot, export, path) = (1, b"boot", 0, b"/e");
        self.record(Record::Begin { version, boot });
        self.record(Record::Export { export, path });
        let logged = self.entries.iter().filter(|(_, entry)| entry.is_logged);
        let ids: Vec<_> = logged.map(|(id, _)| *id).collect();
        for id in ids {
            self.describe(id);
        }
        for (number, operation) in self.operations.clone() {
            self.record(operation.record(number));
        }
        // It is synced before it replaces the old one.
        self.host.synced_records = self.host.ends.len();
    }

    /// Records what is unstored of a file, first what of it is synced in the cache.
    fn describe(&mut self, id: FileId) {
        let file = id.0;
        let entry = self.entries.get_mut(&id).unwrap();
        entry.is_logged = false;
        let synced = entry.synced.clone();
        let unstored = self.cache.unstored_ranges(id);
        let common = unstored.iter().flat_map(|one| {
            let parts = synced
                .iter()
                .map(|other| one.start.max(other.start)..one.end.min(other.end));
            parts.filter(|range| !range.is_empty())
        });
        let common: Vec<_> = common.collect();
        self.record_of(id, None);
        for Range { start, end } in &common {
            let (start, end) = (*start, *end);
            self.record(Record::Wrote { file, start, end });
        }
        if !common.is_empty() {
            let records = self.host.ends.len() as u64;
            self.record(Record::Synced { file, records });
        }
        for Range { start, end } in common.iter().fold(unstored, without) {
            self.record(Record::Wrote { file, start, end });
        }
    }

    /// Goes on, unless the daemon is killed here.
    fn point(&mut self) -> Result<()> {
        if let Some(left) = &mut self.fuse {
            self.is_dead |= *left == 0;
            *left = left.saturating_sub(1);
        }
        if self.is_dead { Err(Errno::IO) } else { Ok(()) }
    }

    /// Appends a record to the log.
    fn record(&mut self, record: Record<'_>) {
        record.append(&mut self.host.log);
        self.host.ends.push(self.host.log.len());
    }

    /// Appends a record of a file, first that it is in the cache.
    fn record_of(&mut self, id: FileId, record: Option<Record<'_>>) {
        let entry = self.entries.get_mut(&id).unwrap();
        if entry.is_removed {
            return;
        }
        if !std::mem::replace(&mut entry.is_logged, true) {
            let (inode, born_s, path) = (entry.inode, entry.born, entry.path.clone());
            self.record(Record::Add {
                file: id.0,
                export: 0,
                inode,
                born_s,
                born_ns: 0,
                path: &path,
            });
        }
        if let Some(record) = record {
            self.record(record);
        }
    }

    /// Leaves a file out of the log from now on.
    fn unrecord(&mut self, id: FileId) {
        let entry = self.entries.get_mut(&id);
        if let Some(entry) = entry.filter(|entry| entry.is_logged) {
            entry.is_logged = false;
            entry.synced.clear();
            self.record(Record::Forget { file: id.0 });
        }
    }

    /// Syncs the log, if a failure of the host leaves data that it is about.
    fn sync_log(&mut self) {
        if self.has_synced {
            self.host.synced_records = self.host.ends.len();
        }
    }

    /// Begins an operation on the store. One on a file that the log does not have needs no record, but the log must
    /// not say any more that the file is unstored.
    fn begin(&mut self, operation: Operation) -> Option<u64> {
        let is_logged = match &operation {
            Operation::Rename { .. } => true,
            Operation::Cut { file, .. } | Operation::Remove { file } => {
                self.entries[&FileId(*file)].is_logged
            }
        };
        let number = is_logged.then_some(self.next_operation);
        if let Some(number) = number {
            self.next_operation += 1;
            self.record(operation.record(number));
            self.operations.insert(number, operation);
        }
        self.sync_log();
        number
    }

    /// Ends an operation that the store has carried out.
    fn done(&mut self, operation: Option<u64>) {
        if let Some(operation) = operation {
            self.operations.remove(&operation);
            let is_done = 1;
            self.record(Record::Done { operation, is_done });
        }
    }

    /// Returns the number of the file with a name.
    pub fn find(&self, name: &[u8]) -> Result<u64> {
        if self.store.is_gone {
            return Err(Errno::IO);
        }
        self.store.names.get(name).copied().ok_or(Errno::NOENT)
    }

    /// Creates a file unless it exists.
    pub fn create(&mut self, name: &[u8]) -> Result<u64> {
        match self.find(name) {
            Err(Errno::NOENT) => {
                self.point()?;
                Ok(self.store.create(name))
            }
            other => other,
        }
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
            is_logged: false,
            is_removed: false,
            synced: Vec::new(),
        };
        let id = self.cache.add(of.data.len() as u64);
        if inode % 3 == 2 {
            self.cache.store_whole(id);
        }
        self.entries.insert(id, entry);
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
    fn tidy(&mut self, id: FileId) {
        let status = self.cache.status(id).filter(|status| !status.is_open);
        let (Some(status), Some(entry)) = (status, self.entries.get(&id)) else {
            return;
        };
        if entry.is_removed || status.bytes == 0 {
            let inode = entry.inode;
            self.unrecord(id);
            self.entries.remove(&id);
            if self.by_inode.get(&inode) == Some(&id) {
                self.by_inode.remove(&inode);
            }
            self.cache.forget(id);
            self.sync_log();
            self.host.data.remove(&id);
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
        put(
            &mut self.host.data.get_mut(&id).unwrap().bytes,
            offset,
            data,
        );
        self.point()?;
        let (start, end) = (offset, offset + count);
        let file = id.0;
        self.record_of(id, Some(Record::Wrote { file, start, end }));
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
            let cached = &mut self.host.data.get_mut(&file).unwrap().bytes;
            put(cached, part.start, &data[from..to]);
        }
    }

    /// Drops stored bytes.
    pub fn drop_stored(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        // A log that says that dropped bytes are unstored would have zeros stored.
        self.sync_log();
        let ids: Vec<_> = self.cache.least_used().collect();
        let mut left = bytes;
        for id in ids {
            for range in self.cache.drop_stored(id, left) {
                let zeros = vec![0; (range.end - range.start) as usize];
                left -= zeros.len() as u64;
                put(
                    &mut self.host.data.get_mut(&id).unwrap().bytes,
                    range.start,
                    &zeros,
                );
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
        if result.is_ok() {
            // Bytes may have been written over while they were drained.
            if self.has_synced && self.cache.unstored_of(id) > 0 {
                self.sync_in_cache(id);
            } else {
                self.sync_log();
            }
        }
        Some(result)
    }

    /// Syncs what is unstored of a file in the cache.
    pub fn sync_in_cache(&mut self, id: FileId) {
        let (file, writes) = (id.0, self.cache.writes(id));
        let records = self.host.ends.len() as u64;
        let data = self.host.data.get_mut(&id).unwrap();
        data.on_disk.clone_from(&data.bytes);
        let unstored = self.cache.unstored_ranges(id);
        let entry = self.entries.get_mut(&id).unwrap();
        if entry.is_logged {
            entry.synced = unstored;
            self.record(Record::Synced { file, records });
            self.has_synced = true;
            self.cache.synced(id, writes);
        }
        self.sync_log();
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
        for range in stored {
            let (file, Range { start, end }) = (id.0, range.clone());
            self.record_of(id, Some(Record::Stored { file, start, end }));
            let entry = self.entries.get_mut(&id).unwrap();
            entry.synced = without(std::mem::take(&mut entry.synced), &range);
        }
        if self.cache.unstored_of(id) == 0 {
            self.unrecord(id);
        }
        self.tidy(id);
    }

    /// Lets the tasks for a file end, and begins no other ones for it. Fails if the store does not answer.
    fn pause(&mut self, id: FileId) -> Result<()> {
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

    /// Ends a file at a size, in the store and in the cache.
    pub fn cut(&mut self, id: FileId, size: u64) -> Result<()> {
        if self.store.is_gone {
            return Err(Errno::IO);
        }
        self.pause(id)?;
        self.point()?;
        let (file, number) = (id.0, self.entries[&id].inode);
        let operation = self.begin(Operation::Cut { file, size });
        self.point()?;
        let inode = self.store.inodes.get_mut(&number).unwrap();
        inode.data.resize(size as usize, 0);
        inode.synced.resize(size as usize, 0);
        self.point()?;
        self.host
            .data
            .get_mut(&id)
            .unwrap()
            .bytes
            .resize(size as usize, 0);
        self.cache.cut(id, size);
        let entry = self.entries.get_mut(&id).unwrap();
        entry.synced = without(std::mem::take(&mut entry.synced), &(size..u64::MAX));
        self.done(operation);
        self.cache.resume(id);
        if self.cache.unstored_of(id) == 0 {
            self.unrecord(id);
        }
        Ok(())
    }

    /// Drops what is not stored of a file.
    pub fn abandon(&mut self, id: FileId) {
        if self.pause(id).is_err() {
            return;
        }
        let number = self.entries[&id].inode;
        let inode = self.store.inodes.get_mut(&number).unwrap();
        inode.synced.clone_from(&inode.data);
        let size = inode.data.len() as u64;
        self.cache.abandon(id, size);
        assert_eq!(self.cache.unstored_of(id), 0);
        self.unrecord(id);
        self.sync_log();
        self.host.data.get_mut(&id).unwrap().bytes.clear();
        self.cache.resume(id);
        self.tidy(id);
    }

    /// Begins to remove the last name of a file.
    fn begin_removal(&mut self, inode: u64) -> Option<u64> {
        let id = *self.by_inode.get(&inode)?;
        self.begin(Operation::Remove { file: id.0 })
    }

    /// Records that a file has lost its last name.
    fn end_removal(&mut self, inode: u64, operation: Option<u64>) {
        let born = self.store.inodes[&inode].born;
        self.removed.push((inode, born));
        self.done(operation);
        match self.by_inode.remove(&inode) {
            Some(id) => {
                let entry = self.entries.get_mut(&id).unwrap();
                (entry.is_logged, entry.is_removed) = (false, true);
                self.tidy(id);
            }
            None => self.store.release(inode),
        }
    }

    /// Removes a file.
    pub fn remove(&mut self, name: &[u8]) -> Result<()> {
        let inode = self.find(name)?;
        self.point()?;
        let operation = self.begin_removal(inode);
        self.point()?;
        self.store.remove(name);
        self.point()?;
        self.end_removal(inode, operation);
        Ok(())
    }

    /// Renames a file, which replaces another one.
    pub fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<()> {
        let inode = self.find(from)?;
        if from == to {
            return Ok(());
        }
        let replaced = self.find(to).ok();
        self.point()?;
        let (old, new) = (from.to_vec(), to.to_vec());
        let operation = self.begin(Operation::Rename { from: old, to: new });
        let removal = replaced.and_then(|replaced| self.begin_removal(replaced));
        self.point()?;
        self.store.rename(from, to);
        self.point()?;
        if let Some(replaced) = replaced {
            self.end_removal(replaced, removal);
        }
        self.point()?;
        if let Some(id) = self.by_inode.get(&inode) {
            self.entries.get_mut(id).unwrap().path = to.to_vec();
        }
        self.done(operation);
        Ok(())
    }

    /// Returns a file in the cache.
    pub fn nth(&self, which: usize) -> Option<FileId> {
        let count = self.entries.len();
        let at = (count > 0).then(|| which % count)?;
        self.entries.keys().nth(at).copied()
    }
}

/// Returns ranges without those bytes that are in `other`.
fn without(ranges: Vec<Range<u64>>, other: &Range<u64>) -> Vec<Range<u64>> {
    let parts = ranges.into_iter().flat_map(|range| {
        let before = range.start..range.end.min(other.start);
        let after = range.start.max(other.end)..range.end;
        [before, after]
    });
    parts.filter(|range| !range.is_empty()).collect()
}
