//! The cache against a store of plain bytes: whatever clients, the store and failures do, every byte that a
//! client reads is the last one written, and what is reported as stored is in the store.

use isthmus_forward::Buffer;
use isthmus_forward::Errno;
use isthmus_forward::cache::log::{Record, Replay};
use isthmus_forward::cache::{Cache, FileId, Goal, Settings, Task, Work};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// Maximum size of a file in bytes.
const BYTES: u64 = 64;

const SETTINGS: Settings = Settings {
    bytes: 100,
    dirty_bytes: 60,
    dirty_age: Duration::from_secs(5),
    part_bytes: 8,
    tasks: 3,
};

/// A file: what the client has written, what the store holds and has synced, and what lies in the cache.
#[derive(Clone, Default)]
struct Bytes {
    written: Vec<u8>,
    in_store: Vec<u8>,
    synced: Vec<u8>,
    in_cache: Vec<u8>,
    /// What of the cache survives a failure of the host.
    on_disk: Vec<u8>,
    /// What the file was after each change, with the number of the change.
    history: Vec<(u64, Vec<u8>)>,
    /// What the file was when a client last got the answer that it is safe, and after how many changes.
    /// After a failure of the host, each byte is that or a later one.
    acknowledged: (u64, Vec<u8>),
    is_open: bool,
}

impl Bytes {
    /// Records that the client knows that the file is safe as it was after `changes` changes.
    fn acknowledge(&mut self, changes: u64, content: Vec<u8>) {
        if changes >= self.acknowledged.0 {
            self.acknowledged = (changes, content);
        }
    }

    /// Records that the client has changed the file.
    fn changed(&mut self, changes: u64) {
        self.history.push((changes, self.written.clone()));
    }

    /// Checks that each byte is what it was after `changes` changes, when the file was `content`, or later.
    fn check(&self, found: &[u8], changes: u64, content: &[u8]) {
        let value = |of: &[u8], at: usize| of.get(at).copied().unwrap_or(0);
        for at in 0..found.len().max(content.len()) {
            let found = value(found, at);
            let later = self.history.iter().filter(|(number, _)| *number > changes);
            let mut later = later.map(|(_, content)| value(content, at));
            assert!(
                found == value(content, at) || later.any(|later| later == found),
                "byte {at} is {found}, and was {}",
                value(content, at)
            );
        }
    }
}

/// A cache, its log and the bytes that it is for.
struct Rig {
    cache: Cache,
    log: Buffer,
    /// Where each record ends.
    ends: Vec<usize>,
    /// The number of records that survive a failure of the host.
    synced_records: usize,
    has_synced: bool,
    logged: BTreeMap<FileId, bool>,
    files: BTreeMap<FileId, Bytes>,
    running: Vec<(Work, Vec<u8>)>,
    goals: Vec<(FileId, Goal, Vec<u8>, u64)>,
    changes: u64,
    now: Duration,
}

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    Write {
        file: usize,
        start: u64,
        bytes: u64,
        value: u8,
    },
    Read {
        file: usize,
        start: u64,
        bytes: u64,
    },
    Cut {
        file: usize,
        size: u64,
    },
    Open {
        file: usize,
    },
    Close {
        file: usize,
    },
    Want {
        file: usize,
    },
    Begin,
    End {
        which: usize,
        is_ok: bool,
    },
    /// A task is not carried out.
    Postpone {
        which: usize,
    },
    Wait {
        ms: u64,
    },
    Drop {
        bytes: u64,
    },
    SyncInCache {
        file: usize,
    },
    Abandon {
        file: usize,
    },
    Kill,
    /// The host fails: of the log, some records after the synced ones are there, and of data that was
    /// not synced, the bytes whose position has a bit in the mask.
    Lose {
        records: usize,
        mask: u64,
    },
}

