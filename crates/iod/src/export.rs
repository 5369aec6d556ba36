//! An exported directory: the names that clients refer to, and the files beneath it.

use crate::status::{WANTED, errno, qid};
use isthmus_daemon::open_beneath;
use isthmus_forward::message::Qid;
use isthmus_forward::{Errno, Name, Names, Result};
use rustix::fs::{AtFlags, Mode, OFlags, Statx, statx};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The flags that open a directory or a file only as a place.
const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An exported directory.
#[derive(Debug)]
pub(crate) struct Export {
    /// Its path, by which clients name it.
    pub path: PathBuf,
    root: OwnedFd,
    /// The device of its file system. Files of another device beneath it have other numbers.
    pub home: (u32, u32),
    names: Mutex<Names>,
}

/// A file or directory of an export, by name. Its name stays known while this value exists.
#[derive(Debug)]
pub(crate) struct Place {
    pub export: Arc<Export>,
    name: Name,
}

impl Clone for Place {
    /// Refer to the same name once more.
    fn clone(&self) -> Self {
        self.export.names().retain(self.name);
        Self {
            export: Arc::clone(&self.export),
            name: self.name,
        }
    }
}

impl Drop for Place {
    /// Forget the name, unless others refer to it.
    fn drop(&mut self) {
        self.export.names().release(self.name);
    }
}

/// A directory that is open as a place: the root of an export, or one beneath it.
pub(crate) enum Directory<'a> {
    Root(BorrowedFd<'a>),
    Beneath(OwnedFd),
}

impl AsFd for Directory<'_> {
    /// Return the descriptor of the directory.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(root) => *root,
            Self::Beneath(directory) => directory.as_fd(),
        }
    }
}

impl Export {
    /// Open a directory for export.
    ///
    /// # Errors
    /// The directory cannot be opened, or its state cannot be read.
    pub fn open(path: PathBuf, root: OwnedFd) -> rustix::io::Result<Self> {
        let status = statx(&root, c"", AtFlags::EMPTY_PATH, WANTED)?;
        Ok(Self {
            path,
            root,
            home: (status.stx_dev_major, status.stx_dev_minor),
            names: Mutex::default(),
        })
    }

    /// Return the names that clients refer to, locked.
    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the number of names that clients refer to.
    pub fn count(&self) -> usize {
        self.names().count()
    }

    /// Return the root of an export as a place.
    pub fn root(export: &Arc<Self>) -> Place {
        Place {
            export: Arc::clone(export),
            name: Names::ROOT,
        }
    }
}

impl Place {
    /// Return the path from the root of the export, without a leading slash; empty for the root.
    fn path(&self) -> Result<Vec<u8>> {
        self.export.names().path(self.name)
    }

    /// Open the file with flags of the system.
    pub fn open(&self, flags: OFlags) -> Result<OwnedFd> {
        let path = self.path()?;
        let path = if path.is_empty() {
            b".".as_slice()
        } else {
            &path
        };
        self.open_path(path, flags, Mode::empty())
    }

    /// Open a path beneath the root of the export.
    fn open_path(&self, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        open_beneath(&self.export.root, as_path(path), flags, mode).map_err(errno)
    }

    /// Open the file as a place, without access to its data.
    pub fn as_place(&self) -> Result<OwnedFd> {
        self.open(PLACE)
    }

    /// Open the directory as a place.
    pub fn directory(&self) -> Result<Directory<'_>> {
        if self.name == Names::ROOT {
            return Ok(Directory::Root(self.export.root.as_fd()));
        }
        self.open(PLACE | OFlags::DIRECTORY).map(Directory::Beneath)
    }

    /// Create a file in this directory and open it.
    pub fn create(&self, name: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        let mut path = self.path()?;
        join(&mut path, name);
        self.open_path(&path, flags | OFlags::CREATE, mode)
    }

    /// Return the state of the file.
    pub fn status(&self) -> Result<Statx> {
        self.status_at(&self.path()?)
    }

    /// Return the state of the file at a path from the root of the export.
    fn status_at(&self, path: &[u8]) -> Result<Statx> {
        let (root, is_entry) = (&self.export.root, !path.contains(&b'/'));
        let status = match path {
            b"" => statx(root, c"", AtFlags::EMPTY_PATH, WANTED),
            // A single name cannot lead anywhere else.
            name if is_entry => statx(root, name, AtFlags::SYMLINK_NOFOLLOW, WANTED),
            path => {
                let place = self.open_path(path, PLACE, Mode::empty())?;
                statx(&place, c"", AtFlags::EMPTY_PATH, WANTED)
            }
        };
        status.map_err(errno)
    }

    /// Return the entry of this directory with a name, and its type, version and number; `..` is the
    /// directory above, or the root at the root.
    pub fn walk(&self, name: &[u8]) -> Result<(Self, Qid)> {
        let export = Arc::clone(&self.export);
        if name == b".." {
            let name = self.export.names().parent(self.name);
            let place = Self { export, name };
            let qid = qid(&place.status()?, place.export.home);
            return Ok((place, qid));
        }
        let mut path = self.path()?;
        join(&mut path, name);
        let status = self.status_at(&path)?;
        Ok((self.child(name), qid(&status, self.export.home)))
    }

    /// Refer to an entry of this directory, which exists.
    pub fn child(&self, name: &[u8]) -> Self {
        let name = self.export.names().child(self.name, name);
        Self {
            export: Arc::clone(&self.export),
            name,
        }
    }

    /// Return the directory of this file, and the file's name in it.
    ///
    /// # Errors
    /// The root of an export has no name; a file that was removed.
    pub fn entry(&self) -> Result<(Self, Vec<u8>)> {
        if self.name == Names::ROOT {
            return Err(Errno::BUSY);
        }
        let mut path = self.path()?;
        let name = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => path.split_off(slash + 1),
            None => path,
        };
        let directory = Self {
            export: Arc::clone(&self.export),
            name: self.export.names().parent(self.name),
        };
        Ok((directory, name))
    }

    /// Record that an entry of this directory was removed.
    pub fn forget(&self, name: &[u8]) {
        self.export.names().remove(self.name, name);
    }

    /// Record that an entry of this directory was renamed to an entry of the directory `to`.
    pub fn record_rename(&self, old: &[u8], to: &Self, new: &[u8]) {
        self.export.names().rename(self.name, old, to.name, new);
    }

    /// Return whether both places are in the same export.
    pub fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.export, &other.export)
    }
}

/// Append a name to a path.
fn join(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

/// Return bytes as a path.
fn as_path(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
