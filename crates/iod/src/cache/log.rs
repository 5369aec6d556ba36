//! The file of the cache's log.

use super::file::write_all;
use crate::status::errno;
use isthmus_forward as forward;
use rustix::fs::{
    FallocateFlags, Mode, OFlags, fallocate, fdatasync, fsync, ftruncate, openat, renameat,
};
use rustix::io::{Errno, Result};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The name of the log in the folder of the cache, and that of one that is being written.
pub(super) const LOG: &str = "log";
pub(super) const NEW_LOG: &str = "log.new";

/// Number of bytes after the end of a log for which space is reserved: what is stored in a full folder is recorded, and then
/// makes room.
const RESERVE: u64 = 64 << 10;

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

/// The log in the folder of a cache.
#[derive(Debug)]
pub(super) struct Log {
    folder: OwnedFd,
    file: Arc<LogFile>,
    /// The end of the space that is reserved for it.
    reserved: u64,
}

impl Log {
    /// Write a log to the folder of a cache. It replaces the log of the folder once it is synced.
    pub fn create(folder: OwnedFd, records: &[u8]) -> forward::Result<Self> {
        let file = write(&folder, records).map_err(errno)?;
        let reserved = reserve(&file.file, records.len() as u64);
        Ok(Self {
            folder,
            file,
            reserved,
        })
    }

    /// Return the file, to sync what was appended so far.
    pub fn file(&self) -> Arc<LogFile> {
        Arc::clone(&self.file)
    }
}

impl forward::cache::journal::Log for Log {
    fn append(&mut self, records: &[u8]) -> forward::Result<()> {
        let LogFile { file, bytes, .. } = &*self.file;
        let end = bytes.load(Ordering::Relaxed);
        if let Err(error) = write_all(file, records, end) {
            // What was written is overwritten by the next records, if it cannot be removed.
            let _ = ftruncate(file, end);
            return Err(errno(error));
        }
        let end = end + records.len() as u64;
        bytes.store(end, Ordering::Release);
        if self.reserved < end + RESERVE / 2 {
            self.reserved = reserve(file, end);
        }
        Ok(())
    }

    fn replace(&mut self, records: &[u8]) -> forward::Result<()> {
        self.file = write(&self.folder, records).map_err(errno)?;
        self.reserved = reserve(&self.file.file, records.len() as u64);
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.file.has_failed.load(Ordering::Acquire)
    }
}

/// Reserve space after the end of a log. Return where that ends. Without room, records are appended as long as there is some.
fn reserve(file: &OwnedFd, end: u64) -> u64 {
    let _ = fallocate(file, FallocateFlags::KEEP_SIZE, end, RESERVE);
    end + RESERVE
}

/// Write a log to a folder, and replace the log of the folder once it is synced.
fn write(folder: &OwnedFd, records: &[u8]) -> Result<Arc<LogFile>> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = openat(
        folder,
        NEW_LOG,
        flags | OFlags::NOFOLLOW,
        Mode::RUSR | Mode::WUSR,
    )?;
    write_all(&file, records, 0)?;
    fsync(&file)?;
    renameat(folder, NEW_LOG, folder, LOG)?;
    // The old log has no name any more: if the name is not synced, this one is rewritten in its turn.
    let named = fsync(folder);
    let bytes = records.len() as u64;
    Ok(Arc::new(LogFile {
        file,
        bytes: AtomicU64::new(bytes),
        synced: Mutex::new(bytes),
        has_failed: AtomicBool::new(named.is_err()),
    }))
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
