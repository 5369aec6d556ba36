//! Locks of byte ranges among clients, as `fcntl` of POSIX has them: a lock replaces the locks of the
//! same process on these bytes, and may split them.

use crate::files::{Errno, Result};
use std::collections::HashMap;
use std::hash::Hash;

/// Whether others may lock the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
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
    pub mode: LockMode,
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
        let is_shared = [self.mode, other.mode] == [LockMode::Shared; 2];
        self.holder != other.holder && self.overlaps(other) && !is_shared
    }
}

/// Maximum number of locks that one session holds.
const SESSION_LOCKS: usize = 10_000;

/// The locks of all files that have any, by file.
#[derive(Debug)]
pub struct Locks<K> {
    files: HashMap<K, Vec<Lock>>,
    /// The number of locks of each session that holds any.
    counts: HashMap<u32, usize>,
}

impl<K> Default for Locks<K> {
    /// Create an empty set of locks.
    fn default() -> Self {
        Self {
            files: HashMap::new(),
            counts: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash> Locks<K> {
    /// Return a lock of another process that prevents this one.
    #[must_use]
    pub fn conflict(&self, file: &K, wanted: &Lock) -> Option<&Lock> {
        let held = self.files.get(file)?;
        held.iter().find(|each| each.excludes(wanted))
    }

    /// Lock bytes of a file. Replaces the locks of the same process on these bytes. Return `false`
    /// if a lock of another process prevents it.
    ///
    /// # Errors
    /// [`Errno::NOLCK`] if the session holds 10,000 locks.
    pub fn lock(&mut self, file: K, wanted: Lock) -> Result<bool> {
        if self.conflict(&file, &wanted).is_some() {
            return Ok(false);
        }
        let count = self.counts.entry(wanted.holder.session).or_default();
        if *count >= SESSION_LOCKS {
            return Err(Errno::NOLCK);
        }
        let held = self.files.entry(file).or_default();
        let before = held.len();
        cut(held, &wanted);
        held.push(wanted);
        *count = *count + held.len() - before;
        Ok(true)
    }

    /// Unlock bytes of a file from `start` until before `end`, as far as this process holds them.
    pub fn unlock(&mut self, file: K, holder: Holder, start: u64, end: u64) {
        let Some(held) = self.files.get_mut(&file) else {
            return;
        };
        let (session, mode) = (holder.session, LockMode::Shared);
        let range = Lock {
            holder,
            mode,
            start,
            end,
        };
        let before = held.len();
        cut(held, &range);
        if let Some(count) = self.counts.get_mut(&session) {
            *count = *count + held.len() - before;
        }
        if held.is_empty() {
            self.files.remove(&file);
        }
    }

    /// Release all locks of the processes of a session.
    pub fn end_session(&mut self, session: u32) {
        if self.counts.remove(&session).is_none() {
            return;
        }
        self.files.retain(|_, held| {
            held.retain(|each| each.holder.session != session);
            !held.is_empty()
        });
    }

    /// Give the locks of a session to another one, whose own locks are released.
    pub fn move_session(&mut self, from: u32, to: u32) {
        self.end_session(to);
        let Some(count) = self.counts.remove(&from) else {
            return;
        };
        self.counts.insert(to, count);
        for lock in self.files.values_mut().flatten() {
            if lock.holder.session == from {
                lock.holder.session = to;
            }
        }
    }

    /// Return the number of locks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.files.values().map(Vec::len).sum()
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
