//! Locks of byte ranges among clients, as `fcntl` of POSIX has them: a process that locks bytes
//! again changes its lock, and its locks end at any byte.

use std::collections::HashMap;
use std::hash::Hash;

/// Whether others may lock the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Others may lock the bytes as shared.
    Shared,
    /// No other may lock the bytes.
    Exclusive,
}

/// The process that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The session of the client.
    pub session: u32,
    /// The process, by the number that the client gives.
    pub process: u32,
    /// The name that the client gives itself.
    pub client: Vec<u8>,
}

/// A lock of the bytes from `start` until before `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The process that holds it.
    pub holder: Holder,
    /// Whether others may share it.
    pub mode: Mode,
    /// The first byte.
    pub start: u64,
    /// The byte after the last, which is more than `start`; [`u64::MAX`] for the end of the file, wherever that is.
    pub end: u64,
}

impl Lock {
    /// Return whether both locks cover a byte.
    fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Return whether the locks exclude each other.
    fn excludes(&self, other: &Self) -> bool {
        let is_shared = [self.mode, other.mode] == [Mode::Shared; 2];
        self.holder != other.holder && self.overlaps(other) && !is_shared
    }
}

/// The locks of all files that have any, by file.
#[derive(Debug)]
pub struct Locks<K>(HashMap<K, Vec<Lock>>);

impl<K> Default for Locks<K> {
    /// Create an empty set of locks.
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Locks<K> {
    /// Return a lock of another process that prevents this one.
    #[must_use]
    pub fn conflict(&self, file: &K, wanted: &Lock) -> Option<&Lock> {
        let held = self.0.get(file)?;
        held.iter().find(|each| each.excludes(wanted))
    }

    /// Lock bytes of a file. Replaces the locks of the same process on these bytes. Return `false`
    /// if a lock of another process prevents it.
    #[must_use]
    pub fn lock(&mut self, file: K, wanted: Lock) -> bool {
        if self.conflict(&file, &wanted).is_some() {
            return false;
        }
        let held = self.0.entry(file).or_default();
        cut(held, &wanted);
        held.push(wanted);
        true
    }

    /// Unlock bytes of a file from `start` until before `end`, as far as this process holds them.
    pub fn unlock(&mut self, file: K, holder: Holder, start: u64, end: u64) {
        if let Some(held) = self.0.get_mut(&file) {
            let mode = Mode::Shared;
            let range = Lock {
                holder,
                mode,
                start,
                end,
            };
            cut(held, &range);
            if held.is_empty() {
                self.0.remove(&file);
            }
        }
    }

    /// Unlock all that the processes of a session hold, because it has ended.
    pub fn end_session(&mut self, session: u32) {
        self.0.retain(|_, held| {
            held.retain(|each| each.holder.session != session);
            !held.is_empty()
        });
    }

    /// Return the number of locks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

/// Remove the bytes of `range` from the locks of its holder.
fn cut(held: &mut Vec<Lock>, range: &Lock) {
    let mut rest = Vec::new();
    held.retain_mut(|each| {
        if each.holder != range.holder || !each.overlaps(range) {
            return true;
        }
        if range.end < each.end {
            let start = range.end;
            rest.push(Lock {
                start,
                ..each.clone()
            });
        }
        each.end = range.start;
        each.start < each.end
    });
    held.append(&mut rest);
}
