//! The operations of a mount that are several requests to the daemon, and those on locks.

use super::convert::{attributes, error};
use super::locks::{HeldLock, Owner, UNLOCK, lock_mode};
use super::nodes::Nodes;
use super::shared::Shared;
use crate::link::{Done, Link};
use fuser::{
    Errno as KernelError, FileAttr, FileHandle, Generation, INodeNo, Notifier, ReplyEmpty,
    ReplyEntry,
};
use isthmus_forward::message::{Attributes, Path as Names, Reply, Request};
use isthmus_forward::{Buffer, Errno};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// Flags of Linux for opening files.
const O_CREAT: u32 = 0o100;
const O_EXCL: u32 = 0o200;
const O_TRUNC: u32 = 0o1000;
pub(super) const O_APPEND: u32 = 0o2000;
/// The flags that are for the moment of opening, or that the kernel itself obeys: it gives each write its offset.
pub(super) const ONCE: u32 = O_CREAT | O_EXCL | O_TRUNC | O_APPEND;

/// The time for which a process waits for a lock before its call ends with `EINTR`: the kernel does not let it
/// be killed meanwhile.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// The time between two attempts to get a lock: at first, and at most.
const FIRST_LOCK_PAUSE: Duration = Duration::from_millis(2);
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// Operations of one or more requests to the daemon.
pub(super) struct Operations {
    pub shared: Arc<Shared>,
    pub link: Arc<Link>,
    /// The time for which the kernel keeps names and attributes.
    pub fresh: Duration,
    /// Asks the kernel to drop data of files; set once it is mounted.
    pub notifier: Arc<OnceLock<Notifier>>,
}

/// The result of a request, once the daemon has answered.
pub(super) type Pending = Arc<OnceLock<Result<(), Errno>>>;