/// Returns an arbitrary step.
fn steps() -> impl Strategy<Value = Step> {
    let file = 0..3usize;
    prop_oneof![
        6 => (file.clone(), 0..BYTES, 1..20u64, any::<u8>())
            .prop_map(|(file, start, bytes, value)| Step::Write { file, start, bytes, value }),
        4 => (file.clone(), 0..BYTES, 1..30u64)
            .prop_map(|(file, start, bytes)| Step::Read { file, start, bytes }),
        1 => (file.clone(), 0..BYTES).prop_map(|(file, size)| Step::Cut { file, size }),
        1 => file.clone().prop_map(|file| Step::Open { file }),
        2 => file.clone().prop_map(|file| Step::Close { file }),
        2 => file.prop_map(|file| Step::Want { file }),
        6 => Just(Step::Begin),
        6 => (any::<usize>(), prop::bool::weighted(0.8))
            .prop_map(|(which, is_ok)| Step::End { which, is_ok }),
        1 => any::<usize>().prop_map(|which| Step::Postpone { which }),
        2 => (1..7000u64).prop_map(|ms| Step::Wait { ms }),
        1 => (1..100u64).prop_map(|bytes| Step::Drop { bytes }),
        2 => (0..3usize).prop_map(|file| Step::SyncInCache { file }),
        1 => (0..3usize).prop_map(|file| Step::Abandon { file }),
        1 => Just(Step::Kill),
        1 => (any::<usize>(), any::<u64>())
            .prop_map(|(records, mask)| Step::Lose { records, mask }),
    ]
}

/// Returns bytes of a list, zero after its end.
fn slice(of: &[u8], range: &Range<u64>) -> Vec<u8> {
    range
        .clone()
        .map(|at| of.get(at as usize).copied().unwrap_or(0))
        .collect()
}

/// Writes bytes to a list, which grows.
fn put(into: &mut Vec<u8>, start: u64, bytes: &[u8]) {
    let end = start as usize + bytes.len();
    into.resize(into.len().max(end), 0);
    into[start as usize..end].copy_from_slice(bytes);
}

impl Rig {
    fn new() -> Self {
        let mut rig = Self {
            cache: Cache::new(SETTINGS),
            log: Buffer::new(),
            ends: Vec::new(),
            synced_records: 0,
            has_synced: false,
            changes: 0,
            logged: BTreeMap::new(),
            files: BTreeMap::new(),
            running: Vec::new(),
            goals: Vec::new(),
            now: Duration::ZERO,
        };
        rig.begin_log();
        for at in 0..3u8 {
            let stored: Vec<u8> = (0..20 * at).collect();
            let id = rig.cache.add(stored.len() as u64);
            if at == 2 {
                rig.cache.store_whole(id);
            }
            let bytes = Bytes {
                written: stored.clone(),
                in_store: stored.clone(),
                synced: stored.clone(),
                acknowledged: (0, stored),
                is_open: true,
                ..Bytes::default()
            };
            rig.files.insert(id, bytes);
        }
        rig
    }

    /// Appends a record to the log.
    fn record(&mut self, record: Record<'_>) {
        record.append(&mut self.log);
        self.ends.push(self.log.len());
    }

    fn begin_log(&mut self) {
        self.log.clear();
        self.ends.clear();
        self.has_synced = false;
        self.record(Record::Begin {
            version: 1,
            boot: b"boot",
        });
        self.record(Record::Export {
            export: 0,
            path: b"/e",
        });
        self.synced_records = self.ends.len();
    }

    /// Appends a record of a file, first that it is there.
    fn record_of(&mut self, id: FileId, record: Record<'_>) {
        if !std::mem::replace(self.logged.entry(id).or_default(), true) {
            let (file, export, inode) = (id.0, 0, id.0 + 100);
            let path = b"path";
            self.record(Record::Add {
                file,
                export,
                inode,
                born_s: 1,
                born_ns: 2,
                path,
            });
        }
        self.record(record);
    }

    fn id(&self, file: usize) -> FileId {
        *self.files.keys().nth(file).unwrap()
    }

