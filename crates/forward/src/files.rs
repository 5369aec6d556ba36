//! The operations on files that a server implements.

use crate::locks::Lock;
use crate::message::{Attributes, Change, DaemonStatus, Entry, FileSystem, Key, Qid, UnstoredFile};
use std::fmt;
use std::task::Poll;

/// An error number of Linux, as it is sent to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub u32);

impl Errno {
    /// The operation is not permitted.
    pub const PERM: Self = Self(1);
    /// There is no such file.
    pub const NOENT: Self = Self(2);
    /// The client has flushed the request.
    pub const INTR: Self = Self(4);
    /// The file would be too large.
    pub const FBIG: Self = Self(27);
    /// There is no space left.
    pub const NOSPC: Self = Self(28);
    /// A fault of the store.
    pub const IO: Self = Self(5);
    /// There is no such fid, or it is not open for this.
    pub const BADF: Self = Self(9);
    /// Too many requests at a time.
    pub const AGAIN: Self = Self(11);
    /// The client has too many locks.
    pub const NOLCK: Self = Self(37);
    /// The daemon has too many open files.
    pub const NFILE: Self = Self(23);
    /// The reply is larger than a message.
    pub const MSGSIZE: Self = Self(90);
    /// No memory.
    pub const NOMEM: Self = Self(12);
    /// The token is not the right one.
    pub const ACCES: Self = Self(13);
    /// The fid or tag is in use.
    pub const BUSY: Self = Self(16);
    /// The file is no directory.
    pub const NOTDIR: Self = Self(20);
    /// The file is a directory.
    pub const ISDIR: Self = Self(21);
    /// The request makes no sense.
    pub const INVAL: Self = Self(22);
    /// The client has too many fids.
    pub const MFILE: Self = Self(24);
    /// The file is special: a device, a socket or a pipe.
    pub const NXIO: Self = Self(6);
    /// The file exists.
    pub const EXIST: Self = Self(17);
    /// The name is not valid UTF-8.
    pub const ILSEQ: Self = Self(84);
    /// The files are of different exports.
    pub const XDEV: Self = Self(18);
    /// Clients may only read.
    pub const ROFS: Self = Self(30);
    /// The file is a symbolic link, or one is on the way to it.
    pub const LOOP: Self = Self(40);
    /// The value is too large.
    pub const TOO_BIG: Self = Self(7);
    /// The name is too long.
    pub const NAMETOOLONG: Self = Self(36);
    /// The extended attribute does not exist.
    pub const NODATA: Self = Self(61);
    /// The bytes are no request, or not at this time.
    pub const PROTO: Self = Self(71);
    /// The server does not do this.
    pub const OPNOTSUPP: Self = Self(95);
    /// The file was removed.
    pub const STALE: Self = Self(116);
}

impl fmt::Display for Errno {
    /// Write the text of the system for the error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = i32::try_from(self.0).unwrap_or(i32::MAX);
        std::io::Error::from_raw_os_error(code).fmt(f)
    }
}

impl std::error::Error for Errno {}

/// The result of an operation on files.
pub type Result<T> = std::result::Result<T, Errno>;

/// A file by name, with its type, version and number.
#[derive(Clone, Debug)]
pub struct Node<N> {
    /// The name of the file.
    pub node: N,
    /// Its type, version and number.
    pub qid: Qid,
}

/// A file that was opened.
#[derive(Debug)]
pub struct Opened<O> {
    /// The open file.
    pub open: O,
    /// Its type, version and number.
    pub qid: Qid,
}

/// The target of a request: a file by name, and its open file if the fid is open.
#[derive(Debug)]
pub struct Subject<'a, F: Files + ?Sized> {
    /// The file by name.
    pub node: &'a F::Node,
    /// The open file, if the fid is open.
    pub open: Option<&'a F::Open>,
}

/// Where the data of a file is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncLevel {
    /// Where the server does it for `fdatasync`: some attributes need not be synced.
    Data,
    /// Where the server does it for `fsync`.
    All,
    /// In the cache; without one, in the store.
    Cached,
    /// In the store.
    Stored,
}

/// The files of a server as one client sees them. All errors are those of Linux.
///
/// Names are single parts of paths: not empty, not `.` or `..`, without `/` and NUL bytes. Only
/// [`Files::walk`] may get `.`, the directory itself, `..`, the one above it, and several names.
pub trait Files {
    /// A file by name, which need not be open.
    type Node: Clone;
    /// An open file or directory.
    type Open;

    /// Return whether a client must show a token to attach.
    fn wants_token(&self) -> bool;

    /// Return the root of an export for a client, which has shown this token.
    fn attach(&self, token: Option<&[u8]>, export: &[u8]) -> Result<Node<Self::Node>>;

    /// Give the session of the client a key, and end the one that has the same key. Return whether there was
    /// one: its locks belong to the client now, and no request of it changes anything any more.
    ///
    /// # Errors
    /// [`Errno::IO`] if a request of that session has not ended in time. The client has no key then.
    fn resume(&self, key: Key) -> Result<bool>;

    /// Return the file at a path from a directory: `.`, `..`, or names with `/` between them, of which none but
    /// the last may be a symbolic link.
    fn walk(&self, directory: &Self::Node, path: &[u8]) -> Result<Node<Self::Node>>;

    /// Open a file with flags of Linux.
    fn open(&self, node: &Self::Node, flags: u32) -> Result<Opened<Self::Open>>;

    /// Create a file in a directory and open it.
    fn create(
        &self,
        directory: &Self::Node,
        name: &[u8],
        flags: u32,
        mode: u32,
    ) -> Result<(Self::Node, Opened<Self::Open>)>;