impl Operations {
    /// Return what the kernel knows, locked.
    pub fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.shared.nodes()
    }

    /// Return the fid of a file that the kernel knows.
    pub fn fid(&self, node: INodeNo) -> Result<u32, KernelError> {
        self.nodes().fid(node.0).ok_or(KernelError::ESTALE)
    }

    /// Return the fid of an open file, unless its lock was lost.
    pub fn handle(&self, handle: FileHandle) -> Result<u32, KernelError> {
        let fid = u32::try_from(handle.0).map_err(|_| KernelError::EBADF)?;
        match self.shared.lost().contains(&fid) {
            true => Err(KernelError::EIO),
            false => Ok(fid),
        }
    }

    /// Return the fid of an open file, or that for the attributes of the file.
    pub fn either(&self, node: INodeNo, handle: Option<FileHandle>) -> Result<u32, KernelError> {
        let of_file = || {
            let fid = self.nodes().fid_of_attributes(node.0);
            fid.ok_or(KernelError::ESTALE)
        };
        handle.map_or_else(of_file, |handle| self.handle(handle))
    }

    /// Send a request on whose success later requests depend, without waiting for the answer.
    pub fn send(&self, request: &Request<'_>) -> Pending {
        let pending = Pending::default();
        let result = Arc::clone(&pending);
        self.link.send(
            request,
            Box::new(move |reply| {
                // Nothing else sets it.
                let _ = result.set(reply.map(|_| ()));
            }),
        );
        pending
    }

    /// Send a walk from a fid to an entry, or to the same file, which creates `newfid`.
    pub fn walk(&self, fid: u32, newfid: u32, name: Option<&[u8]>) -> Pending {
        let mut bytes = Buffer::new();
        match Names::encode(name.into_iter(), &mut bytes) {
            Ok(path) => self.send(&Request::Walk { fid, newfid, path }),
            // The kernel has no names of this length.
            Err(_) => Arc::new(OnceLock::from(Err(Errno::NAMETOOLONG))),
        }
    }

    /// Have the daemon forget a fid, and use its number again.
    pub fn forget(self: &Arc<Self>, fid: u32) {
        let inner = Arc::clone(self);
        let done: Done = Box::new(move |reply| {
            // A daemon with too many requests that wait for the store keeps the fid.
            if reply.err() != Some(Errno::AGAIN) {
                inner.nodes().free_fid(fid);
            }
        });
        self.link.send(&Request::Clunk { fid }, done);
    }

    /// Ask for an entry of a directory. `done` gets its attributes as the kernel knows it.
    pub fn find(
        self: &Arc<Self>,
        parent: INodeNo,
        directory: u32,
        name: &OsStr,
        done: impl FnOnce(Result<FileAttr, Errno>) + Send + 'static,
    ) {
        self.find_once((parent, directory), name.as_bytes().to_vec(), false, done);
    }

    /// Ask for an entry of a directory, and once more if the connection is lost between the two replies.
    fn find_once(
        self: &Arc<Self>,
        (parent, directory): (INodeNo, u32),
        name: Vec<u8>,
        is_second: bool,
        done: impl FnOnce(Result<FileAttr, Errno>) + Send + 'static,
    ) {
        let fid = self.nodes().new_fid();
        let walk = self.walk(directory, fid, Some(&name));
        let inner = Arc::clone(self);
        self.attributes(fid, move |result| match result {
            Ok(of) => {
                let (number, unused) = inner.nodes().found(parent.0, &name, fid, &of);
                if let Some(unused) = unused {
                    inner.forget(unused);
                }
                done(Ok(attributes(&of, number)));
            }
            Err(errno) => {
                let walk = walk.get().copied().unwrap_or(Err(errno));
                match walk {
                    Ok(()) => inner.forget(fid),
                    Err(_) => inner.nodes().free_fid(fid),
                }
                if walk.is_ok() && errno == Errno::STALE && !is_second {
                    return inner.find_once((parent, directory), name, true, done);
                }
                done(Err(walk.err().unwrap_or(errno)));
            }
        });
    }

    /// Ask for the attributes of a fid.
    pub fn attributes(
        &self,
        fid: u32,
        done: impl FnOnce(Result<Attributes, Errno>) + Send + 'static,
    ) {
        let mask = Attributes::BASIC;
        self.link.send(
            &Request::GetAttributes { fid, mask },
            Box::new(move |reply| {
                done(match reply {
                    Ok(Reply::GetAttributes { attributes }) => Ok(attributes),
                    Ok(_) => Err(Errno::PROTO),
                    Err(errno) => Err(errno),
                });
            }),
        );
    }

    /// Answer with an entry that a request before has created, or with the error of that request.
    pub fn answer_created(
        self: &Arc<Self>,
        parent: INodeNo,
        directory: u32,
        name: &OsStr,
        made: Pending,
        reply: ReplyEntry,
    ) {
        let fresh = self.fresh;
        self.find(parent, directory, name, move |found| {
            let made = made.get().copied().unwrap_or(Ok(()));
            match made.and(found) {
                Ok(found) => reply.entry(&fresh, &found, Generation(0)),
                Err(errno) => reply.error(error(errno)),
            }
        });
    }

    /// Open a file: a new fid of the same file. `done` gets the fid and the attributes of the open file.
    pub fn open(
        self: &Arc<Self>,
        node: INodeNo,
        flags: u32,
        done: impl FnOnce(Result<(u32, Attributes), Errno>) + Send + 'static,
    ) {
        let Ok(of) = self.fid(node) else {
            return done(Err(Errno::STALE));
        };
        let fid = self.nodes().opens(node.0);
        let walk = self.walk(of, fid, None);
        let opened = Pending::default();
        let (inner, result) = (Arc::clone(self), Arc::clone(&opened));
        self.link.send(
            &Request::Open {
                fid,
                flags: flags & !O_APPEND,
            },
            Box::new(move |reply| {
                // Before the next reply: if the connection is lost then, the fid comes back open.
                if reply.is_ok() {
                    inner.nodes().opened(fid, node.0, flags & !ONCE);
                }
                // Nothing else sets it.
                let _ = result.set(reply.map(|_| ()));
            }),
        );
        let inner = Arc::clone(self);
        self.attributes(fid, move |result| {
            let state = |pending: Pending| pending.get().copied().unwrap_or(Err(Errno::IO));
            let (walk, opened) = (state(walk), state(opened));
            match walk.and(opened).and(result) {
                Ok(attributes) => done(Ok((fid, attributes))),
                Err(errno) => {
                    match walk {
                        Ok(()) => inner.forget(fid),
                        Err(_) => inner.nodes().free_fid(fid),
                    }
                    done(Err(errno));
                }
            }
        });
    }

    /// Answer a process that has got a lock: the kernel drops its data and attributes of the file first, so that the
    /// process finds what others have written. The kernel waits for reads and writes of the file that are under way.
    pub fn answer_locked(&self, lock: &HeldLock, reply: ReplyEmpty) {
        let dropped = match self.notifier.get() {
            Some(notifier) => notifier.inval_inode(INodeNo(lock.node), 0, 0),
            None => Ok(()),
        };
        if dropped.is_ok() {
            return reply.ok();
        }
        self.nodes().lock(*lock, true);
        let owner = Owner::of(lock);
        self.link.post(&owner.request(lock, UNLOCK));
        reply.error(KernelError::EIO);
    }

    /// Ask for a lock until the process has it, or the time for which it waits is over.
    pub fn wait_for_lock(self: &Arc<Self>, lock: HeldLock, reply: ReplyEmpty) {
        let end = Instant::now() + LOCK_WAIT;
        let mut pause = FIRST_LOCK_PAUSE;
        loop {
            let (sender, receiver) = std::sync::mpsc::channel();
            let inner = Arc::clone(self);
            let done: Done = Box::new(move |reply| {
                let status = match reply {
                    Ok(Reply::Lock { status }) => Ok(status),
                    Ok(_) => Err(Errno::PROTO),
                    Err(errno) => Err(errno),
                };
                // Before the next reply: if the connection is lost then, the lock is taken again.
                if status == Ok(0) {
                    inner.nodes().lock(lock, false);
                }
                // The receiver waits below.
                let _ = sender.send(status);
            });
            let owner = Owner::of(&lock);
            self.link
                .send(&owner.request(&lock, lock_mode(&lock)), done);
            match receiver.recv().unwrap_or(Err(Errno::IO)) {
                Ok(0) => return self.answer_locked(&lock, reply),
                Ok(1) if Instant::now() < end => {}
                Ok(1) => return reply.error(KernelError::EINTR),
                Ok(_) => return reply.error(KernelError::ENOLCK),
                Err(errno) => return reply.error(error(errno)),
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOCK_PAUSE);
        }
    }
}
