//! An exported directory: the names that clients refer to, and the files beneath it.

use crate::objects::Objects;
use crate::status::{WANTED, attributes, errno, qid};
use isthmus_daemon::open_beneath;
use isthmus_forward::message::{Attributes, Qid};
use isthmus_forward::{Errno, Name, Names, Result};
use rustix::fs::{AtFlags, Mode, OFlags, Statx, openat, statx, syncfs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The flags that open a directory or a file only as a place.
const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Size in bytes of the blocks in which the system counts the space of a file.
const BLOCK: u64 = 512;

/// Maximum number of times that an operation is done again because names have changed meanwhile.
const TRIES: u32 = 1000;

/// An exported directory.
#[derive(Debug)]
pub(crate) struct Export {
    /// Its paths, by which clients name it: as the user gave it, and without symbolic links. Both are the URL for a
    /// bucket.
    pub paths: [PathBuf; 2],
    root: OwnedFd,
    /// The objects that it shows, if its store is a bucket.
    pub objects: Option<Arc<Objects>>,
    /// The device of its file system. Files of another device beneath it have other numbers.
    pub device: (u32, u32),
    state: Mutex<State>,
    /// Wakes those who wait for the end of a change of names.
    changed: Condvar,
}

/// The names of an export, and the changes of names that are under way.
#[derive(Debug, Default)]
struct State {
    names: Names,
    /// The entries that are being renamed or removed, as directory and name. Until a change is
    /// recorded in `names`, no other request refers to these entries or changes them.
    changing: Vec<(Name, Vec<u8>)>,
    /// The number of changes so far.
    changes: u64,
}

/// A change of entries that is under way. Dropping it ends the change.
pub(crate) struct Changing<'a> {
    export: &'a Export,
    entries: Vec<(Name, Vec<u8>)>,
}

impl Drop for Changing<'_> {
    /// End the change.
    fn drop(&mut self) {
        let mut state = self.export.state();
        state.changing.retain(|entry| !self.entries.contains(entry));
        state.changes += 1;
        self.export.changed.notify_all();
    }
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
        self.export.state().names.retain(self.name);
        Self {
            export: Arc::clone(&self.export),
            name: self.name,
        }
    }
}

