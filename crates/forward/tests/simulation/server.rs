//! The files of a daemon as one connection sees them.

use super::daemon::Daemon;
use isthmus_forward::cache::FileId;
use isthmus_forward::message::{
    Attributes, Change, DaemonStatus, Entry, FileSystem, Key, Qid, UnstoredFile,
};
use isthmus_forward::{Errno, Files, Lock, LockRange, Node, Opened, Result, Subject, SyncLevel};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::task::Poll;

/// A file that a client has open.
pub struct Open {
    pub file: FileId,
    daemon: Rc<RefCell<Daemon>>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.daemon.borrow_mut().close(self.file);
    }
}

/// The files of a daemon, for the connection with this number.
pub struct Server {
    pub daemon: Rc<RefCell<Daemon>>,
    pub connection: u64,
}

impl Server {
    /// Opens a file by its number.
    pub fn open_inode(&self, inode: u64) -> Opened<Open> {
        let mut daemon = self.daemon.borrow_mut();
        let file = daemon.open(inode);
        let (number, born) = daemon.key(file);
        let daemon = Rc::clone(&self.daemon);
        let open = Open { file, daemon };
        let qid = qid(number, born);
        Opened { open, qid }
    }

    /// Returns the attributes of a file: those that the simulation uses.
    pub fn attributes_of(&self, inode: u64) -> Attributes {
        let daemon = self.daemon.borrow();
        let born = daemon.store.inodes[&inode].born;
        Attributes {
            valid: Attributes::BASIC | Attributes::CREATED,
            qid: qid(inode, born),
            size: daemon.size(inode),
            created_s: born,
            ..Attributes::default()
        }
    }
}

/// Returns the qid of a file: the version is the time of its creation.
fn qid(path: u64, born: u64) -> Qid {
    let version = born as u32;
    let kind = Qid::FILE;
    Qid {
        kind,
        version,
        path,
    }
}

/// Returns the range of a read.
pub fn range(offset: u64, count: usize) -> Range<u64> {
    offset..offset + count as u64
}

/// Says that the simulation has no such requests.
fn none<T>() -> Result<T> {
    Err(Errno::OPNOTSUPP)
}

impl Files for Server {
    /// A name; empty for the root.
    type Node = Vec<u8>;
    type Open = Open;

    fn wants_token(&self) -> bool {
        false
    }

    fn attach(&self, _: Option<&[u8]>, _: &[u8]) -> Result<Node<Vec<u8>>> {
        let (node, kind) = (Vec::new(), Qid::DIRECTORY);
        let (version, path) = (0, 0);
        let qid = Qid {
            kind,
            version,
            path,
        };
        Ok(Node { node, qid })
    }

    fn resume(&self, key: Key) -> Result<bool> {
        let daemon = &mut *self.daemon.borrow_mut();
        let known = daemon.keys.iter_mut().find(|(of, _)| *of == key);
        let is_known = known.is_some();
        match known {
            Some((_, connection)) => {
                daemon.ended.push(*connection);
                *connection = self.connection;
            }
            None => daemon.keys.push((key, self.connection)),
        }
        Ok(is_known)
    }

    fn walk(&self, _: &Vec<u8>, path: &[u8]) -> Result<Node<Vec<u8>>> {
        let inode = self.daemon.borrow().find(path)?;
        let (node, qid) = (path.to_vec(), self.attributes_of(inode).qid);
        Ok(Node { node, qid })
    }

    fn open(&self, node: &Vec<u8>, _: u32) -> Result<Opened<Open>> {
        let inode = self.daemon.borrow().find(node)?;
        Ok(self.open_inode(inode))
    }

    fn create(&self, _: &Vec<u8>, name: &[u8], _: u32, _: u32) -> Result<(Vec<u8>, Opened<Open>)> {
        let inode = self.daemon.borrow_mut().create(name)?;
        Ok((name.to_vec(), self.open_inode(inode)))
    }

    fn read(&self, open: &Open, offset: u64, bytes: &mut [u8]) -> Poll<Result<usize>> {
        let range = range(offset, bytes.len());
        match self.daemon.borrow_mut().read(open.file, &range) {
            None => Poll::Pending,
            Some(data) => {
                bytes[..data.len()].copy_from_slice(&data);
                Poll::Ready(Ok(data.len()))
            }
        }
    }

