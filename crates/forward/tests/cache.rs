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
    /// The values that each byte had since it was last synced in the store.
    since_synced: Vec<Vec<u8>>,
    is_open: bool,
}

/// A cache, its log and the bytes that it is for.
struct Rig {
    cache: Cache,
    log: Buffer,
    records: u64,
    logged: BTreeMap<FileId, bool>,
    files: BTreeMap<FileId, Bytes>,
    running: Vec<(Work, Vec<u8>)>,
    goals: Vec<(FileId, Goal, Vec<u8>)>,
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
    Wait {
        ms: u64,
    },
    Drop {
        bytes: u64,
    },
    Kill,
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
        2 => (1..7000u64).prop_map(|ms| Step::Wait { ms }),
        1 => (1..100u64).prop_map(|bytes| Step::Drop { bytes }),
        1 => Just(Step::Kill),
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
            records: 0,
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
            let bytes = Bytes {
                written: stored.clone(),
                in_store: stored.clone(),
                synced: stored,
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
        self.records += 1;
    }

    fn begin_log(&mut self) {
        self.log.clear();
        self.records = 0;
        self.record(Record::Begin {
            version: 1,
            boot: b"boot",
        });
        self.record(Record::Export {
            export: 0,
            path: b"/e",
        });
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
                self.goals.push((id, goal, written));
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
            Step::Wait { ms } => self.now += Duration::from_millis(ms),
            Step::Drop { bytes } => {
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
            Step::Kill => self.kill(),
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
        bytes.since_synced.push(bytes.written.clone());
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
        let (operation, file) = (self.records, id.0);
        self.record_of(
            id,
            Record::Cut {
                operation,
                file,
                size,
            },
        );
        let bytes = self.files.get_mut(&id).unwrap();
        for content in [
            &mut bytes.written,
            &mut bytes.in_store,
            &mut bytes.synced,
            &mut bytes.in_cache,
        ] {
            content.resize(size as usize, 0);
        }
        bytes.since_synced.push(bytes.written.clone());
        self.cache.cut(id, size);
        self.record(Record::Done {
            operation,
            is_done: 1,
        });
        self.cache.resume(id);
        // Goals of before refer to bytes that are gone.
        self.goals.retain(|(of, ..)| *of != id);
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
        let result = if is_ok { Ok(()) } else { Err(Errno::IO) };
        for range in self.cache.finish(self.now, work.ticket, result) {
            let bytes = &self.files[&id];
            let (start, end) = (range.start, range.end);
            assert_eq!(
                slice(&bytes.synced, &range),
                slice(&bytes.written, &range),
                "{range:?}"
            );
            self.record_of(
                id,
                Record::Stored {
                    file: id.0,
                    start,
                    end,
                },
            );
        }
        self.check_goals();
    }

    /// Checks that a goal that is reached is true: each byte in the store is what it was when the client
    /// asked, or what was written later.
    fn check_goals(&mut self) {
        let cache = &self.cache;
        let files = &self.files;
        self.goals
            .retain(|(id, goal, written)| match cache.reached(*id, *goal) {
                None => true,
                Some(Err(_)) => false,
                Some(Ok(())) => {
                    let bytes = &files[id];
                    for (at, value) in written.iter().enumerate() {
                        let found = bytes.synced.get(at).copied().unwrap_or(0);
                        let later = bytes.since_synced.iter();
                        let mut later = later.map(|all| all.get(at).copied().unwrap_or(0));
                        assert!(
                            found == *value || later.any(|other| other == found),
                            "byte {at}"
                        );
                    }
                    false
                }
            });
    }

    /// Kills the daemon, and starts another with what the log says.
    fn kill(&mut self) {
        let (replay, damage) = Replay::read(self.log.bytes());
        assert_eq!(damage, None);
        self.cache = Cache::new(SETTINGS);
        self.running.clear();
        self.goals.clear();
        self.logged.clear();
        self.begin_log();
        let ids: Vec<_> = self.files.keys().copied().collect();
        for id in ids {
            let unstored = replay.files.get(&id.0).map(|left| left.unstored());
            let unstored = unstored.unwrap_or_default();
            let bytes = self.files.get_mut(&id).unwrap();
            // What was not synced in the store may be lost there, and is in the cache.
            let mut kept = bytes.synced.clone();
            for range in &unstored {
                let data = slice(&bytes.in_cache, range);
                put(&mut kept, range.start, &data);
            }
            let size = bytes.written.len();
            kept.resize(kept.len().max(size), 0);
            assert_eq!(kept, bytes.written, "{unstored:?}");
            let end = unstored.last().map_or(0, |range| range.end);
            bytes.in_store = bytes.synced.clone();
            // Bytes in the cache that are not unstored are forgotten.
            let mut in_cache = vec![0xee; bytes.in_cache.len()];
            for range in &unstored {
                let data = slice(&bytes.in_cache, range);
                put(&mut in_cache, range.start, &data);
            }
            bytes.in_cache = in_cache;
            bytes.is_open = false;
            let size = end.max(bytes.in_store.len() as u64);
            self.cache.recover(self.now, id, size, &unstored);
            for Range { start, end } in unstored {
                self.record_of(
                    id,
                    Record::Wrote {
                        file: id.0,
                        start,
                        end,
                    },
                );
            }
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
