//! What clients may find in a file: the last value of each byte that was acknowledged, or one that may have been
//! written since.

use std::collections::BTreeSet;
use std::ops::Range;

/// Number of bytes of a file that are checked. No write goes beyond.
pub const BYTES: usize = 96;

/// What a byte may be.
#[derive(Clone, Debug)]
struct Byte {
    /// What a client reads: more than one value after a write whose result is unknown.
    now: BTreeSet<u8>,
    /// What it may be after a failure of the host.
    safe: BTreeSet<u8>,
    /// The values that it may have had, each with the number of the change.
    changes: Vec<(u64, u8)>,
}

impl Byte {
    /// Returns these values and those of later changes.
    fn since(&self, change: u64, mut values: BTreeSet<u8>) -> BTreeSet<u8> {
        let later = self.changes.iter().filter(|(number, _)| *number > change);
        values.extend(later.map(|(_, value)| *value));
        values
    }
}

/// A file.
#[derive(Clone, Debug)]
pub struct Model {
    bytes: Vec<Byte>,
}

/// What the bytes of a file may be, and the number of changes until then.
#[derive(Debug)]
pub struct Snapshot {
    values: Vec<BTreeSet<u8>>,
    changes: u64,
}

impl Default for Model {
    /// Returns an empty file.
    fn default() -> Self {
        let zero = Byte {
            now: BTreeSet::from([0]),
            safe: BTreeSet::from([0]),
            changes: Vec::new(),
        };
        Self {
            bytes: vec![zero; BYTES],
        }
    }
}

impl Model {
    /// Records that a change of some bytes begins. `value` returns what each of them becomes.
    pub fn begin(&mut self, change: u64, at: Range<usize>, value: impl Fn(usize) -> u8) {
        for at in at {
            let (byte, value) = (&mut self.bytes[at], value(at));
            byte.now.insert(value);
            byte.safe.insert(value);
            byte.changes.push((change, value));
        }
    }

    /// Records that the change with this number is acknowledged, and whether a failure of the host cannot undo it.
    pub fn acknowledge(
        &mut self,
        change: u64,
        at: Range<usize>,
        value: impl Fn(usize) -> u8,
        is_safe: bool,
    ) {
        for at in at {
            let (byte, value) = (&mut self.bytes[at], value(at));
            byte.now = byte.since(change, BTreeSet::from([value]));
            if is_safe {
                byte.safe.clone_from(&byte.now);
            }
        }
    }

    /// Checks what a client has read, zero after its end, and remembers it. It has asked after this number of
    /// changes.
    pub fn read(&mut self, changes: u64, at: Range<usize>, value: impl Fn(usize) -> u8) {
        for at in at {
            let (byte, value) = (&mut self.bytes[at], value(at));
            assert!(byte.now.contains(&value), "byte {at} is {value}: {byte:?}");
            byte.now = byte.since(changes, BTreeSet::from([value]));
        }
    }

    /// Checks what a client would read.
    pub fn check(&self, content: &[u8]) {
        for (at, byte) in self.bytes.iter().enumerate() {
            let value = content.get(at).copied().unwrap_or(0);
            assert!(byte.now.contains(&value), "byte {at} is {value}: {byte:?}");
        }
        assert!(content.len() <= BYTES);
    }

    /// Returns what the bytes may be, for a sync that begins after this number of changes.
    pub fn snapshot(&self, changes: u64) -> Snapshot {
        let values = self.bytes.iter().map(|byte| byte.now.clone()).collect();
        Snapshot { values, changes }
    }

    /// Records that the values of the snapshot are safe. Checks them in the `store`, if they are safe there.
    pub fn sync(&mut self, snapshot: &Snapshot, store: Option<&[u8]>) {
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
        for (at, byte) in self.bytes.iter_mut().enumerate() {
            let value = content.get(at).copied().unwrap_or(0);
            assert!(byte.safe.contains(&value), "byte {at} is {value}: {byte:?}");
            (byte.now, byte.safe) = (BTreeSet::from([value]), BTreeSet::from([value]));
            byte.changes = vec![(change, value)];
        }
    }

    /// Records that an operator has dropped what was not stored; this is left. A client may be about to change it.
    pub fn abandon(&mut self, change: u64, content: &[u8], is_busy: bool) {
        for (at, byte) in self.bytes.iter_mut().enumerate() {
            let value = content.get(at).copied().unwrap_or(0);
            if !is_busy {
                byte.now.clear();
                byte.safe.clear();
            }
            byte.now.insert(value);
            byte.safe.insert(value);
            byte.changes.push((change, value));
        }
    }
}
