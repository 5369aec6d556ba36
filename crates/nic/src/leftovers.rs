//! Removes files that a killed daemon left unfinished.
//!
//! A daemon writes a journal of the files that it is writing ([`Journal`]) in the first directory
//! of `--files`, and holds a lock on the journal. A journal without a lock belongs to a daemon that
//! has ended. Only files that the journal names are removed, and only if they belong to this user,
//! have the temporary name of an unfinished file, are below `--files` and are not locked.

use isthmus_daemon::Roots;
use isthmus_stream_net::{Journal, is_part};
use isthmus_wire::{Error, Result, random_key};
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, statat,
    unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Prefix of the names of journals, before 32 hexadecimal digits.
const NAME: &str = ".isthmus-writing-";

/// The journal of a running daemon. It is removed when the daemon ends.
#[derive(Debug)]
pub(crate) struct WriteJournal {
    directory: OwnedFd,
    name: String,
    file: File,
}

impl WriteJournal {
    /// Create the journal in this directory.
    ///
    /// # Errors
    /// No file can be created in the directory.
    pub fn begin(directory: OwnedFd) -> Result<Self> {
        let name = format!("{NAME}{}", random_key()?);
        let what = |error| Error::system(format!("making {name}"), error);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&directory, &name, flags, Mode::RUSR | Mode::WUSR).map_err(what)?;
        // From here on, dropping this value removes the journal's file, also after an error.
        let parts = Self {
            directory,
            name: name.clone(),
            file: file.into(),
        };
        flock(&parts.file, FlockOperation::NonBlockingLockExclusive).map_err(what)?;
        Ok(parts)
    }

    /// Return the handle with which a driver writes the journal.
    ///
    /// # Errors
    /// The disk is full; no descriptor is left.
    pub fn journal(&self) -> Result<Journal> {
        let journal = self.file.try_clone().and_then(Journal::new);
        journal.map_err(|error| Error::system("the journal of files", error))
    }
}

impl Drop for WriteJournal {
    /// Removes the journal of the daemon that ends, unless it names an unfinished file.
    fn drop(&mut self) {
        // Remove the journal only if it names no file. Otherwise a thread still hangs while it
        // writes that file; the next daemon removes the file and the journal.
        if Journal::paths(&self.file).is_ok_and(|paths| paths.is_empty()) {
            let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}

/// Return whether a name is that of a journal.
pub(crate) fn is_journal(name: &str) -> bool {
    let digits = name.strip_prefix(NAME);
    digits.is_some_and(|it| it.len() == 32 && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The outcome of removing a file that a journal names.
enum Removal {
    Removed,
    /// The file does not exist, or is not an unfinished file.
    Absent,
    /// The file still exists. A later start may remove it.
    Kept,
}

/// Remove the files that killed daemons left unfinished. A journal remains while a file that it
/// names exists.
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
        let Some(name) = name.to_str().ok().filter(|name| is_journal(name)) else {
            continue;
        };
        let Some((journal, found)) = own_and_locked(directory, name.as_ref()) else {
            continue;
        };
        // Skip a journal that other users can write, because no daemon created it.
        let Some(paths) = Journal::paths(&journal)
            .ok()
            .filter(|_| found.st_mode & 0o077 == 0)
        else {
            continue;
        };
        let mut kept = false;
        for path in paths {
            match remove(roots, &path) {
                Removal::Removed => removed.push(path.display().to_string()),
                Removal::Absent => {}
                Removal::Kept => kept = true,
            }
        }
        if !kept {
            let _ = unlinkat(directory, name, AtFlags::empty());
        }
    }
    Ok(removed)
}

/// Remove a file that a journal names, if a daemon of this user left it unfinished.
fn remove(roots: &Roots, path: &Path) -> Removal {
    let name = path.file_name();
    let Some(name) = name.filter(|name| name.to_str().is_some_and(is_part)) else {
        return Removal::Absent;
    };
    let directory = match path.parent().and_then(|parent| roots.directory(parent)) {
        Some(Ok(directory)) => directory,
        Some(Err(Errno::NOENT)) => return Removal::Absent,
        _ => return Removal::Kept,
    };
    match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Removal::Absent,
        _ => match own_and_locked(&directory, name) {
            Some(_locked) if unlinkat(&directory, name, AtFlags::empty()).is_ok() => {
                Removal::Removed
            }
            _ => Removal::Kept,
        },
    }
}

/// Open and lock a regular file of this user; None if the file is not one, or is locked.
fn own_and_locked(directory: impl AsFd, name: &OsStr) -> Option<(File, Stat)> {
    // With `NONBLOCK`, opening a FIFO does not wait for a writer.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(&directory, name, flags, Mode::empty()).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let opened = fstat(&file).ok()?;
    let is_own = FileType::from_raw_mode(opened.st_mode) == FileType::RegularFile
        && opened.st_uid == rustix::process::geteuid().as_raw();
    // Check that the name still refers to the locked file: the daemon that wrote it may have
    // renamed it.
    let there = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
    let same = |there: Stat| (there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino);
    (is_own && there.is_ok_and(same)).then(|| (file.into(), opened))
}