    /// Read bytes of an open file from `offset`, and return how many; 0 at the end of the file. `Pending`
    /// here and below: it may take long, so the request is deferred.
    fn read(&self, open: &Self::Open, offset: u64, bytes: &mut [u8]) -> Poll<Result<usize>>;

    /// Write data to an open file, and return the number of bytes written.
    fn write(&self, open: &Self::Open, offset: u64, data: &[u8]) -> Poll<Result<usize>>;

    /// Have the data of an open file synced.
    fn sync(&self, open: &Self::Open, level: SyncLevel) -> Poll<Result<()>>;

    /// Do what a client waits for when it closes a file. The file is open until it is dropped, whatever the
    /// result.
    fn close(&self, open: &Self::Open) -> Poll<Result<()>>;

    /// Read an ordinary file at a path from a directory from its start into `bytes`. Return its attributes, and the
    /// number of bytes. The path is empty for the directory itself.
    fn fetch(
        &self,
        directory: &Self::Node,
        path: &[u8],
        bytes: &mut [u8],
    ) -> Poll<Result<(Attributes, usize)>>;

    /// Read an ordinary file at a path from a directory into the cache.
    ///
    /// # Errors
    /// [`Errno::OPNOTSUPP`] without a cache.
    fn prefetch(&self, directory: &Self::Node, path: &[u8]) -> Poll<Result<()>>;

    /// Return the state of the server.
    fn status(&self) -> DaemonStatus;

    /// Call `each` with the files that have bytes that are not stored, from the one with this number on, ordered by
    /// number, until it returns `false`.
    fn list_unstored(&self, from: u64, each: &mut dyn FnMut(UnstoredFile<'_>) -> bool);

    /// Store all files, and wait until everything that was written before is stored.
    ///
    /// # Errors
    /// That of the last file that could not be stored.
    fn drain(&self) -> Poll<Result<()>>;

    /// Drop the bytes of the file with this number and absolute path in the store that are not stored. Return how
    /// many. It waits for what is being stored of the file.
    ///
    /// # Errors
    /// [`Errno::NOENT`] if there is no such file with such bytes; [`Errno::ROFS`] if clients may only read.
    fn abandon(&self, number: u64, path: &[u8]) -> Poll<Result<u64>>;

    /// Call `each` with the entries of an open directory from `offset` until it returns `false`.
    fn read_directory(
        &self,
        open: &Self::Open,
        offset: u64,
        each: &mut dyn FnMut(Entry<'_>) -> bool,
    ) -> Result<()>;

    /// Return the attributes of a file.
    fn attributes(&self, of: Subject<'_, Self>) -> Result<Attributes>;

    /// Change attributes of a file.
    fn change(&self, of: Subject<'_, Self>, change: &Change) -> Result<()>;

    /// Return the state of the file system of a file.
    fn file_system(&self, of: Subject<'_, Self>) -> Result<FileSystem>;

    /// Return the target of a symbolic link.
    fn read_link(&self, node: &Self::Node) -> Result<Vec<u8>>;

    /// Create a symbolic link.
    fn symlink(&self, directory: &Self::Node, name: &[u8], target: &[u8]) -> Result<Qid>;

    /// Create a special file, or an empty ordinary one.
    fn make_node(
        &self,
        directory: &Self::Node,
        name: &[u8],
        mode: u32,
        device: (u32, u32),
    ) -> Result<Qid>;

    /// Create a directory.
    fn make_directory(&self, directory: &Self::Node, name: &[u8], mode: u32) -> Result<Qid>;

    /// Create a hard link.
    fn link(&self, node: &Self::Node, directory: &Self::Node, name: &[u8]) -> Result<()>;

    /// Rename an entry of a directory.
    fn rename(&self, from: &Self::Node, old: &[u8], to: &Self::Node, new: &[u8]) -> Result<()>;

    /// Rename a file, given by itself.
    fn rename_node(&self, node: &Self::Node, to: &Self::Node, new: &[u8]) -> Result<()>;

    /// Remove an entry of a directory: a directory if `is_directory`, otherwise any other file.
    fn unlink(&self, directory: &Self::Node, name: &[u8], is_directory: bool) -> Result<()>;

    /// Remove a file, given by itself: a directory or any other.
    fn remove_node(&self, node: &Self::Node) -> Result<()>;

    /// Return the value of an extended attribute.
    fn xattr(&self, of: Subject<'_, Self>, name: &[u8]) -> Result<Vec<u8>>;

    /// Return the names of the extended attributes, each with a zero at its end.
    fn xattrs(&self, of: Subject<'_, Self>) -> Result<Vec<u8>>;

    /// Set an extended attribute, with flags of Linux, or remove it if there is no value.
    fn set_xattr(
        &self,
        of: Subject<'_, Self>,
        name: &[u8],
        value: Option<&[u8]>,
        flags: u32,
    ) -> Result<()>;

    /// Lock bytes of an open file for a process of the client. Return `false` if a lock of another
    /// process prevents it. Without a mode, unlock.
    fn lock(&self, open: &Self::Open, range: &LockRange<'_>) -> Result<bool>;

    /// Release all locks of the client.
    fn unlock_all(&self);

    /// Return a lock of another process that prevents this one.
    fn conflict(&self, open: &Self::Open, range: &LockRange<'_>) -> Result<Option<Lock>>;
}

/// Bytes of a file that a process of a client wants to lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRange<'a> {
    /// Whether others may share the lock; `None` to unlock.
    pub mode: Option<crate::locks::LockMode>,
    /// The first byte.
    pub start: u64,
    /// The byte after the last; [`u64::MAX`] for the end of the file.
    pub end: u64,
    /// The process, by the number that the client gives.
    pub process: u32,
    /// The name that the client gives itself.
    pub client: &'a [u8],
}
