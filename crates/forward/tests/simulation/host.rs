//! What outlives a daemon that is killed: the log and the data of its cache, in the memory of the host and on its disk.

use isthmus_forward::cache::FileId;
use isthmus_forward::cache::journal::Log;
use isthmus_forward::cache::log::take;
use isthmus_forward::{Errno, Result};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The log of a cache.
#[derive(Debug, Default)]
pub struct LogFile {
    pub bytes: Vec<u8>,
    /// Where each record ends.
    pub ends: Vec<usize>,
    /// The number of records that a failure of the host leaves.
    pub synced_records: usize,
    /// Whether a sync has failed.
    has_failed: bool,
    /// Whether changes fail.
    pub is_full: bool,
    /// Whether the next sync fails.
    pub fails_to_sync: bool,
}

impl LogFile {
    /// Syncs the log.
    pub fn sync(&mut self) -> Result<()> {
        self.has_failed |= std::mem::take(&mut self.fails_to_sync);
        if self.has_failed {
            return Err(Errno::IO);
        }
        self.synced_records = self.ends.len();
        Ok(())
    }

    /// Appends records.
    fn put(&mut self, records: &[u8]) {
        self.bytes.extend_from_slice(records);
        let mut unread = records;
        while let Ok(Some(_)) = take(&mut unread) {
            self.ends.push(self.bytes.len() - unread.len());
        }
    }
}

/// The log, of which a daemon that is killed leaves the file.
#[derive(Clone, Debug, Default)]
pub struct HostLog(pub Rc<RefCell<LogFile>>);

impl Log for HostLog {
    fn append(&mut self, records: &[u8]) -> Result<()> {
        let mut file = self.0.borrow_mut();
        if file.is_full {
            return Err(Errno::NOSPC);
        }
        file.put(records);
        Ok(())
    }

    fn replace(&mut self, records: &[u8]) -> Result<()> {
        let mut file = self.0.borrow_mut();
        if file.is_full {
            return Err(Errno::NOSPC);
        }
        let mut new = LogFile::default();
        new.put(records);
        // It is synced before it replaces the old one.
        new.synced_records = new.ends.len();
        *file = new;
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.0.borrow().has_failed
    }
}

/// Data of a file in the cache.
#[derive(Debug, Default)]
pub struct Data {
    pub bytes: Vec<u8>,
    /// What a failure of the host leaves of them.
    pub on_disk: Vec<u8>,
    /// Where a sync has failed since the last write: the system does not try again.
    failed: BTreeSet<usize>,
}

impl Data {
    /// Writes bytes.
    pub fn write(&mut self, start: u64, bytes: &[u8]) {
        super::store::put(&mut self.bytes, start, bytes);
        let start = start as usize;
        self.failed
            .retain(|at| !(start..start + bytes.len()).contains(at));
    }

    /// Ends the data at a size.
    pub fn truncate(&mut self, size: usize) {
        self.bytes.resize(size, 0);
        self.failed.retain(|at| *at < size);
    }

    /// Ends a sync of what the data was when it began.
    pub fn synced(&mut self, bytes: &[u8], is_ok: bool) {
        let count = bytes.len().max(self.on_disk.len());
        self.on_disk.resize(count, 0);
        for (at, on_disk) in self.on_disk.iter_mut().enumerate() {
            let byte = bytes.get(at).copied().unwrap_or(0);
            match is_ok {
                true if self.failed.contains(&at) => {}
                true => *on_disk = byte,
                false if byte != *on_disk => drop(self.failed.insert(at)),
                false => {}
            }
        }
    }

    /// Loses what is not synced, except at the positions whose bits of `mask` are set.
    pub fn lose(&mut self, mask: u64) {
        for (at, byte) in self.bytes.iter_mut().enumerate() {
            if mask >> (at % 64) & 1 == 0 || self.failed.contains(&at) {
                *byte = self.on_disk.get(at).copied().unwrap_or(0);
            }
        }
        self.on_disk.clone_from(&self.bytes);
        self.failed.clear();
    }
}

/// What outlives a daemon that is killed.
#[derive(Debug, Default)]
pub struct Host {
    pub log: HostLog,
    pub data: BTreeMap<FileId, Data>,
}
