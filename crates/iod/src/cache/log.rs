//! The file of the cache's log.

use super::file::write_all;
use isthmus_forward::Buffer;
use isthmus_forward::cache::log::{Record, VERSION};
use rustix::fs::{Mode, OFlags, fdatasync, fsync, ftruncate, openat, renameat};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// The name of the log in the folder of the cache, and that of one that is being written.
pub(super) const LOG: &str = "log";
pub(super) const NEW_LOG: &str = "log.new";

/// Minimum size in bytes of a log that is rewritten.
const SMALL: u64 = 1 << 20;

/// The log of a cache, open at its end.
#[derive(Debug)]
pub(super) struct Log {
    file: Arc<OwnedFd>,
    bytes: u64,
    /// The number of records.
    pub records: u64,
    /// The size in bytes when it was rewritten.
    first_bytes: u64,
}

impl Log {
    /// Write a log that begins on a host started as `boot`, for these exports, with the records that
    /// `records` adds; what it calls returns their number so far. The log replaces the log of the folder once it is synced.
    pub fn create<'a>(
        folder: impl AsFd,
        boot: &[u8],
        exports: impl Iterator<Item = &'a [u8]>,
        records: impl FnOnce(&mut dyn FnMut(Record<'_>) -> u64),
    ) -> rustix::io::Result<Self> {
        let mut out = Buffer::new();
        let mut count = 0;
        let mut add = |record: Record<'_>| {
            record.append(&mut out);
            count += 1;
            count
        };
        let version = VERSION;
        add(Record::Begin { version, boot });
        for (export, path) in (0..).zip(exports) {
            add(Record::Export { export, path });
        }
        records(&mut add);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let file = openat(
            &folder,
            NEW_LOG,
            flags | OFlags::NOFOLLOW,
            Mode::RUSR | Mode::WUSR,
        )?;
        write_all(&file, out.bytes(), 0)?;
        fsync(&file)?;
        renameat(&folder, NEW_LOG, &folder, LOG)?;
        // The old log has no name any more.
        let _ = fsync(&folder);
        let bytes = out.len() as u64;
        Ok(Self {
            file: Arc::new(file),
            bytes,
            records: count,
            first_bytes: bytes,
        })
    }

    /// Append records. If that fails, none of them is in the log.
    pub fn append(&mut self, records: &[Record<'_>]) -> rustix::io::Result<()> {
        let mut out = Buffer::new();
        for record in records {
            record.append(&mut out);
        }
        if let Err(error) = write_all(&self.file, out.bytes(), self.bytes) {
            // What was written is overwritten by the next records, if it cannot be removed.
            let _ = ftruncate(&self.file, self.bytes);
            return Err(error);
        }
        self.bytes += out.len() as u64;
        self.records += records.len() as u64;
        Ok(())
    }

    /// Return the file, to sync what was appended so far.
    pub fn file(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.file)
    }

    /// Return whether most of the records are out of date.
    pub fn is_long(&self) -> bool {
        self.bytes > SMALL.max(4 * self.first_bytes)
    }
}

/// Have what was appended to a log stored.
pub(super) fn sync(log: &OwnedFd) -> rustix::io::Result<()> {
    fdatasync(log)
}
