//! The tree of files that shows the objects of a bucket.

use super::bucket::Object;
use crate::export::Export;
use crate::status::{errno, path_of, status_of};
use isthmus_forward::{Errno, Result};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, Statx, Timespec, Timestamps, UTIME_OMIT, chmod,
    ftruncate, futimens, mkdirat, unlinkat,
};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::OwnedFd;

/// Size in bytes of the buffer for entries of a directory.
const ENTRIES_BYTES: usize = 32 << 10;

/// Open a file of the tree, which need not exist, to show an object. Its mode may not permit this.
pub(super) fn open_for_showing(export: &Export, path: &[u8]) -> Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    match export.open_path(path, flags, mode) {
        Err(Errno::ACCES) => {
            let place = export.open_path(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            let mode = Mode::from_raw_mode(status_of(&place)?.stx_mode.into());
            let path_of = path_of(&place);
            chmod(&path_of, mode | Mode::WUSR).map_err(errno)?;
            let opened = export.open_path(path, flags, mode);
            chmod(&path_of, mode).map_err(errno)?;
            opened
        }
        opened => opened,
    }
}

/// Make a file of the tree again that was lost with the host. Return its state.
pub(crate) fn make_again(export: &Export, path: &[u8]) -> Result<Statx> {
    make_above(export, path)?;
    status_of(open_for_showing(export, path)?)
}

/// Give a file of the tree the size and time of its object. Return its state.
pub(super) fn show_object(file: &OwnedFd, object: &Object) -> Result<Statx> {
    ftruncate(file, object.size).map_err(errno)?;
    let (tv_sec, ns) = object.modified;
    // Stores report whole seconds. A hash of the version as nanoseconds distinguishes versions of one second.
    let tv_nsec = match ns {
        0 => {
            let mut hasher = DefaultHasher::new();
            object.version.hash(&mut hasher);
            i64::try_from(hasher.finish() % 1_000_000_000).unwrap_or(0)
        }
        ns => ns.into(),
    };
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec { tv_sec, tv_nsec },
    };
    futimens(file, &times).map_err(errno)?;
    status_of(file)
}

/// Return the path of a name in a directory.
pub(super) fn beneath(directory: &[u8], name: &[u8]) -> Vec<u8> {
    match directory {
        b"" => name.to_vec(),
        directory => [directory, name].join(&b'/'),
    }
}

/// Return the path of the directory that has a path's last name.
pub(super) fn above(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte == b'/');
    &path[..end.unwrap_or(0)]
}

/// Return the last name of a path.
fn last(path: &[u8]) -> &[u8] {
    let start = path.iter().rposition(|byte| *byte == b'/');
    &path[start.map_or(0, |at| at + 1)..]
}

/// Return whether a file is a directory.
pub(crate) fn is_directory(status: &Statx) -> bool {
    FileType::from_raw_mode(status.stx_mode.into()) == FileType::Directory
}

/// Make the directories above a path in the tree.
pub(super) fn make_above(export: &Export, path: &[u8]) -> Result<()> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    for (end, _) in ends {
        let directory = open_directory(export, above(&path[..end]))?;
        let mode = Mode::from_raw_mode(0o755);
        match mkdirat(&directory, last(&path[..end]), mode) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(errno(error)),
        }
    }
    Ok(())
}

/// Open a directory of the tree.
fn open_directory(export: &Export, path: &[u8]) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let path = if path.is_empty() { b"." } else { path };
    export.open_path(path, flags, Mode::empty())
}

/// Remove a file or directory from the tree.
pub(super) fn remove(export: &Export, path: &[u8], flags: AtFlags) -> Result<()> {
    let directory = open_directory(export, above(path))?;
    unlinkat(&directory, last(path), flags).map_err(errno)
}

/// Return the names in a directory of the tree.
pub(super) fn names(export: &Export, path: &[u8]) -> Result<BTreeMap<Vec<u8>, FileType>> {
    let opened = open_directory(export, path)?;
    let mut buffer = Vec::with_capacity(ENTRIES_BYTES);
    let mut entries = RawDir::new(&opened, buffer.spare_capacity_mut());
    let mut names = BTreeMap::new();
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(errno)?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.insert(name.to_vec(), entry.file_type());
        }
    }
    Ok(names)
}
