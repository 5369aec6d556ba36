//! Which version of an object each file of the tree shows.

use super::bucket::Bucket;
use isthmus_forward::Result;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum age of an answer of the store that a request may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    /// For opening a file.
    Open,
    /// For its attributes, and for names.
    Name,
    /// For changes: the store must be asked.
    Now,
}

/// What is known of a file or directory of the tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The version of the object that it shows; `None` for a directory.
    pub version: Option<String>,
    /// The mark of the last upload, which may have replaced this version.
    pub mark: Option<String>,
    /// When the store has confirmed this; of a directory, when its names were listed.
    pub at: Option<Instant>,
    /// Whether a client wants the directory: it stays when it has no objects.
    pub is_wanted: bool,
}

/// The objects that the tree of an export shows.
#[derive(Debug)]
pub(crate) struct Objects {
    pub bucket: Bucket,
    /// What is known of the files of the tree, by inode.
    known: Mutex<HashMap<u64, Known>>,
    /// Locked while the tree is changed after what the store says.
    pub(super) applying: Mutex<()>,
    /// The number of changes of names in the tree by clients, and of removals by refreshes.
    changes: AtomicU64,
}

impl Objects {
    /// Show the objects of a bucket.
    pub fn new(bucket: Bucket) -> Self {
        Self {
            bucket,
            known: Mutex::default(),
            applying: Mutex::default(),
            changes: AtomicU64::new(0),
        }
    }

    /// Return what is known, locked.
    fn known(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return what is known of a file or directory.
    pub fn of(&self, inode: u64) -> Option<Known> {
        self.known().get(&inode).cloned()
    }

    /// Return the version of the object that a file shows.
    pub fn version(&self, inode: u64) -> Option<String> {
        self.known().get(&inode)?.version.clone()
    }

    /// Return when the store has confirmed what is known.
    fn confirmed_at(&self, inode: u64) -> Option<Instant> {
        self.known().get(&inode)?.at
    }

    /// Return whether the store has confirmed what is known within this time.
    pub fn is_fresh(&self, inode: u64, age: Duration) -> bool {
        let at = self.confirmed_at(inode);
        at.is_some_and(|at| at.elapsed() < age)
    }

    /// Return whether the store has confirmed what is known since a time.
    pub fn is_newer(&self, inode: u64, than: Instant) -> bool {
        let at = self.confirmed_at(inode);
        at.is_some_and(|at| at > than)
    }

    /// Record that a file shows a version of its object, since the time of the request that returned the version or the end
    /// of one that stored it. Answers to earlier requests may be out of date.
    pub fn record_version(&self, inode: u64, version: String, since: Instant) {
        let known = Known {
            version: Some(version),
            at: Some(since),
            ..Known::default()
        };
        self.known().insert(inode, known);
    }

    /// Record that a file that a former daemon has left has data for this version of its object, or for the one with this
    /// mark.
    pub fn restore(&self, inode: u64, version: Option<String>, mark: Option<String>) {
        let known = Known {
            version,
            mark,
            ..Known::default()
        };
        self.known().insert(inode, known);
    }

    /// Record that the store has confirmed what a file shows. `asked` is the time of that request.
    pub fn confirm(&self, inode: u64, asked: Instant) {
        if let Some(known) = self.known().get_mut(&inode) {
            known.at = known.at.max(Some(asked));
        }
    }

    /// Record that a file is about to be stored with a mark.
    pub fn record_mark(&self, inode: u64, mark: String) {
        if let Some(known) = self.known().get_mut(&inode) {
            known.mark = Some(mark);
        }
    }

    /// Record that the names of a directory are those in the store. `asked` is the time of the request that listed them.
    pub fn record_listing(&self, inode: u64, asked: Instant) {
        self.change_directory(inode, |known| known.at = Some(asked));
    }

    /// Record that a directory stays when it has no objects.
    pub fn keep_directory(&self, inode: u64) {
        self.change_directory(inode, |known| known.is_wanted = true);
    }

    /// Change what is known of a directory.
    fn change_directory(&self, inode: u64, change: impl FnOnce(&mut Known)) {
        let mut known = self.known();
        change(known.entry(inode).or_default());
    }

    /// Forget what is known of a file or directory.
    pub fn forget(&self, inode: u64) {
        self.known().remove(&inode);
    }

    /// Forget a file or directory, and remove it from the tree by `remove`. Once it is removed, another one may have its
    /// inode.
    pub fn remove(&self, inode: u64, remove: impl FnOnce() -> Result<()>) -> Result<()> {
        let known = self.known().remove(&inode);
        let removed = remove();
        self.record_change();
        if let (Err(_), Some(known)) = (removed, known) {
            self.known().insert(inode, known);
        }
        removed
    }

    /// Return the number of changes of names in the tree. What the store has answered before one may be out of date.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Record that a client has changed names.
    pub fn record_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}