    /// Carries out a step.
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Write {
                file,
                start,
                bytes,
                value,
            } => self.write(file, start..start + bytes, value),
            Step::Read { file, start, bytes } => self.read(file, &(start..start + bytes)),
            Step::Cut { file, size } => self.cut(file, size),
            Step::Open { file } => {
                let id = self.id(file);
                if !std::mem::replace(&mut self.files.get_mut(&id).unwrap().is_open, true) {
                    self.cache.open(id);
                }
            }
            Step::Close { file } => {
                let id = self.id(file);
                if std::mem::take(&mut self.files.get_mut(&id).unwrap().is_open) {
                    self.cache.close(self.now, id);
                }
            }
            Step::Want { file } => {
                let id = self.id(file);
                let goal = self.cache.want(self.now, id);
                let written = self.files[&id].written.clone();
                self.goals.push((id, goal, written, self.changes));
            }
            Step::Begin => {
                if let Some(work) = self.cache.next(self.now) {
                    let bytes = match &work.task {
                        Task::Drain(range) => slice(&self.files[&work.file].in_cache, range),
                        Task::Sync => self.files[&work.file].in_store.clone(),
                    };
                    self.running.push((work, bytes));
                    assert!(self.running.len() <= SETTINGS.tasks);
                }
            }
            Step::End { which, is_ok } => {
                if !self.running.is_empty() {
                    self.end(which % self.running.len(), is_ok);
                }
            }
            Step::Postpone { which } => {
                if !self.running.is_empty() {
                    let (work, _) = self.running.remove(which % self.running.len());
                    self.cache.postpone(work.ticket);
                }
            }
            Step::Wait { ms } => self.now += Duration::from_millis(ms),
            Step::Drop { bytes } => {
                // A log that says that dropped bytes are unstored would have zeros stored.
                self.sync_log();
                let ids: Vec<_> = self.cache.least_used().collect();
                for id in ids {
                    for range in self.cache.drop_stored(id, bytes) {
                        let zeros = vec![0; (range.end - range.start) as usize];
                        put(
                            &mut self.files.get_mut(&id).unwrap().in_cache,
                            range.start,
                            &zeros,
                        );
                    }
                }
            }
            Step::SyncInCache { file } => self.sync_in_cache(self.id(file)),
            Step::Abandon { file } => self.abandon(self.id(file)),
            Step::Kill => {
                let (replay, damage) = Replay::read(self.log.bytes());
                assert_eq!(damage, None);
                self.restart(&replay, false);
            }
            Step::Lose { records, mask } => self.lose(records, mask),
        }
    }

    fn write(&mut self, file: usize, range: Range<u64>, value: u8) {
        let id = self.id(file);
        let count = range.end - range.start;
        if !self.cache.admit(count) {
            assert!(self.cache.unstored() + count > SETTINGS.dirty_bytes);
            return;
        }
        let data: Vec<u8> = (0..count).map(|at| value.wrapping_add(at as u8)).collect();
        let bytes = self.files.get_mut(&id).unwrap();
        put(&mut bytes.in_cache, range.start, &data);
        put(&mut bytes.written, range.start, &data);
        self.changes += 1;
        bytes.changed(self.changes);
        let (start, end) = (range.start, range.end);
        self.record_of(
            id,
            Record::Wrote {
                file: id.0,
                start,
                end,
            },
        );
        self.cache.wrote(self.now, id, range);
        self.cache.release(count);
        assert!(self.cache.unstored() <= SETTINGS.dirty_bytes.max(count));
    }

    /// Reads bytes as a client does: what is missing is fetched from the store first.
    fn read(&mut self, file: usize, range: &Range<u64>) {
        let id = self.id(file);
        if !self.cache.is_present(id, range) {
            assert!(
                !self.cache.is_fetching(id, range),
                "each fetch ends within its step"
            );
            for fetch in self.cache.fetch(id, range) {
                let data = slice(&self.files[&id].in_store, &fetch.range);
                for part in self.cache.fetched(id, &fetch) {
                    let from = (part.start - fetch.range.start) as usize;
                    let to = (part.end - fetch.range.start) as usize;
                    put(
                        &mut self.files.get_mut(&id).unwrap().in_cache,
                        part.start,
                        &data[from..to],
                    );
                }
            }
            assert!(self.cache.is_present(id, range));
        }
        let bytes = &self.files[&id];
        let end = range.end.min(bytes.written.len() as u64);
        let known = range.start.min(end)..end;
        assert_eq!(
            slice(&bytes.in_cache, &known),
            slice(&bytes.written, &known)
        );
        assert_eq!(self.cache.size(id), bytes.written.len() as u64);
    }

    fn cut(&mut self, file: usize, size: u64) {
        let id = self.id(file);
        self.cache.pause(id);
        while let Some(at) = self.running.iter().position(|(work, _)| work.file == id) {
            self.end(at, true);
        }
        assert!(self.cache.is_idle(id));
        let (operation, file) = (self.ends.len() as u64, id.0);
        self.record_of(
            id,
            Record::Cut {
                operation,
                file,
                size,
            },
        );
        self.sync_log();
        let bytes = self.files.get_mut(&id).unwrap();
        for content in [
            &mut bytes.written,
            &mut bytes.in_store,
            &mut bytes.synced,
            &mut bytes.in_cache,
        ] {
            content.resize(size as usize, 0);
        }
        self.changes += 1;
        bytes.changed(self.changes);
        self.cache.cut(id, size);
        self.record(Record::Done {
            operation,
            is_done: 1,
        });
        self.cache.resume(id);
        // Goals of before refer to bytes that are gone.
        self.goals.retain(|(of, ..)| *of != id);
    }

    /// Drops what is not stored of a file. The store has synced what was written to it.
    fn abandon(&mut self, id: FileId) {
        self.cache.pause(id);
        while let Some(at) = self.running.iter().position(|(work, _)| work.file == id) {
            self.end(at, true);
        }
        let bytes = self.files.get_mut(&id).unwrap();
        self.cache.abandon(id, bytes.in_store.len() as u64);
        assert_eq!(self.cache.unstored_of(id), 0);
        bytes.synced = bytes.in_store.clone();
        bytes.written = bytes.in_store.clone();
        bytes.in_cache.clear();
        self.changes += 1;
        bytes.changed(self.changes);
        bytes.acknowledged = (self.changes, bytes.written.clone());
        if self.logged.insert(id, false) == Some(true) {
            self.record(Record::Forget { file: id.0 });
        }
        self.sync_log();
        self.cache.resume(id);
        for (of, goal, ..) in &self.goals {
            assert!(*of != id || self.cache.reached(id, *goal) == Some(Err(Errno::IO)));
        }
        self.check_goals();
    }

    /// Ends a task.
    fn end(&mut self, at: usize, is_ok: bool) {
        let (work, data) = self.running.remove(at);
        let id = work.file;
        let bytes = self.files.get_mut(&id).unwrap();
        match (&work.task, is_ok) {
            (Task::Drain(range), true) => put(&mut bytes.in_store, range.start, &data),
            // Some of it may be there.
            (Task::Drain(range), false) => {
                put(&mut bytes.in_store, range.start, &data[..data.len() / 2])
            }
            (Task::Sync, true) => bytes.synced = data,
            (Task::Sync, false) => {}
        }
        if !is_ok {
            // The store may lose all that it has not synced, and reports this once.
            bytes.in_store = bytes.synced.clone();
            let syncs = self.running.iter_mut();
            for (_, data) in syncs.filter(|(other, _)| other.file == id && other.task == Task::Sync)
            {
                *data = bytes.synced.clone();
            }
        }
        let result = if is_ok { Ok(()) } else { Err(Errno::IO) };
        let stored = self.cache.finish(self.now, work.ticket, result);
        for range in &stored {
            let bytes = &self.files[&id];
            let (synced, written) = (slice(&bytes.synced, range), slice(&bytes.written, range));
            assert_eq!(synced, written, "{range:?}");
        }
        let file = id.0;
        for Range { start, end } in stored {
            self.record_of(id, Record::Stored { file, start, end });
        }
        self.check_goals();
    }

    /// Syncs the log, if a failure of the host leaves data that it is about.
    fn sync_log(&mut self) {
        if self.has_synced {
            self.synced_records = self.ends.len();
        }
    }

    fn sync_in_cache(&mut self, id: FileId) {
        let records = self.ends.len() as u64;
        let bytes = self.files.get_mut(&id).unwrap();
        bytes.on_disk = bytes.in_cache.clone();
        let (content, changes) = (bytes.written.clone(), self.changes);
        if self.logged.get(&id) == Some(&true) {
            self.record(Record::Synced {
                file: id.0,
                records,
            });
            self.has_synced = true;
            self.sync_log();
            let bytes = self.files.get_mut(&id).unwrap();
            bytes.acknowledge(changes, content);
        }
    }

    /// Checks that a goal that is reached is true: each byte in the store is what it was when the client
    /// asked, or what was written later.
    fn check_goals(&mut self) {
        let goals = std::mem::take(&mut self.goals);
        for (id, goal, written, changes) in goals {
            match self.cache.reached(id, goal) {
                None => self.goals.push((id, goal, written, changes)),
                Some(Err(_)) => {}
                Some(Ok(())) => {
                    // Before the client gets the answer.
                    if self.has_synced && self.cache.unstored_of(id) > 0 {
                        self.sync_in_cache(id);
                    } else {
                        self.sync_log();
                    }
                    let bytes = self.files.get_mut(&id).unwrap();
                    bytes.check(&bytes.synced, changes, &written);
                    bytes.acknowledge(changes, written);
                }
            }
        }
    }

    /// Lets the host fail.
    fn lose(&mut self, records: usize, mask: u64) {
        let more = self.ends.len() - self.synced_records;
        let kept = self.synced_records + records % (more + 1);
        let end = self.ends[kept - 1];
        // Some bytes of the next record may be there as well.
        let torn = self.log.bytes()[end..].iter().take(5).copied();
        let log: Vec<u8> = self.log.bytes()[..end]
            .iter()
            .copied()
            .chain(torn)
            .collect();
        let (replay, _) = Replay::read(&log);
        for bytes in self.files.values_mut() {
            let on_disk = &bytes.on_disk;
            for (at, byte) in bytes.in_cache.iter_mut().enumerate() {
                if mask >> (at % 64) & 1 == 0 {
                    *byte = on_disk.get(at).copied().unwrap_or(0);
                }
            }
        }
        self.restart(&replay, true);
    }

    /// Starts another daemon with what the log says of the last one, and what was synced in the cache if the
    /// host has failed.
    fn restart(&mut self, replay: &Replay, is_lost: bool) {
        self.cache = Cache::new(SETTINGS);
        self.running.clear();
        self.goals.clear();
        self.logged.clear();
        self.begin_log();
        let ids: Vec<_> = self.files.keys().copied().collect();
        for id in ids {
            let left = replay.files.get(&id.0);
            let cut = left.and_then(|left| left.cut).unwrap_or(u64::MAX);
            let before_cut = |ranges: Vec<Range<u64>>| -> Vec<Range<u64>> {
                let ranges = ranges
                    .into_iter()
                    .map(|range| range.start..range.end.min(cut));
                ranges.filter(|range| !range.is_empty()).collect()
            };
            let synced = before_cut(left.map(|left| left.synced()).unwrap_or_default());
            let unstored = match is_lost {
                true => synced.clone(),
                false => before_cut(left.map(|left| left.unstored()).unwrap_or_default()),
            };
            let bytes = self.files.get_mut(&id).unwrap();
            // What was not synced in the store may be lost there, and is in the cache.
            bytes
                .synced
                .truncate(usize::try_from(cut).unwrap_or(usize::MAX));
            let mut kept = bytes.synced.clone();
            for range in &unstored {
                let data = slice(&bytes.in_cache, range);
                put(&mut kept, range.start, &data);
            }
            if is_lost {
                let (changes, content) = &bytes.acknowledged;
                bytes.check(&kept, *changes, content);
                bytes.written = kept;
                bytes.acknowledge(self.changes, bytes.written.clone());
            } else {
                kept.resize(kept.len().max(bytes.written.len()), 0);
                assert_eq!(kept, bytes.written, "{unstored:?}");
            }
            bytes.in_store = bytes.synced.clone();
            // Bytes in the cache that are not unstored are forgotten.
            let mut in_cache = vec![0xee; bytes.in_cache.len()];
            for range in &unstored {
                let data = slice(&bytes.in_cache, range);
                put(&mut in_cache, range.start, &data);
            }
            bytes.in_cache = in_cache;
            if is_lost {
                bytes.on_disk = bytes.in_cache.clone();
            }
            bytes.is_open = false;
            let size = bytes.written.len() as u64;
            self.cache.recover(self.now, id, size, &unstored);
            self.describe(id, &unstored, &synced);
        }
        // A new log is synced before it is used.
        self.synced_records = self.ends.len();
    }

    /// Says in a new log what is unstored, first what of it is synced.
    fn describe(&mut self, id: FileId, unstored: &[Range<u64>], synced: &[Range<u64>]) {
        let file = id.0;
        let is_synced = |at: &u64| synced.iter().any(|range| range.contains(at));
        let all = unstored.iter().cloned().flatten();
        let (first, rest): (Vec<u64>, Vec<u64>) = all.partition(is_synced);
        let wrote = |start| {
            let end = start + 1;
            Record::Wrote { file, start, end }
        };
        for at in first {
            self.record_of(id, wrote(at));
        }
        if self.logged.contains_key(&id) {
            let records = self.ends.len() as u64;
            self.record(Record::Synced { file, records });
            self.has_synced = true;
        }
        for at in rest {
            self.record_of(id, wrote(at));
        }
    }

    /// Lets the store work until everything is stored.
    fn finish(&mut self) {
        for id in self.files.keys().copied().collect::<Vec<_>>() {
            let _ = self.cache.want(self.now, id);
        }
        for _ in 0..10_000 {
            if self.cache.unstored() == 0 {
                break;
            }
            self.step(&Step::Begin);
            if !self.running.is_empty() {
                self.end(0, true);
            } else {
                let at = self.cache.wake_at().expect("something is left to do");
                self.now = self.now.max(at);
            }
        }
        assert_eq!(self.cache.unstored(), 0);
        for bytes in self.files.values() {
            let mut synced = bytes.synced.clone();
            synced.resize(bytes.written.len(), 0);
            assert_eq!(synced, bytes.written);
        }
    }
}

