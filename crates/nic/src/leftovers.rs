//! Files that a daemon was writing when it was killed: the next one removes them.
//!
//! A daemon keeps a journal of the files that it writes ([`Journal`]) in the first directory of
//! `--files`, and holds a lock on it. A journal that can be locked is of a daemon that has gone. Only
//! what it names is removed, and of that only files of this user with the name of a part that nobody
//! has locked.

use crate::error::{Error, Result};
use crate::roots::Roots;
use crate::secret::unguessable;
use isthmus_stream_net::{Journal, is_part};
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, statat,
    unlinkat,
};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the names of journals begin with, before 32 hexadecimal digits.
const NAME: &str = ".isthmus-writing-";

/// The journal of a daemon. It is removed when the daemon ends.
#[derive(Debug)]
pub(crate) struct Writing {
    directory: OwnedFd,
    name: String,
    file: File,
}

impl Writing {
    /// Make the journal.
    ///
    /// # Errors
    /// A directory in which no file can be made.
    pub fn begin(directory: OwnedFd) -> Result<Self> {
        let name = format!("{NAME}{}", unguessable()?);
        let what = |error| Error::system(format!("making {name}"), error);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&directory, &name, flags, Mode::RUSR | Mode::WUSR).map_err(what)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(what)?;
        let file = File::from(file);
        Ok(Self {
            directory,
            name,
            file,
        })
    }

    /// Return what a driver writes the journal with.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn journal(&self) -> Result<Journal> {
        let file = self.file.try_clone();
        let what = |error| Error::system("the journal of files", error);
        file.map(Journal::new).map_err(what)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // A writer that hangs is left to the next daemon.
        if Journal::paths(&self.file).is_ok_and(|paths| paths.is_empty()) {
            let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}

/// Remove what daemons left that were killed.
///
/// # Returns
/// The paths of the files removed.
///
/// # Errors
/// The directory cannot be read.
pub(crate) fn clean(directory: &OwnedFd, roots: &Roots) -> Result<Vec<String>> {
    let what = |error| Error::system("looking for files of a daemon that was killed", error);
    let readable = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = openat(directory, ".", readable, Mode::empty()).and_then(Dir::new);
    let mut removed = Vec::new();
    for entry in entries.map_err(what)? {
        let name = entry.map_err(what)?.file_name().to_owned();
        let name = OsStr::from_bytes(name.to_bytes());
        if !name.as_bytes().starts_with(NAME.as_bytes()) {
            continue;
        }
        let Some(journal) = own_and_locked(directory, name) else {
            continue;
        };
        for path in Journal::paths(&journal).unwrap_or_default() {
            if remove(roots, &path).is_some() {
                removed.push(path.display().to_string());
            }
        }
        let _ = unlinkat(directory, name, AtFlags::empty());
    }
    Ok(removed)
}

/// Remove a file that a journal names; none if it is not there, or not what a daemon left.
fn remove(roots: &Roots, path: &Path) -> Option<()> {
    let name = path
        .file_name()
        .filter(|name| name.to_str().is_some_and(is_part))?;
    let directory = roots.directory(path.parent()?)?.ok()?;
    let _locked = own_and_locked(&directory, name)?;
    unlinkat(&directory, name, AtFlags::empty()).ok()
}

/// Open and lock a regular file of this user that others may not write; none if it is not such a file,
/// or locked.
fn own_and_locked(directory: impl AsFd, name: &OsStr) -> Option<File> {
    // Not kept waiting by a FIFO.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(&directory, name, flags, Mode::empty()).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let opened = fstat(&file).ok()?;
    let is_own = FileType::from_raw_mode(opened.st_mode) == FileType::RegularFile
        && opened.st_uid == rustix::process::geteuid().as_raw()
        && opened.st_mode & 0o022 == 0;
    // Its daemon may have renamed it since.
    let there = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
    let same = |there: Stat| (there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino);
    (is_own && there.is_ok_and(same)).then(|| file.into())
}
