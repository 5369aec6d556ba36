//! What clients may find in a file: the size and the value of each byte that were acknowledged last, or those that may have been
//! written since.

use std::collections::BTreeSet;
use std::ops::Range;

/// Number of bytes of a file that are checked. No write goes beyond.
pub const BYTES: usize = 96;

/// What a byte or the size of a file may be.
#[derive(Clone, Debug)]
struct Known<T> {
    /// What a client reads: more than one value after a write whose result is unknown.
    now: BTreeSet<T>,
    /// What it may be after a failure of the host.
    safe: BTreeSet<T>,
    /// The values that it may have had, each with the number of the change.
    changes: Vec<(u64, T)>,
}

impl<T: Copy + Ord> Known<T> {
    /// Returns what is known of a value.
    fn new(value: T) -> Self {
        Self {
            now: BTreeSet::from([value]),
            safe: BTreeSet::from([value]),
            changes: Vec::new(),
        }
    }

    /// Adds what it may become by a change.
    fn begin(&mut self, change: u64, value: T) {
        self.now.insert(value);
        self.safe.insert(value);
        self.changes.push((change, value));
    }

    /// Returns these values and those of later changes.
    fn since(&self, change: u64, mut values: BTreeSet<T>) -> BTreeSet<T> {
        let later = self.changes.iter().filter(|(number, _)| *number > change);
        values.extend(later.map(|(_, value)| *value));
        values
    }
}

/// A file.
#[derive(Clone, Debug)]
pub struct Model {
    bytes: Vec<Known<u8>>,
    size: Known<usize>,
    /// The writes whose results are unknown: the number of the change and the end.
    writes: Vec<(u64, usize)>,
}

/// What the bytes and the size of a file may be, and the number of changes until then.
#[derive(Debug)]
pub struct Snapshot {
    values: Vec<BTreeSet<u8>>,
    sizes: BTreeSet<usize>,
    changes: u64,
}

/// Returns whether a size is between the least and the largest of these: a part of a write may be stored.
fn is_within(size: usize, sizes: &BTreeSet<usize>) -> bool {
    sizes.first().is_some_and(|least| *least <= size)
        && sizes.last().is_some_and(|most| size <= *most)
}

impl Default for Model {
    /// Returns an empty file.
    fn default() -> Self {
        Self {
            bytes: vec![Known::new(0); BYTES],
            size: Known::new(0),
            writes: Vec::new(),
        }
    }
}

impl Model {
    /// Records that a write begins. `value` returns what each byte becomes.
    pub fn begin_write(&mut self, change: u64, at: Range<usize>, value: impl Fn(usize) -> u8) {
        for size in self.size.now.clone() {
            self.size.begin(change, size.max(at.end));
        }
        self.writes.push((change, at.end));
        for at in at {
            self.bytes[at].begin(change, value(at));
        }
    }

    /// Records that the write with this number is acknowledged.
    pub fn end_write(&mut self, change: u64, at: Range<usize>, value: impl Fn(usize) -> u8) {
        self.writes.retain(|(number, _)| *number != change);
        let sizes = self.size.now.iter().filter(|size| **size >= at.end);
        self.size.now = self.size.since(change, sizes.copied().collect());
        for at in at {
            let (byte, value) = (&mut self.bytes[at], value(at));
            byte.now = byte.since(change, BTreeSet::from([value]));
        }
    }

    /// Records that the file is about to end at a size.
    pub fn begin_cut(&mut self, change: u64, size: usize) {
        self.size.begin(change, size);
        for byte in &mut self.bytes[size..] {
            byte.begin(change, 0);
        }
    }

    /// Records that the cut with this number is acknowledged. A failure of the host cannot undo it.
    pub fn end_cut(&mut self, change: u64, size: usize) {
        let cut = &mut self.size;
        cut.now = cut.since(change, BTreeSet::from([size]));
        cut.safe.clone_from(&cut.now);
        for byte in &mut self.bytes[size..] {
            byte.now = byte.since(change, BTreeSet::from([0]));
            byte.safe.clone_from(&byte.now);
        }
    }