    fn write(&self, open: &Open, offset: u64, data: &[u8]) -> Poll<Result<usize>> {
        match self.daemon.borrow_mut().write(open.file, offset, data) {
            Ok(false) => Poll::Pending,
            Ok(true) => Poll::Ready(Ok(data.len())),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn sync(&self, open: &Open, level: SyncLevel) -> Poll<Result<()>> {
        match level {
            SyncLevel::Cached => Poll::Ready(self.daemon.borrow_mut().sync_in_cache(open.file)),
            _ => Poll::Pending,
        }
    }

    fn close(&self, _: &Open) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn fetch(
        &self,
        _: &Vec<u8>,
        path: &[u8],
        bytes: &mut [u8],
    ) -> Poll<Result<(Attributes, usize)>> {
        let inode = match self.daemon.borrow().find(path) {
            Ok(inode) => inode,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let opened = self.open_inode(inode);
        let attributes = self.attributes_of(inode);
        let read = self.read(&opened.open, 0, bytes);
        read.map(|read| read.map(|count| (attributes, count)))
    }

    fn prefetch(&self, _: &Vec<u8>, _: &[u8]) -> Poll<Result<()>> {
        Poll::Ready(none())
    }

    fn status(&self) -> DaemonStatus {
        DaemonStatus::default()
    }

    fn list_unstored(&self, _: u64, _: &mut dyn FnMut(UnstoredFile<'_>) -> bool) {}

    fn drain(&self) -> Poll<Result<()>> {
        Poll::Ready(none())
    }

    fn abandon(&self, _: u64, _: &[u8]) -> Poll<Result<u64>> {
        Poll::Ready(none())
    }

    fn read_directory(&self, _: &Open, _: u64, _: &mut dyn FnMut(Entry<'_>) -> bool) -> Result<()> {
        none()
    }

    fn attributes(&self, of: Subject<'_, Self>) -> Result<Attributes> {
        let inode = match of.open {
            Some(open) => self.daemon.borrow().key(open.file).0,
            None => self.daemon.borrow().find(of.node)?,
        };
        Ok(self.attributes_of(inode))
    }

    fn change(&self, of: Subject<'_, Self>, change: &Change) -> Result<()> {
        let open = of.open.ok_or(Errno::OPNOTSUPP)?;
        self.daemon.borrow_mut().cut(open.file, change.size)
    }

    fn file_system(&self, _: Subject<'_, Self>) -> Result<FileSystem> {
        none()
    }

    fn read_link(&self, _: &Vec<u8>) -> Result<Vec<u8>> {
        none()
    }

    fn symlink(&self, _: &Vec<u8>, _: &[u8], _: &[u8]) -> Result<Qid> {
        none()
    }

    fn make_node(&self, _: &Vec<u8>, _: &[u8], _: u32, _: (u32, u32)) -> Result<Qid> {
        none()
    }

    fn make_directory(&self, _: &Vec<u8>, _: &[u8], _: u32) -> Result<Qid> {
        none()
    }

    fn link(&self, _: &Vec<u8>, _: &Vec<u8>, _: &[u8]) -> Result<()> {
        none()
    }

    fn rename(&self, _: &Vec<u8>, old: &[u8], _: &Vec<u8>, new: &[u8]) -> Result<()> {
        self.daemon.borrow_mut().rename(old, new)
    }

    fn rename_node(&self, _: &Vec<u8>, _: &Vec<u8>, _: &[u8]) -> Result<()> {
        none()
    }

    fn unlink(&self, _: &Vec<u8>, name: &[u8], _: bool) -> Result<()> {
        self.daemon.borrow_mut().remove(name)
    }

    fn remove_node(&self, _: &Vec<u8>) -> Result<()> {
        none()
    }

    fn xattr(&self, _: Subject<'_, Self>, _: &[u8]) -> Result<Vec<u8>> {
        none()
    }

    fn xattrs(&self, _: Subject<'_, Self>) -> Result<Vec<u8>> {
        none()
    }

    fn set_xattr(&self, _: Subject<'_, Self>, _: &[u8], _: Option<&[u8]>, _: u32) -> Result<()> {
        none()
    }

    fn lock(&self, _: &Open, _: &LockRange<'_>) -> Result<bool> {
        none()
    }

    fn unlock_all(&self) {}

    fn conflict(&self, _: &Open, _: &LockRange<'_>) -> Result<Option<Lock>> {
        none()
    }
}