impl Drop for Place {
    /// Forget the name, unless others refer to it.
    fn drop(&mut self) {
        self.export.state().names.release(self.name);
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
    /// Open a directory for export; for `objects`, the root of the tree that shows them.
    ///
    /// # Errors
    /// The directory cannot be opened, or its state cannot be read.
    pub fn open(
        paths: [PathBuf; 2],
        root: OwnedFd,
        objects: Option<Objects>,
    ) -> rustix::io::Result<Self> {
        let status = statx(&root, c"", AtFlags::EMPTY_PATH, WANTED)?;
        Ok(Self {
            paths,
            root,
            objects: objects.map(Arc::new),
            device: (status.stx_dev_major, status.stx_dev_minor),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Return the names that clients refer to, locked.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the names, locked, once none of these entries is being changed.
    fn state_without<'a>(&'a self, entries: &[(Name, Vec<u8>)]) -> MutexGuard<'a, State> {
        let is_changing =
            |state: &mut State| entries.iter().any(|entry| state.changing.contains(entry));
        let state = self.changed.wait_while(self.state(), is_changing);
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Begin a change of entries, each given as directory and name. Waits for changes of the same
    /// entries by others.
    fn begin(&self, entries: Vec<(Name, Vec<u8>)>) -> Changing<'_> {
        self.state_without(&entries)
            .changing
            .extend_from_slice(&entries);
        Changing {
            export: self,
            entries,
        }
    }

    /// Wait until the changes that are under way now have ended.
    fn wait_for_changes(&self) {
        let entries = self.state().changing.clone();
        if !entries.is_empty() {
            drop(self.state_without(&entries));
        }
    }

    /// Have the system store what it has of the export's file system.
    pub fn sync(&self) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(&self.root, ".", flags, Mode::empty()).map_err(errno)?;
        syncfs(root).map_err(errno)
    }

    /// Open a path beneath the root.
    pub fn open_path(&self, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        open_beneath(&self.root, as_path(path), flags, mode).map_err(errno)
    }

    /// Return the state of the file at a path from the root.
    pub fn status_at(&self, path: &[u8]) -> Result<Statx> {
        let is_entry = !path.contains(&b'/');
        let status = match path {
            b"" => statx(&self.root, c"", AtFlags::EMPTY_PATH, WANTED),
            // A single name cannot lead anywhere else.
            name if is_entry => statx(&self.root, name, AtFlags::SYMLINK_NOFOLLOW, WANTED),
            path => {
                let place = self.open_path(path, PLACE, Mode::empty())?;
                statx(&place, c"", AtFlags::EMPTY_PATH, WANTED)
            }
        };
        status.map_err(errno)
    }

    /// Return the attributes of a file with this state. The tree of a bucket has no data, but its objects have.
    pub fn attributes(&self, mut status: Statx) -> Attributes {
        if self.objects.is_some() {
            status.stx_blocks = status.stx_size.div_ceil(BLOCK);
        }
        attributes(&status, self.device)
    }

    /// Return the number of names that clients refer to, without the root.
    pub fn count(&self) -> usize {
        self.state().names.count() - 1
    }

    /// Return a path from the root of an export as a place. The file need not exist.
    pub fn place(export: &Arc<Self>, path: &[u8]) -> Place {
        let names = path.split(|byte| *byte == b'/');
        let names = names.filter(|name| !name.is_empty());
        names.fold(Self::root(export), |place, name| place.child(name))
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
    /// Carry out an operation on the path of the file. If the path does not exist, and names have
    /// changed since it was made, do it again.
    fn with_path<T>(&self, operation: impl Fn(Vec<u8>) -> Result<T>) -> Result<T> {
        let mut tries = 0..TRIES;
        loop {
            let (path, changes) = {
                let state = self.export.state();
                (state.names.path(self.name)?, state.changes)
            };
            let result = operation(path);
            if !matches!(result, Err(Errno::NOENT)) || tries.next().is_none() {
                return result;
            }
            self.export.wait_for_changes();
            if self.export.state().changes == changes {
                return result;
            }
        }
    }

    /// Return the path of the file from the root of the export.
    pub fn path(&self) -> Result<Vec<u8>> {
        self.export.state().names.path(self.name)
    }

    /// Return the path of an entry of this directory.
    pub fn path_of(&self, name: &[u8]) -> Result<Vec<u8>> {
        let mut path = self.path()?;
        join(&mut path, name);
        Ok(path)
    }

    /// Open the file with flags of the system.
    pub fn open(&self, flags: OFlags) -> Result<OwnedFd> {
        self.with_path(|path| {
            let path = if path.is_empty() {
                b".".as_slice()
            } else {
                &path
            };
            self.export.open_path(path, flags, Mode::empty())
        })
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
        self.with_path(|mut path| {
            join(&mut path, name);
            self.export.open_path(&path, flags | OFlags::CREATE, mode)
        })
    }

    /// Return the state of the file.
    pub fn status(&self) -> Result<Statx> {
        self.with_path(|path| self.export.status_at(&path))
    }

    /// Return the file at a path from this directory, and its type, version and number. The path consists of
    /// names; or it is `.`, this directory, or `..`, the one above it, or the root at the root.
    pub fn walk(&self, path: &[u8]) -> Result<(Self, Qid)> {
        if matches!(path, b"." | b"..") {
            let place = match path {
                b"." => self.clone(),
                _ => Self {
                    name: self.export.state().names.parent(self.name),
                    export: Arc::clone(&self.export),
                },
            };
            let qid = qid(&place.status()?, place.export.device);
            return Ok((place, qid));
        }
        let status = self.with_path(|mut whole| {
            join(&mut whole, path);
            self.export.status_at(&whole)
        })?;
        let mut names = path.split(|byte| *byte == b'/');
        let first = self.child(names.next().unwrap_or_default());
        let place = names.fold(first, |place, name| place.child(name));
        Ok((place, qid(&status, self.export.device)))
    }

    /// Refer to an entry of this directory, which exists.
    pub fn child(&self, name: &[u8]) -> Self {
        let entry = [(self.name, name.to_vec())];
        let mut state = self.export.state_without(&entry);
        Self {
            name: state.names.child(self.name, name),
            export: Arc::clone(&self.export),
        }
    }

    /// Return the directory of this file, and the file's name in it.
    ///
    /// # Errors
    /// The root of an export has no name; a file that was removed.
    pub fn entry(&self) -> Result<(Self, Vec<u8>)> {
        let (name, text) = self.export.state().names.entry_of(self.name)?;
        let directory = Self {
            export: Arc::clone(&self.export),
            name,
        };
        Ok((directory, text.into_vec()))
    }

    /// Remove an entry of this directory by `unlink`, and record it.
    pub fn unlink(&self, name: &[u8], unlink: impl FnOnce() -> Result<()>) -> Result<()> {
        let changing = self.export.begin(vec![(self.name, name.to_vec())]);
        unlink()?;
        self.export.state().names.remove(self.name, name);
        drop(changing);
        Ok(())
    }

    /// Rename an entry of this directory to an entry of `to` by `rename`, and record it if `rename`
    /// returns that names have changed.
    pub fn rename(
        &self,
        old: &[u8],
        to: &Self,
        new: &[u8],
        rename: impl FnOnce() -> Result<bool>,
    ) -> Result<()> {
        let entries = vec![(self.name, old.to_vec()), (to.name, new.to_vec())];
        let changing = self.export.begin(entries);
        if rename()? {
            let mut state = self.export.state();
            state.names.rename(self.name, old, to.name, new);
        }
        drop(changing);
        Ok(())
    }

    /// Return whether both are the same name.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.is_in_same_export(other)
    }

    /// Return whether both places are in the same export.
    pub fn is_in_same_export(&self, other: &Self) -> bool {
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
