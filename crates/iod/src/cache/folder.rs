//! The folder of a cache, with the lock of the daemon that uses it.

use super::file::state as state_of;
use super::log::{LOG, NEW_LOG};
use crate::config::CacheConfig;
use isthmus_wire::{Error, Result};
use rustix::fs::{Dir, FlockOperation, Mode, OFlags, flock, mkdirat, openat};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The names in the folder of a cache, beside the log.
pub(super) const DATA: &str = "data";
const NAMES: &str = "names";
const LOCK: &str = "lock";

/// Return an error of the option `--cache`.
pub(super) fn refuse(config: &CacheConfig, text: &str) -> Error {
    Error::Config(format!("--cache {}: {text}", config.folder.display()))
}

/// The folder of a cache, that of the data in it, and the lock of this daemon.
pub(crate) struct Folder {
    pub(super) folder: OwnedFd,
    pub(super) data: OwnedFd,
    pub(super) lock: OwnedFd,
}

impl Folder {
    /// Open the folder of a cache between clients and exports with these paths. What does not exist is created.
    ///
    /// # Errors
    /// A folder that cannot be used, or is used by another daemon.
    pub fn open(config: &CacheConfig, exports: &[PathBuf]) -> Result<Self> {
        let failed = |error: std::io::Error| refuse(config, &error.to_string());
        let given = std::path::absolute(&config.folder).map_err(failed)?;
        // The folder may not exist; the one above it does.
        let path = match (given.canonicalize(), given.parent(), given.file_name()) {
            (Err(_), Some(parent), Some(name)) => parent.canonicalize().map_err(failed)?.join(name),
            (path, ..) => path.map_err(failed)?,
        };
        for other in exports {
            let what = match (path.starts_with(other), other.starts_with(&path)) {
                (true, _) => "lies in the export",
                (_, true) => "contains the export",
                _ => continue,
            };
            let text = format!("{what} {}: give another folder", other.display());
            return Err(refuse(config, &text));
        }
        if let Err(error) = rustix::fs::mkdir(&path, Mode::RWXU)
            && error != rustix::io::Errno::EXIST
        {
            return Err(failed(error.into()));
        }
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let folder = rustix::fs::open(&path, flags, Mode::empty());
        let folder = folder.map_err(|error| failed(error.into()))?;
        let status = state_of(&folder).map_err(|error| refuse(config, &error.to_string()))?;
        if status.stx_uid != rustix::process::geteuid().as_raw() || status.stx_mode & 0o022 != 0 {
            let text = "others can change it: give a folder of your own, without write permission for others";
            return Err(refuse(config, text));
        }
        let failed = |error: rustix::io::Errno| refuse(config, &error.to_string());
        let names = Dir::read_from(&folder).map_err(failed)?;
        let names = names.filter_map(|entry| Some(entry.ok()?.file_name().to_bytes().to_vec()));
        let names: Vec<_> = names.filter(|name| name != b"." && name != b"..").collect();
        let is_part = |name: &Vec<u8>| {
            let parts = [LOG, NEW_LOG, DATA, NAMES, LOCK];
            parts.iter().any(|part| part.as_bytes() == *name)
        };
        if let Some(other) = names.iter().find(|name| !is_part(name)) {
            let other = String::from_utf8_lossy(other);
            let text = format!("has {other:?}, which is no part of a cache: give an empty folder");
            return Err(refuse(config, &text));
        }
        let create = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let lock = openat(&folder, LOCK, create, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(refuse(
                config,
                "a daemon that runs uses it: give another folder, or ask that daemon by its address",
            ));
        }
        if let Err(error) = mkdirat(&folder, DATA, Mode::RWXU)
            && error != rustix::io::Errno::EXIST
        {
            return Err(failed(error));
        }
        let data = openat(&folder, DATA, flags, Mode::empty()).map_err(failed)?;
        Ok(Folder { folder, data, lock })
    }

    /// Open the folder for the tree of an export whose store is a bucket, given by its URL.
    ///
    /// # Errors
    /// The folder cannot be created or opened.
    pub fn tree(&self, url: &str) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let made = |at: &OwnedFd, name: &str| {
            match mkdirat(at, name, Mode::RWXU) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            openat(at, name, flags, Mode::empty())
        };
        let name = url.replace('%', "%25").replace('/', "%2F");
        made(&made(&self.folder, NAMES)?, &name)
    }
}
