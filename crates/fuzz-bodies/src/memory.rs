//! Files in memory: the plainest that a session of 9P can have.

use isthmus_forward::message::{
    Attributes, Change, DaemonStatus, Entry, FileSystem, Key, Qid, UnstoredFile,
};
use isthmus_forward::{
    Errno, Files, Holder, Lock, LockRange, Locks, Node, Opened, Result, Subject, SyncLevel,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::task::Poll;

/// The token that a client must show, where one is needed.
pub const TOKEN: &[u8] = b"correct horse battery";

/// Maximum size in bytes of a file, so that no input of the fuzzer fills memory.
const FILE_BYTES: u64 = 1 << 16;

/// A file or directory.
#[derive(Clone, Debug, Default)]
struct Inode {
    is_directory: bool,
    parent: usize,
    entries: BTreeMap<Vec<u8>, usize>,
    data: Vec<u8>,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    mode: u32,
}

/// All files; number 0 is the root.
#[derive(Debug)]
pub struct Memory {
    inodes: RefCell<Vec<Inode>>,
    locks: RefCell<Locks<usize>>,
    /// Whether a client must show [`TOKEN`].
    pub wants_token: bool,
    /// Whether requests for data are deferred.
    pub is_slow: Cell<bool>,
    /// The key of another session; that of the client once it has one.
    pub key: Cell<Option<Key>>,
}

impl Default for Memory {
    /// Returns an empty root, for clients without a token.
    fn default() -> Self {
        let root = Inode {
            is_directory: true,
            ..Inode::default()
        };
        Self {
            inodes: RefCell::new(vec![root]),
            locks: RefCell::default(),
            wants_token: false,
            is_slow: Cell::new(false),
            key: Cell::new(None),
        }
    }
}

impl Memory {
    /// Returns the type and number of a file.
    fn qid(&self, at: usize) -> Qid {
        let is_directory = self.inodes.borrow()[at].is_directory;
        Qid {
            kind: if is_directory {
                Qid::DIRECTORY
            } else {
                Qid::FILE
            },
            version: 0,
            path: at as u64,
        }
    }

    /// Adds a file to a directory.
    fn add(&self, directory: usize, name: &[u8], new: Inode) -> Result<usize> {
        let mut inodes = self.inodes.borrow_mut();
        let at = inodes.len();
        if !inodes[directory].is_directory {
            return Err(Errno::NOTDIR);
        }
        if inodes[directory].entries.contains_key(name) {
            return Err(Errno(17));
        }
        inodes[directory].entries.insert(name.to_vec(), at);
        let parent = directory;
        inodes.push(Inode { parent, ..new });
        Ok(at)
    }

    /// Returns the name of a file in its directory.
    fn name(&self, at: usize) -> Result<(usize, Vec<u8>)> {
        let inodes = self.inodes.borrow();
        let parent = inodes[at].parent;
        let mut entries = inodes[parent].entries.iter();
        let found = entries.find(|(_, other)| **other == at);
        found
            .map(|(name, _)| (parent, name.clone()))
            .ok_or(Errno::STALE)
    }

    /// Returns the file at a path from a directory, which must be no directory.
    fn file(&self, directory: &usize, path: &[u8]) -> Result<usize> {
        let path = if path.is_empty() { b"." } else { path };
        let found = self.walk(directory, path)?;
        match found.qid.kind {
            Qid::DIRECTORY => Err(Errno::ISDIR),
            _ => Ok(found.node),
        }
    }

    /// Returns the process that a request for a lock is from.
    fn holder(range: &LockRange<'_>) -> Holder {
        Holder {
            session: 0,
            process: range.process,
            client: range.client.to_vec(),
        }
    }

    /// Returns the lock that a request wants; `None` to unlock.
    fn lock_of(range: &LockRange<'_>) -> Option<Lock> {
        let (holder, mode) = (Self::holder(range), range.mode?);
        let (start, end) = (range.start, range.end);
        Some(Lock {
            holder,
            mode,
            start,
            end,
        })
    }
}

/// Returns a size in bytes that a file may have.
fn checked(size: u64) -> Result<usize> {
    match size <= FILE_BYTES {
        true => Ok(size as usize),
        false => Err(Errno(27)),
    }
}

impl Files for Memory {
    type Node = usize;
    type Open = usize;

    fn wants_token(&self) -> bool {
        self.wants_token
    }

    fn attach(&self, token: Option<&[u8]>, _export: &[u8]) -> Result<Node<usize>> {
        if self.wants_token && token != Some(TOKEN) {
            return Err(Errno::ACCES);
        }
        Ok(Node {
            node: 0,
            qid: self.qid(0),
        })
    }

    fn resume(&self, key: Key) -> Result<bool> {
        Ok(self.key.replace(Some(key)) == Some(key))
    }

    fn walk(&self, directory: &usize, path: &[u8]) -> Result<Node<usize>> {
        let inodes = self.inodes.borrow();
        let mut names = path.split(|byte| *byte == b'/');
        let found = names.try_fold(*directory, |directory, name| match name {
            b"." => Some(directory),
            b".." => Some(inodes[directory].parent),
            name => inodes[directory].entries.get(name).copied(),
        });
        drop(inodes);
        let node = found.ok_or(Errno::NOENT)?;
        Ok(Node {
            node,
            qid: self.qid(node),
        })
    }

    fn open(&self, node: &usize, _flags: u32) -> Result<Opened<usize>> {
        Ok(Opened {
            open: *node,
            qid: self.qid(*node),
        })
    }

    fn create(
        &self,
        directory: &usize,
        name: &[u8],
        flags: u32,
        mode: u32,
    ) -> Result<(usize, Opened<usize>)> {
        let new = Inode {
            mode,
            ..Inode::default()
        };
        let at = self.add(*directory, name, new)?;
        Ok((at, self.open(&at, flags)?))
    }

    fn read(&self, open: &usize, offset: u64, bytes: &mut [u8]) -> Poll<Result<usize>> {
        if self.is_slow.get() {
            return Poll::Pending;
        }
        let inodes = self.inodes.borrow();
        let rest = inodes[*open]
            .data
            .get(offset as usize..)
            .unwrap_or_default();
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        Poll::Ready(Ok(count))
    }

    fn fetch(
        &self,
        directory: &usize,
        path: &[u8],
        bytes: &mut [u8],
    ) -> Poll<Result<(Attributes, usize)>> {
        if self.is_slow.get() {
            return Poll::Pending;
        }
        let found = self.file(directory, path).and_then(|node| {
            let (node, open) = (&node, None);
            self.attributes(Subject { node, open })
                .map(|attributes| (*node, attributes))
        });
        Poll::Ready(found.map(|(node, attributes)| {
            let inodes = self.inodes.borrow();
            let data = &inodes[node].data;
            let count = data.len().min(bytes.len());
            bytes[..count].copy_from_slice(&data[..count]);
            (attributes, count)
        }))
    }

    fn status(&self) -> DaemonStatus {
        DaemonStatus {
            files: self.inodes.borrow().len() as u64,
            ..DaemonStatus::default()
        }
    }

    /// Lists all files.
    fn list_unstored(&self, from: u64, each: &mut dyn FnMut(UnstoredFile<'_>) -> bool) {
        let count = self.inodes.borrow().len() as u64;
        for number in from..count {
            let file = UnstoredFile {
                number,
                bytes: number,
                age_ms: 1,
                errno: 5,
                path: b"/file",
            };
            if !each(file) {
                return;
            }
        }
    }

    fn drain(&self) -> Poll<Result<()>> {
        match self.is_slow.get() {
            true => Poll::Pending,
            false => Poll::Ready(Ok(())),
        }
    }

    fn abandon(&self, number: u64, _: &[u8]) -> Poll<Result<u64>> {
        match self.is_slow.get() {
            true => Poll::Pending,
            false => Poll::Ready(Ok(number)),
        }
    }

    fn prefetch(&self, directory: &usize, path: &[u8]) -> Poll<Result<()>> {
        match self.is_slow.get() {
            true => Poll::Pending,
            false => Poll::Ready(self.file(directory, path).map(|_| ())),
        }
    }

    fn write(&self, open: &usize, offset: u64, bytes: &[u8]) -> Poll<Result<usize>> {
        if self.is_slow.get() {
            return Poll::Pending;
        }
        let data = &mut self.inodes.borrow_mut()[*open].data;
        let end = match checked(offset.saturating_add(bytes.len() as u64)) {
            Ok(end) => end,
            Err(error) => return Poll::Ready(Err(error)),
        };
        data.resize(data.len().max(end), 0);
        data[offset as usize..end].copy_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn sync(&self, _: &usize, _: SyncLevel) -> Poll<Result<()>> {
        Poll::Pending
    }

    fn close(&self, _: &usize) -> Poll<Result<()>> {
        match self.is_slow.get() {
            true => Poll::Pending,
            false => Poll::Ready(Ok(())),
        }
    }

    fn read_directory(
        &self,
        open: &usize,
        offset: u64,
        each: &mut dyn FnMut(Entry<'_>) -> bool,
    ) -> Result<()> {
        let entries = self.inodes.borrow()[*open].entries.clone();
        for (number, (name, at)) in entries.iter().enumerate().skip(offset as usize) {
            let entry = Entry {
                qid: self.qid(*at),
                next: number as u64 + 1,
                kind: 8,
                name,
            };
            if !each(entry) {
                break;
            }
        }
        Ok(())
    }

    fn attributes(&self, of: Subject<'_, Self>) -> Result<Attributes> {
        let inode = &self.inodes.borrow()[*of.node];
        Ok(Attributes {
            valid: Attributes::BASIC,
            qid: self.qid(*of.node),
            mode: inode.mode,
            size: inode.data.len() as u64,
            ..Attributes::default()
        })
    }

    fn change(&self, of: Subject<'_, Self>, change: &Change) -> Result<()> {
        if change.has(Change::SIZE) {
            let data = &mut self.inodes.borrow_mut()[*of.node].data;
            data.resize(checked(change.size)?, 0);
        }
        Ok(())
    }

    fn file_system(&self, _of: Subject<'_, Self>) -> Result<FileSystem> {
        Ok(FileSystem::default())
    }

    /// Returns a target as long as a path can be.
    fn read_link(&self, _node: &usize) -> Result<Vec<u8>> {
        Ok(vec![b'x'; 4095])
    }

    fn symlink(&self, _directory: &usize, _name: &[u8], _target: &[u8]) -> Result<Qid> {
        Err(Errno::PERM)
    }

    fn make_node(&self, _: &usize, _: &[u8], _: u32, _: (u32, u32)) -> Result<Qid> {
        Err(Errno::PERM)
    }

    fn make_directory(&self, directory: &usize, name: &[u8], mode: u32) -> Result<Qid> {
        let new = Inode {
            is_directory: true,
            mode,
            ..Inode::default()
        };
        let at = self.add(*directory, name, new)?;
        Ok(self.qid(at))
    }

    fn link(&self, _node: &usize, _directory: &usize, _name: &[u8]) -> Result<()> {
        Err(Errno::PERM)
    }

    fn rename(&self, from: &usize, old: &[u8], to: &usize, new: &[u8]) -> Result<()> {
        let mut inodes = self.inodes.borrow_mut();
        let moved = inodes[*from].entries.remove(old).ok_or(Errno::NOENT)?;
        inodes[*to].entries.insert(new.to_vec(), moved);
        inodes[moved].parent = *to;
        Ok(())
    }

    fn rename_node(&self, node: &usize, to: &usize, new: &[u8]) -> Result<()> {
        let (from, old) = self.name(*node)?;
        self.rename(&from, &old, to, new)
    }

    fn unlink(&self, directory: &usize, name: &[u8], is_directory: bool) -> Result<()> {
        let mut inodes = self.inodes.borrow_mut();
        let found = inodes[*directory].entries.get(name).copied();
        let found = found.ok_or(Errno::NOENT)?;
        if inodes[found].is_directory != is_directory {
            return Err(Errno::INVAL);
        }
        inodes[*directory].entries.remove(name);
        Ok(())
    }

    fn remove_node(&self, node: &usize) -> Result<()> {
        let (directory, name) = self.name(*node)?;
        let is_directory = self.inodes.borrow()[*node].is_directory;
        self.unlink(&directory, &name, is_directory)
    }

    fn xattr(&self, of: Subject<'_, Self>, name: &[u8]) -> Result<Vec<u8>> {
        let inodes = self.inodes.borrow();
        inodes[*of.node]
            .xattrs
            .get(name)
            .cloned()
            .ok_or(Errno::NODATA)
    }

    fn xattrs(&self, of: Subject<'_, Self>) -> Result<Vec<u8>> {
        let inodes = self.inodes.borrow();
        let names = inodes[*of.node].xattrs.keys();
        Ok(names.flat_map(|name| [name, &[0][..]].concat()).collect())
    }

    fn set_xattr(
        &self,
        of: Subject<'_, Self>,
        name: &[u8],
        value: Option<&[u8]>,
        _flags: u32,
    ) -> Result<()> {
        let xattrs = &mut self.inodes.borrow_mut()[*of.node].xattrs;
        match value {
            Some(value) => xattrs.insert(name.to_vec(), value.to_vec()),
            None => xattrs.remove(name),
        };
        Ok(())
    }

    fn lock(&self, open: &usize, range: &LockRange<'_>) -> Result<bool> {
        let mut locks = self.locks.borrow_mut();
        match Self::lock_of(range) {
            Some(wanted) => locks.lock(*open, wanted),
            None => {
                locks.unlock(*open, Self::holder(range), range.start, range.end);
                Ok(true)
            }
        }
    }

    fn unlock_all(&self) {
        self.locks.borrow_mut().end_session(0);
    }

    fn conflict(&self, open: &usize, range: &LockRange<'_>) -> Result<Option<Lock>> {
        let wanted = Self::lock_of(range).ok_or(Errno::INVAL)?;
        Ok(self.locks.borrow().conflict(open, &wanted).cloned())
    }
}