    /// Checks the bytes that a client has read from `start`, of up to `count`, and remembers them. It has asked after this
    /// number of changes.
    pub fn read(&mut self, changes: u64, start: usize, count: usize, data: &[u8]) {
        let is_right = |size: &&usize| size.saturating_sub(start).min(count) == data.len();
        let sizes: BTreeSet<_> = self.size.now.iter().filter(is_right).copied().collect();
        assert!(
            !sizes.is_empty(),
            "{} bytes at {start}: {:?}",
            data.len(),
            self.size
        );
        self.size.now = self.size.since(changes, sizes);
        for (at, value) in (start..).zip(data) {
            let byte = &mut self.bytes[at];
            assert!(byte.now.contains(value), "byte {at} is {value}: {byte:?}");
            byte.now = byte.since(changes, BTreeSet::from([*value]));
        }
    }

    /// Checks what a client would read.
    pub fn check(&self, content: &[u8]) {
        let size = content.len();
        assert!(
            self.size.now.contains(&size),
            "{size} bytes: {:?}",
            self.size
        );
        for (at, byte) in self.bytes.iter().enumerate() {
            let value = content.get(at).copied().unwrap_or(0);
            assert!(byte.now.contains(&value), "byte {at} is {value}: {byte:?}");
        }
    }

    /// Returns what the file may be, for a sync that begins after this number of changes.
    pub fn snapshot(&self, changes: u64) -> Snapshot {
        let values = self.bytes.iter().map(|byte| byte.now.clone()).collect();
        let sizes = self.size.now.clone();
        Snapshot {
            values,
            sizes,
            changes,
        }
    }

    /// Records that the values of the snapshot are safe. Checks them in the `store`, if they are safe there.
    pub fn sync(&mut self, snapshot: &Snapshot, store: Option<&[u8]>) {
        self.size.safe = self.size.since(snapshot.changes, snapshot.sizes.clone());
        if let Some(store) = store {
            let sizes = &self.size.safe;
            assert!(
                is_within(store.len(), sizes),
                "{} bytes in the store: {sizes:?}",
                store.len()
            );
        }
        for (at, byte) in self.bytes.iter_mut().enumerate() {
            let safe = byte.since(snapshot.changes, snapshot.values[at].clone());
            if let Some(store) = store {
                let value = store.get(at).copied().unwrap_or(0);
                assert!(
                    safe.contains(&value),
                    "byte {at} is {value} in the store: {safe:?}"
                );
            }
            byte.safe = safe;
        }
    }

    /// Checks what a failure of the host has left, which is safe.
    pub fn lose(&mut self, change: u64, content: &[u8]) {
        let size = content.len();
        assert!(
            is_within(size, &self.size.safe),
            "{size} bytes: {:?}",
            self.size
        );
        self.size = Known::new(size);
        self.size.changes = vec![(change, size)];
        self.writes.clear();
        for (at, byte) in self.bytes.iter_mut().enumerate() {
            let value = content.get(at).copied().unwrap_or(0);
            assert!(byte.safe.contains(&value), "byte {at} is {value}: {byte:?}");
            *byte = Known::new(value);
            byte.changes = vec![(change, value)];
        }
    }

    /// Records that an operator has dropped what was not stored; this is left. If that is not certain, it may have
    /// failed, or a client may be about to change the file.
    pub fn abandon(&mut self, change: u64, content: &[u8], is_certain: bool) {
        if is_certain {
            self.size.now.clear();
            self.size.safe.clear();
        }
        self.size.begin(change, content.len());
        for (_, end) in &self.writes {
            self.size.begin(change, content.len().max(*end));
        }
        for (at, byte) in self.bytes.iter_mut().enumerate() {
            let value = content.get(at).copied().unwrap_or(0);
            if is_certain {
                byte.now.clear();
                byte.safe.clear();
            }
            byte.begin(change, value);
        }
    }
}