/// Checks that a store that takes data and then cannot sync it is asked less and less often, and shows no progress.
#[test]
fn a_store_that_takes_data_and_does_not_sync_it_makes_no_progress() {
    let mut cache = Cache::new(SETTINGS);
    let id = cache.add(0);
    let mut now = Duration::from_secs(1);
    cache.wrote(now, id, 0..24);
    cache.want(now, id);
    let (mut failures, mut progress) = (Vec::new(), None);
    while failures.len() < 8 {
        while let Some(work) = cache.next(now) {
            let result = match work.task {
                Task::Drain(_) => Ok(()),
                Task::Sync => Err(Errno::IO),
            };
            if result.is_err() {
                failures.push(now);
            }
            cache.finish(now, work.ticket, result);
        }
        assert!(*progress.get_or_insert(cache.progress()) == cache.progress());
        now = now.max(cache.wake_at().unwrap());
    }
    let waits = failures.windows(2).map(|pair| pair[1] - pair[0]);
    let seconds: Vec<_> = waits.map(|wait| wait.as_secs_f64()).collect();
    assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0]);
    while let Some(work) = cache.next(now) {
        cache.finish(now, work.ticket, Ok(()));
    }
    assert_eq!((cache.unstored(), cache.progress()), (0, now));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Checks reads, goals, bounds and the log in arbitrary orders of events.
    #[test]
    fn a_cache_keeps_every_byte(steps in prop::collection::vec(steps(), 1..120)) {
        let mut rig = Rig::new();
        for step in &steps {
            rig.step(step);
        }
        rig.finish();
    }
}
