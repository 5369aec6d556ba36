//! What a daemon leaves to the next one, and how that one begins.

use super::daemon::{Daemon, Entry, SETTINGS};
use super::host::Host;
use super::store::Store;
use isthmus_forward::cache::journal::{Header, Journal, Log};
use isthmus_forward::cache::log::{Left, Replay};
use isthmus_forward::cache::{Cache, FileId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

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
        let mut log = host.log.0.borrow().bytes.clone();
        if let Some((records, mask)) = loss {
            let file = host.log.0.borrow();
            let more = file.ends.len() - file.synced_records;
            let kept = file.synced_records + records % (more + 1);
            let end = kept.checked_sub(1).map_or(0, |last| file.ends[last]);
            // Some bytes of the next record may be there as well.
            log.truncate(end + 5);
            host.data.values_mut().for_each(|data| data.lose(mask));
        }
        let (replay, damage) = Replay::read(&log);
        assert!(loss.is_some() || damage.is_none(), "{damage:?}");
        let mut cache = Cache::new(SETTINGS);
        let left = recover(&mut cache, &mut store, now, &replay, loss.is_some());
        host.data
            .retain(|id, _| left.iter().any(|left| left.id == *id));
        for (id, data) in &mut host.data {
            // What is not unstored is forgotten.
            let kept = cache.unstored_ranges(*id);
            for at in 0..data.bytes.len() {
                if !kept.iter().any(|range| range.contains(&(at as u64))) {
                    data.write(at as u64, &[0xee]);
                }
            }
        }
        let logged = left
            .iter()
            .map(|left| (left.id, left.synced.clone(), left.has_sync_failed));
        let entries = left.iter().map(|left| (left.id, left.entry.clone()));
        let entries: BTreeMap<_, _> = entries.collect();
        let by_inode = entries.iter().map(|(id, entry)| (entry.inode, *id));
        let by_inode = by_inode.collect();
        let describe = |id| (entries[&id].describe(), cache.unstored_ranges(id));
        let journal = Journal::start(&header(), logged, describe, |records| {
            let mut log = host.log.clone();
            log.0.borrow_mut().is_full = false;
            log.replace(records).map(|()| log)
        });
        Self {
            journal: journal.expect("there is room for the log"),
            cache,
            store,
            host,
            entries,
            by_inode,
            running: Vec::new(),
            reading: Vec::new(),
            syncs: Vec::new(),
            now,
            fuse: None,
            is_dead: false,
            keys: Vec::new(),
            ended: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Takes what outlives the daemon.
    pub fn take(&mut self) -> (Store, Host, Duration) {
        let (store, host) = (&mut self.store, &mut self.host);
        (std::mem::take(store), std::mem::take(host), self.now)
    }
}

/// Returns the first records of a log.
pub fn header() -> Header {
    Header {
        boot: b"boot".to_vec(),
        exports: vec![b"/e".to_vec()],
    }
}

/// A file that the last daemon has left.
struct Found {
    id: FileId,
    entry: Entry,
    synced: Vec<Range<u64>>,
    has_sync_failed: bool,
}

/// Adds the files that the log of the last daemon has to the cache.
fn recover(
    cache: &mut Cache,
    store: &mut Store,
    now: Duration,
    replay: &Replay,
    is_lost: bool,
) -> Vec<Found> {
    let mut all = Vec::new();
    for (number, left) in &replay.files {
        let (id, mut left) = (FileId(*number), left.clone());
        let kept_of = |left: &Left| {
            if is_lost {
                left.synced()
            } else {
                left.unstored()
            }
        };
        let is_here = |path: &&Vec<u8>| {
            let inode = store.names.get(*path).filter(|at| **at == left.inode);
            inode.is_some_and(|at| (store.inodes[at].born, 0) == left.born)
        };
        let Some(path) = left.paths.iter().find(is_here).cloned() else {
            assert!(
                left.is_removed || kept_of(&left).is_empty(),
                "{left:?} has no name"
            );
            continue;
        };
        let inode = store.inodes.get_mut(&left.inode).unwrap();
        if let Some(size) = left.cut {
            // The store has cut the file or not: now it has.
            inode.data.resize(size as usize, 0);
            inode.synced.resize(size as usize, 0);
            left.truncate(size);
        }
        let unstored = kept_of(&left);
        let Some(last) = unstored.last() else {
            continue;
        };
        let size = last.end.max(inode.data.len() as u64);
        cache.recover(now, id, size, &unstored);
        if left.inode % 3 == 2 {
            cache.store_whole(id);
        }
        let entry = Entry {
            inode: left.inode,
            born: left.born.0,
            path,
        };
        all.push(Found {
            id,
            entry,
            synced: left.synced(),
            has_sync_failed: left.has_sync_failed && !is_lost,
        });
    }
    all
}
