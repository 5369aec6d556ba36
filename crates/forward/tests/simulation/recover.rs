//! What a daemon leaves to the next one, and how that one begins.

use super::daemon::{Daemon, Entry, SETTINGS};
use super::store::Store;
use isthmus_forward::Buffer;
use isthmus_forward::cache::log::{Record, Replay};
use isthmus_forward::cache::{Cache, FileId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// Data of a file in the cache.
#[derive(Debug, Default)]
pub struct Data {
    pub bytes: Vec<u8>,
    /// What a failure of the host leaves of them.
    pub on_disk: Vec<u8>,
}

/// What outlives a daemon that is killed.
#[derive(Default)]
pub struct Host {
    pub log: Buffer,
    /// Where each record of the log ends.
    pub ends: Vec<usize>,
    /// The number of records that a failure of the host leaves.
    pub synced_records: usize,
    pub data: BTreeMap<FileId, Data>,
}

impl Daemon {
    /// Starts a daemon with the data that the last one has left in its host. After a failure of the host, `loss` is the
    /// number of records that it leaves beyond the synced ones, and a bit for each position whose bytes it leaves,
    /// synced or not.
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
}

/// Returns ranges without those bytes that are in `other`.
pub fn without(ranges: Vec<Range<u64>>, other: &Range<u64>) -> Vec<Range<u64>> {
    let parts = ranges.into_iter().flat_map(|range| {
        let before = range.start..range.end.min(other.start);
        let after = range.start.max(other.end)..range.end;
        [before, after]
    });
    parts.filter(|range| !range.is_empty()).collect()
}
