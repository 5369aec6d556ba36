//! The file of the cache's log.

use super::file::write_all;
use isthmus_forward::Buffer;
use isthmus_forward::cache::log::{Record, VERSION};
use rustix::fs::{Mode, OFlags, fdatasync, fsync, ftruncate, openat, renameat};
use rustix::io::{Errno, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The name of the log in the folder of the cache, and that of one that is being written.
pub(super) const LOG: &str = "log";
pub(super) const NEW_LOG: &str = "log.new";

/// Minimum size in bytes of a log that is rewritten.
const SMALL: u64 = 1 << 20;

/// The file of a log, which is synced beside those that append to it.
#[derive(Debug)]
pub(super) struct LogFile {
    file: OwnedFd,
    bytes: AtomicU64,
    /// The number of bytes that are synced.
    synced: Mutex<u64>,
    /// Whether a sync has failed. The system reports that once, to one of those who sync, and the next sync succeeds
    /// without what was appended before.
    has_failed: AtomicBool,
}

impl LogFile {
    /// Have all that was appended so far synced.
    ///
    /// # Errors
    /// The system's error; `EIO` if an earlier sync has failed.
    pub fn sync(&self) -> Result<()> {
        let wanted = self.bytes.load(Ordering::Acquire);
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has_failed.load(Ordering::Acquire) {
            return Err(Errno::IO);
        }
        if *synced >= wanted {
            // By another thread meanwhile.
            return Ok(());
        }
        let bytes = self.bytes.load(Ordering::Acquire);
        match fdatasync(&self.file) {
            Ok(()) => *synced = bytes,
            Err(error) => {
                self.has_failed.store(true, Ordering::Release);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// The log of a cache, open at its end.
#[derive(Debug)]
pub(super) struct Log {
    file: Arc<LogFile>,
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
    ) -> Result<Self> {
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
        // The old log has no name any more: if the name is not synced, this one is rewritten in its turn.
        let named = fsync(&folder);
        let bytes = out.len() as u64;
        Ok(Self {
            file: Arc::new(LogFile {
                file,
                bytes: AtomicU64::new(bytes),
                synced: Mutex::new(bytes),
                has_failed: AtomicBool::new(named.is_err()),
            }),
            records: count,
            first_bytes: bytes,
        })
    }

    /// Append records. If that fails, none of them is in the log.
    pub fn append(&mut self, records: &[Record<'_>]) -> Result<()> {
        let mut out = Buffer::new();
        for record in records {
            record.append(&mut out);
        }
        let LogFile { file, bytes, .. } = &*self.file;
        let end = bytes.load(Ordering::Relaxed);
        if let Err(error) = write_all(file, out.bytes(), end) {
            // What was written is overwritten by the next records, if it cannot be removed.
            let _ = ftruncate(file, end);
            return Err(error);
        }
        bytes.store(end + out.len() as u64, Ordering::Release);
        self.records += records.len() as u64;
        Ok(())
    }

    /// Return the file, to sync what was appended so far.
    pub fn file(&self) -> Arc<LogFile> {
        Arc::clone(&self.file)
    }

    /// Return whether most of the records are out of date.
    pub fn is_long(&self) -> bool {
        self.file.bytes.load(Ordering::Relaxed) > SMALL.max(4 * self.first_bytes)
    }

    /// Return whether a sync has failed: the log has to be rewritten.
    pub fn has_failed(&self) -> bool {
        self.file.has_failed.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The system reports the failure of a sync once. Each later sync fails as well.
    #[test]
    fn a_log_that_failed_to_sync_fails_until_it_is_rewritten() {
        // A pipe cannot be synced.
        let (_reader, pipe) = rustix::pipe::pipe().unwrap();
        let file = LogFile {
            file: pipe,
            bytes: AtomicU64::new(0),
            synced: Mutex::new(0),
            has_failed: AtomicBool::new(false),
        };
        // Nothing was appended.
        assert_eq!(file.sync(), Ok(()));
        file.bytes.store(1, Ordering::Relaxed);
        assert_eq!(file.sync(), Err(Errno::INVAL));
        assert_eq!(file.sync(), Err(Errno::IO));
    }
}
