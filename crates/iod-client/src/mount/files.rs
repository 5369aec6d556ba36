//! The requests of the kernel, each as one or more requests to the daemon. None waits for the daemon:
//! the kernel gets the reply from the thread that reads those of the daemon.

use super::Shared;
use super::convert::{attributes, change, entry_kind, error};
use super::nodes::{HeldLock, Nodes};
use crate::link::{Done, Link};
use fuser::{
    AccessFlags, BsdFileFlags, Errno as KernelError, FileAttr, FileHandle, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLock, ReplyOpen,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request as KernelRequest, TimeOrNow, WriteFlags,
};
use isthmus_forward::message::{Attributes, Data, Entry, Path as Names, Reply, Request, Trailing};
use isthmus_forward::{Buffer, Errno};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::{Duration, SystemTime};

/// Flags of Linux for opening files.
const O_CREAT: u32 = 0o100;
const O_EXCL: u32 = 0o200;
const O_TRUNC: u32 = 0o1000;
const O_APPEND: u32 = 0o2000;
const O_DIRECTORY: u32 = 0o200_000;

/// The flags that are for the moment of opening, or that the kernel itself obeys: it gives each write its offset.
const ONCE: u32 = O_CREAT | O_EXCL | O_TRUNC | O_APPEND;

/// Types of locks of Linux.
const F_RDLCK: i32 = 0;
const F_WRLCK: i32 = 1;
const F_UNLCK: i32 = 2;

/// The bytes of entries that are asked for at once: as many as the kernel takes.
const ENTRIES_BYTES: u32 = 4096;

/// The time for which a process waits for a lock before its call ends with `EINTR`: the kernel does not let it
/// be killed meanwhile.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// The time between two attempts to get a lock: at first, and at most.
const FIRST_LOCK_PAUSE: Duration = Duration::from_millis(2);
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// The level of [`Request::Commit`] for what a close waits for.
const CLOSED: u8 = 0;

/// Remove a directory, in a request to remove an entry.
const REMOVE_DIRECTORY: u32 = 0x200;

/// The files of a daemon as a file system of the kernel.
pub(super) struct MountedFiles(Arc<Inner>);

/// What replies need as well.
struct Inner {
    shared: Arc<Shared>,
    link: Arc<Link>,
    /// The time for which the kernel keeps names and attributes.
    fresh: Duration,
}

/// The result of a request that others depend on.
type First = Arc<OnceLock<Result<(), Errno>>>;

/// Return a lock's mode as the protocol has it.
pub(super) fn lock_mode(lock: &HeldLock) -> u8 {
    u8::from(!lock.is_shared)
}

/// Return the request for a lock, or to unlock in mode 2.
pub(super) fn lock_request<'a>(lock: &HeldLock, mode: u8, client: &'a [u8]) -> Request<'a> {
    Request::Lock {
        fid: lock.fid,
        mode,
        flags: 0,
        start: lock.start,
        length: length(lock),
        process: owner_number(lock.owner),
        client,
    }
}

/// Return the length of a lock: 0 is to the end.
fn length(lock: &HeldLock) -> u64 {
    match lock.end {
        end if end >= i64::MAX as u64 => 0,
        end => end - lock.start + 1,
    }
}

/// Return the number by which the daemon knows the owner of a lock, which the kernel gives in 64 bits.
fn owner_number(owner: u64) -> u32 {
    (owner ^ (owner >> 32)) as u32
}

impl Inner {
    /// Return what the kernel knows, locked.
    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.shared.nodes()
    }

    /// Return the fid of a file that the kernel knows.
    fn fid(&self, node: INodeNo) -> Result<u32, KernelError> {
        self.nodes().fid(node.0).ok_or(KernelError::ESTALE)
    }

    /// Return the fid of an open file, unless its lock was lost.
    fn handle(&self, handle: FileHandle) -> Result<u32, KernelError> {
        let fid = u32::try_from(handle.0).map_err(|_| KernelError::EBADF)?;
        match self.shared.lost().contains(&fid) {
            true => Err(KernelError::EIO),
            false => Ok(fid),
        }
    }

    /// Return the fid of an open file, or of the file.
    fn either(&self, node: INodeNo, handle: Option<FileHandle>) -> Result<u32, KernelError> {
        handle.map_or_else(|| self.fid(node), |handle| self.handle(handle))
    }

    /// Send a request whose failure makes those after it fail too. Return where its result will be.
    fn first(&self, request: &Request<'_>) -> First {
        let first = First::default();
        let result = Arc::clone(&first);
        self.link.send(
            request,
            Box::new(move |reply| {
                // It is set here alone.
                let _ = result.set(reply.map(|_| ()));
            }),
        );
        first
    }

    /// Send a walk from a fid to an entry, or to the same file, which creates `newfid`.
    fn walk(&self, fid: u32, newfid: u32, name: Option<&[u8]>) -> First {
        let mut bytes = Buffer::new();
        match Names::encode(name.into_iter(), &mut bytes) {
            Ok(path) => self.first(&Request::Walk { fid, newfid, path }),
            // The kernel has no names of this length.
            Err(_) => Arc::new(OnceLock::from(Err(Errno::NAMETOOLONG))),
        }
    }

    /// Have the daemon forget a fid, and use its number again.
    fn forget(self: &Arc<Self>, fid: u32) {
        let inner = Arc::clone(self);
        let done: Done = Box::new(move |reply| {
            // Without a tag for the request, the daemon keeps the fid.
            if reply.err() != Some(Errno::AGAIN) {
                inner.nodes().free_fid(fid);
            }
        });
        self.link.send(&Request::Clunk { fid }, done);
    }

    /// Ask for an entry of a directory. `done` gets its attributes as the kernel knows it.
    fn find(
        self: &Arc<Self>,
        parent: INodeNo,
        directory: u32,
        name: &OsStr,
        done: impl FnOnce(Result<(FileAttr, Attributes), Errno>) + Send + 'static,
    ) {
        self.find_once((parent, directory), name.as_bytes().to_vec(), false, done);
    }

    /// Ask for an entry of a directory, and once more if the connection is lost between the two replies.
    fn find_once(
        self: &Arc<Self>,
        (parent, directory): (INodeNo, u32),
        name: Vec<u8>,
        is_second: bool,
        done: impl FnOnce(Result<(FileAttr, Attributes), Errno>) + Send + 'static,
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
                done(Ok((attributes(&of, number), of)));
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
    fn attributes(&self, fid: u32, done: impl FnOnce(Result<Attributes, Errno>) + Send + 'static) {
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
    fn answer_created(
        self: &Arc<Self>,
        parent: INodeNo,
        directory: u32,
        name: &OsStr,
        made: First,
        reply: ReplyEntry,
    ) {
        let fresh = self.fresh;
        self.find(parent, directory, name, move |found| {
            let made = made.get().copied().unwrap_or(Ok(()));
            match made.and(found) {
                Ok((found, _)) => reply.entry(&fresh, &found, Generation(0)),
                Err(errno) => reply.error(error(errno)),
            }
        });
    }

    /// Open a file: a new fid of the same file. `done` gets the fid and the attributes of the open file.
    fn open(
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
        let opened = First::default();
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
                // It is set here alone.
                let _ = result.set(reply.map(|_| ()));
            }),
        );
        let inner = Arc::clone(self);
        self.attributes(fid, move |result| {
            let state = |first: First| first.get().copied().unwrap_or(Err(Errno::IO));
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

    /// Ask for a lock until the process has it, or the time for which it waits is over.
    fn wait_for_lock(self: &Arc<Self>, lock: HeldLock, reply: ReplyEmpty) {
        let end = std::time::Instant::now() + LOCK_WAIT;
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
            let request = lock_request(&lock, lock_mode(&lock), CLIENT);
            self.link.send(&request, done);
            match receiver.recv().unwrap_or(Err(Errno::IO)) {
                Ok(0) => return reply.ok(),
                Ok(1) if std::time::Instant::now() < end => {}
                Ok(1) => return reply.error(KernelError::EINTR),
                Ok(_) => return reply.error(KernelError::ENOLCK),
                Err(errno) => return reply.error(error(errno)),
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOCK_PAUSE);
        }
    }
}

/// The name that the mount has as a holder of locks: the daemon distinguishes mounts by their connections.
pub(super) const CLIENT: &[u8] = b"isthmus";

/// Return what answers the kernel with success or an error.
fn answer(reply: ReplyEmpty) -> Done {
    Box::new(move |result| match result {
        Ok(_) => reply.ok(),
        Err(errno) => reply.error(error(errno)),
    })
}

/// Return a value, or answer the kernel with the error.
macro_rules! or_answer {
    ($result:expr, $reply:ident) => {
        match $result {
            Ok(value) => value,
            Err(error) => return $reply.error(error),
        }
    };
}

impl MountedFiles {
    /// Create the file system.
    pub fn new(shared: Arc<Shared>, link: Arc<Link>, fresh: Duration) -> Self {
        Self(Arc::new(Inner {
            shared,
            link,
            fresh,
        }))
    }
}

impl Filesystem for MountedFiles {
    fn init(&mut self, _: &KernelRequest, config: &mut KernelConfig) -> std::io::Result<()> {
        let most = self.0.link.data_bytes() & !4095;
        // Where the kernel refuses a value, the default remains.
        let _ = config.set_max_write(most.max(4096));
        let _ = config.set_max_readahead(most);
        let _ = config.set_max_background(64);
        let wanted = [
            InitFlags::FUSE_ATOMIC_O_TRUNC,
            InitFlags::FUSE_AUTO_INVAL_DATA,
            InitFlags::FUSE_POSIX_LOCKS,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_ASYNC_DIO,
        ];
        for each in wanted {
            // Kernels without one of these do without.
            let _ = config.add_capabilities(each);
        }
        Ok(())
    }

    fn lookup(&self, _: &KernelRequest, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let directory = or_answer!(self.0.fid(parent), reply);
        let fresh = self.0.fresh;
        self.0
            .find(parent, directory, name, move |found| match found {
                Ok((found, _)) => reply.entry(&fresh, &found, Generation(0)),
                Err(errno) => reply.error(error(errno)),
            });
    }

    fn forget(&self, _: &KernelRequest, node: INodeNo, count: u64) {
        let fids = self.0.nodes().forget(node.0, count);
        for fid in fids {
            self.0.forget(fid);
        }
    }

    fn getattr(
        &self,
        _: &KernelRequest,
        node: INodeNo,
        handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        let fid = or_answer!(self.0.either(node, handle), reply);
        let fresh = self.0.fresh;
        self.0.attributes(fid, move |result| match result {
            Ok(of) => reply.attr(&fresh, &attributes(&of, node.0)),
            Err(errno) => reply.error(error(errno)),
        });
    }

    fn setattr(
        &self,
        _: &KernelRequest,
        node: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let fid = or_answer!(self.0.either(node, handle), reply);
        let time = |time: Option<TimeOrNow>| {
            time.map(|time| match time {
                TimeOrNow::SpecificTime(time) => Some(time),
                TimeOrNow::Now => None,
            })
        };
        let change = change((mode, uid, gid, size), time(accessed), time(modified));
        if size.is_some()
            && let Some(FileHandle(handle)) = handle
        {
            self.0
                .nodes()
                .mark_written(u32::try_from(handle).unwrap_or(u32::MAX));
        }
        let changed = self.0.first(&Request::SetAttributes { fid, change });
        let fresh = self.0.fresh;
        self.0.attributes(fid, move |result| {
            let changed = changed.get().copied().unwrap_or(Err(Errno::IO));
            match changed.and(result) {
                Ok(of) => reply.attr(&fresh, &attributes(&of, node.0)),
                Err(errno) => reply.error(error(errno)),
            }
        });
    }

    fn readlink(&self, _: &KernelRequest, node: INodeNo, reply: ReplyData) {
        let fid = or_answer!(self.0.fid(node), reply);
        self.0.link.send(
            &Request::ReadLink { fid },
            Box::new(move |result| match result {
                Ok(Reply::ReadLink { target }) => reply.data(target),
                Ok(_) => reply.error(KernelError::EIO),
                Err(errno) => reply.error(error(errno)),
            }),
        );
    }

    fn mknod(
        &self,
        _: &KernelRequest,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let fid = or_answer!(self.0.fid(parent), reply);
        let made = self.0.first(&Request::MakeNode {
            fid,
            name: name.as_bytes(),
            mode,
            major: (device >> 8) & 0xfff,
            minor: (device & 0xff) | ((device >> 12) & 0xf_ff00),
            gid: u32::MAX,
        });
        self.0.answer_created(parent, fid, name, made, reply);
    }

    fn mkdir(
        &self,
        _: &KernelRequest,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let fid = or_answer!(self.0.fid(parent), reply);
        let made = self.0.first(&Request::MakeDirectory {
            fid,
            name: name.as_bytes(),
            mode,
            gid: u32::MAX,
        });
        self.0.answer_created(parent, fid, name, made, reply);
    }

    fn symlink(
        &self,
        _: &KernelRequest,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let fid = or_answer!(self.0.fid(parent), reply);
        let made = self.0.first(&Request::Symlink {
            fid,
            name: name.as_bytes(),
            target: target.as_os_str().as_bytes(),
            gid: u32::MAX,
        });
        self.0.answer_created(parent, fid, name, made, reply);
    }

    fn link(
        &self,
        _: &KernelRequest,
        node: INodeNo,
        parent: INodeNo,
        name: &OsStr,
        reply: ReplyEntry,
    ) {
        let fid = or_answer!(self.0.fid(node), reply);
        let directory = or_answer!(self.0.fid(parent), reply);
        let made = self.0.first(&Request::Link {
            directory,
            fid,
            name: name.as_bytes(),
        });
        self.0.answer_created(parent, directory, name, made, reply);
    }

    fn unlink(&self, _: &KernelRequest, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.remove(parent, name, 0, reply);
    }

    fn rmdir(&self, _: &KernelRequest, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.remove(parent, name, REMOVE_DIRECTORY, reply);
    }

    fn rename(
        &self,
        _: &KernelRequest,
        parent: INodeNo,
        name: &OsStr,
        to: INodeNo,
        new: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !flags.is_empty() {
            return reply.error(KernelError::EINVAL);
        }
        let from = or_answer!(self.0.fid(parent), reply);
        let directory = or_answer!(self.0.fid(to), reply);
        let (inner, old) = (Arc::clone(&self.0), name.as_bytes().to_vec());
        let name = new.as_bytes().to_vec();
        self.0.link.send(
            &Request::RenameAt {
                from,
                old: &old.clone(),
                to: directory,
                new: &name.clone(),
            },
            Box::new(move |result| match result {
                Ok(_) => {
                    inner.nodes().renamed(parent.0, &old, to.0, &name);
                    reply.ok();
                }
                Err(errno) => reply.error(error(errno)),
            }),
        );
    }

    fn open(&self, _: &KernelRequest, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let inner = Arc::clone(&self.0);
        let flags = flags.0 as u32;
        self.0.open(node, flags, move |opened| match opened {
            Ok((fid, of)) => {
                let is_unchanged = inner.nodes().is_unchanged(node.0, &of);
                let flags = match is_unchanged {
                    true => FopenFlags::FOPEN_KEEP_CACHE,
                    false => FopenFlags::empty(),
                };
                reply.opened(FileHandle(fid.into()), flags);
            }
            Err(errno) => reply.error(error(errno)),
        });
    }

    fn create(
        &self,
        _: &KernelRequest,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let directory = or_answer!(self.0.fid(parent), reply);
        let flags = flags as u32;
        let fid = self.0.nodes().opens(parent.0);
        let walk = self.0.walk(directory, fid, None);
        let made = self.0.first(&Request::Create {
            fid,
            name: name.as_bytes(),
            flags: flags & !O_APPEND,
            mode,
            gid: u32::MAX,
        });
        let inner = Arc::clone(&self.0);
        self.0.find(parent, directory, name, move |found| {
            let state = |first: First| first.get().copied().unwrap_or(Err(Errno::IO));
            let (walk, made) = (state(walk), state(made));
            match walk.and(made).and(found) {
                Ok((of, _)) => {
                    inner.nodes().opened(fid, of.ino.0, flags & !ONCE);
                    let handle = FileHandle(fid.into());
                    let flags = FopenFlags::empty();
                    reply.created(&inner.fresh, &of, Generation(0), handle, flags);
                }
                Err(errno) => {
                    match walk {
                        Ok(()) => inner.forget(fid),
                        Err(_) => inner.nodes().free_fid(fid),
                    }
                    reply.error(error(errno));
                }
            }
        });
    }

    fn read(
        &self,
        _: &KernelRequest,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        count: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let fid = or_answer!(self.0.handle(handle), reply);
        self.0.link.send(
            &Request::Read { fid, offset, count },
            Box::new(move |result| match result {
                Ok(Reply::Read { data }) => reply.data(data.0),
                Ok(_) => reply.error(KernelError::EIO),
                Err(errno) => reply.error(error(errno)),
            }),
        );
    }

    fn write(
        &self,
        _: &KernelRequest,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let fid = or_answer!(self.0.handle(handle), reply);
        self.0.nodes().mark_written(fid);
        let data = Data(data);
        self.0.link.send(
            &Request::Write { fid, offset, data },
            Box::new(move |result| match result {
                Ok(Reply::Write { count }) => reply.written(count),
                Ok(_) => reply.error(KernelError::EIO),
                Err(errno) => reply.error(error(errno)),
            }),
        );
    }

    fn flush(
        &self,
        _: &KernelRequest,
        node: INodeNo,
        handle: FileHandle,
        LockOwner(owner): LockOwner,
        reply: ReplyEmpty,
    ) {
        let fid = u32::try_from(handle.0).unwrap_or(u32::MAX);
        let all = HeldLock {
            node: node.0,
            fid,
            owner,
            is_shared: true,
            start: 0,
            end: u64::MAX,
        };
        let (has_locks, was_written) = {
            let mut nodes = self.0.nodes();
            let held = |lock: &HeldLock| (lock.node, lock.owner) == (node.0, owner);
            let has_locks = nodes.locks.iter().any(held);
            nodes.lock(all, true);
            (has_locks, nodes.take_written(fid))
        };
        let unlock = lock_request(&all, UNLOCK, CLIENT);
        match (has_locks, was_written) {
            (false, false) => return reply.ok(),
            // Other clients can have the lock once the file is closed.
            (true, false) => return self.0.link.send(&unlock, answer(reply)),
            (true, true) => self.0.link.post(&unlock),
            (false, true) => {}
        }
        let level = CLOSED;
        let done: Done = Box::new(move |result| match result {
            // A foreign server has no levels: what is written is with its system.
            Ok(_) | Err(Errno::OPNOTSUPP) => reply.ok(),
            Err(errno) => reply.error(error(errno)),
        });
        self.0.link.send(&Request::Commit { fid, level }, done);
    }

    fn release(
        &self,
        _: &KernelRequest,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.close(handle);
        reply.ok();
    }

    fn fsync(
        &self,
        _: &KernelRequest,
        _: INodeNo,
        handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        let fid = or_answer!(self.0.handle(handle), reply);
        let data_only = Trailing(data_only.into());
        let request = Request::Fsync { fid, data_only };
        self.0.link.send(&request, answer(reply));
    }

    fn opendir(&self, _: &KernelRequest, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let flags = flags.0 as u32 | O_DIRECTORY;
        self.0.open(node, flags, move |opened| match opened {
            Ok((fid, _)) => reply.opened(FileHandle(fid.into()), FopenFlags::empty()),
            Err(errno) => reply.error(error(errno)),
        });
    }

    fn readdir(
        &self,
        _: &KernelRequest,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let fid = or_answer!(self.0.handle(handle), reply);
        let inner = Arc::clone(&self.0);
        let count = ENTRIES_BYTES;
        self.0.link.send(
            &Request::ReadDirectory { fid, offset, count },
            Box::new(move |result| {
                let entries = match result {
                    Ok(Reply::ReadDirectory { entries }) => entries,
                    Ok(_) => return reply.error(KernelError::EIO),
                    Err(errno) => return reply.error(error(errno)),
                };
                for entry in Entry::read_all(entries.0) {
                    let Ok(entry) = entry else {
                        return reply.error(KernelError::EIO);
                    };
                    let number = INodeNo(inner.nodes().kernel_number(entry.qid.path));
                    let name = OsStr::from_bytes(entry.name);
                    if reply.add(number, entry.next, entry_kind(entry.kind), name) {
                        break;
                    }
                }
                reply.ok();
            }),
        );
    }

    fn releasedir(
        &self,
        _: &KernelRequest,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.close(handle);
        reply.ok();
    }

    fn fsyncdir(
        &self,
        request: &KernelRequest,
        node: INodeNo,
        handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.fsync(request, node, handle, data_only, reply);
    }

    fn statfs(&self, _: &KernelRequest, node: INodeNo, reply: ReplyStatfs) {
        let fid = or_answer!(self.0.fid(node), reply);
        self.0.link.send(
            &Request::StatFs { fid },
            Box::new(move |result| match result {
                Ok(Reply::StatFs { state }) => reply.statfs(
                    state.blocks,
                    state.free,
                    state.available,
                    state.files,
                    state.free_files,
                    state.block_bytes,
                    state.name_bytes,
                    state.block_bytes,
                ),
                Ok(_) => reply.error(KernelError::EIO),
                Err(errno) => reply.error(error(errno)),
            }),
        );
    }

    fn setxattr(
        &self,
        _: &KernelRequest,
        node: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        self.set_xattr(node, name, value, flags as u32, reply);
    }

    fn getxattr(
        &self,
        _: &KernelRequest,
        node: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        // The kernel asks for these at each write; the daemon serves none of them.
        if name.as_bytes().starts_with(b"security.") {
            return reply.error(KernelError::EOPNOTSUPP);
        }
        self.xattr(node, name.as_bytes(), size, reply);
    }

    fn listxattr(&self, _: &KernelRequest, node: INodeNo, size: u32, reply: ReplyXattr) {
        self.xattr(node, b"", size, reply);
    }

    fn removexattr(&self, _: &KernelRequest, node: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        const REPLACE: u32 = 2;
        self.set_xattr(node, name, b"", REPLACE, reply);
    }

    fn access(&self, _: &KernelRequest, node: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let fid = or_answer!(self.0.fid(node), reply);
        let mask = mask.bits() as u32 & 7;
        self.0.attributes(fid, move |result| match result {
            // The daemon decides when a file is opened. Here: whether anyone may do all of this.
            Ok(of)
                if [6, 3, 0]
                    .iter()
                    .any(|bits| (of.mode >> bits) & mask == mask) =>
            {
                reply.ok()
            }
            Ok(_) => reply.error(KernelError::EACCES),
            Err(errno) => reply.error(error(errno)),
        });
    }

    fn getlk(
        &self,
        _: &KernelRequest,
        _: INodeNo,
        handle: FileHandle,
        LockOwner(owner): LockOwner,
        start: u64,
        end: u64,
        kind: i32,
        _: u32,
        reply: ReplyLock,
    ) {
        let fid = or_answer!(self.0.handle(handle), reply);
        let wanted = HeldLock {
            node: 0,
            fid,
            owner,
            is_shared: kind == F_RDLCK,
            start,
            end,
        };
        let request = Request::GetLock {
            fid,
            mode: lock_mode(&wanted),
            start,
            length: length(&wanted),
            process: owner_number(owner),
            client: CLIENT,
        };
        self.0.link.send(
            &request,
            Box::new(move |result| match result {
                Ok(Reply::GetLock {
                    mode: UNLOCK,
                    start,
                    ..
                }) => reply.locked(start, end, F_UNLCK, 0),
                Ok(Reply::GetLock {
                    mode,
                    start,
                    length,
                    ..
                }) => {
                    let kind = if mode == 0 { F_RDLCK } else { F_WRLCK };
                    let end = match length {
                        0 => i64::MAX as u64,
                        length => start + length - 1,
                    };
                    // The process is another host's, or of a mount that does not know it.
                    reply.locked(start, end, kind, 0);
                }
                Ok(_) => reply.error(KernelError::EIO),
                Err(errno) => reply.error(error(errno)),
            }),
        );
    }

    fn setlk(
        &self,
        _: &KernelRequest,
        node: INodeNo,
        handle: FileHandle,
        LockOwner(owner): LockOwner,
        start: u64,
        end: u64,
        kind: i32,
        _: u32,
        waits: bool,
        reply: ReplyEmpty,
    ) {
        let fid = match kind {
            // A lock that was lost is released as well.
            F_UNLCK => u32::try_from(handle.0).map_err(|_| KernelError::EBADF),
            _ => self.0.handle(handle),
        };
        let fid = or_answer!(fid, reply);
        let lock = HeldLock {
            node: node.0,
            fid,
            owner,
            is_shared: kind == F_RDLCK,
            start,
            end,
        };
        if kind == F_UNLCK {
            self.0.nodes().lock(lock, true);
            let request = lock_request(&lock, UNLOCK, CLIENT);
            return self.0.link.send(&request, answer(reply));
        }
        if waits {
            let inner = Arc::clone(&self.0);
            let thread = std::thread::Builder::new().name("lock".into());
            // Without a thread the process gets EIO, when the reply is dropped.
            let _ = thread.spawn(move || inner.wait_for_lock(lock, reply));
            return;
        }
        let inner = Arc::clone(&self.0);
        let request = lock_request(&lock, lock_mode(&lock), CLIENT);
        self.0.link.send(
            &request,
            Box::new(move |result| match result {
                Ok(Reply::Lock { status: 0 }) => {
                    inner.nodes().lock(lock, false);
                    reply.ok();
                }
                Ok(Reply::Lock { status: 1 }) => reply.error(KernelError::EAGAIN),
                Ok(_) => reply.error(KernelError::ENOLCK),
                Err(errno) => reply.error(error(errno)),
            }),
        );
    }
}

/// The mode of a request that unlocks.
const UNLOCK: u8 = 2;

impl MountedFiles {
    /// Remove an entry of a directory.
    fn remove(&self, parent: INodeNo, name: &OsStr, flags: u32, reply: ReplyEmpty) {
        let directory = or_answer!(self.0.fid(parent), reply);
        let (inner, name) = (Arc::clone(&self.0), name.as_bytes().to_vec());
        self.0.link.send(
            &Request::UnlinkAt {
                directory,
                name: &name.clone(),
                flags,
            },
            Box::new(move |result| match result {
                Ok(_) => {
                    inner.nodes().removed(parent.0, &name);
                    reply.ok();
                }
                Err(errno) => reply.error(error(errno)),
            }),
        );
    }

    /// Close an open file.
    fn close(&self, FileHandle(handle): FileHandle) {
        if let Ok(fid) = u32::try_from(handle) {
            self.0.shared.lost().remove(&fid);
            let locks = self.0.nodes().locks_of(fid);
            for lock in locks {
                self.0.link.post(&lock_request(&lock, UNLOCK, CLIENT));
            }
            self.0.forget(fid);
        }
    }

    /// Answer with the value of an extended attribute, or with the list of names.
    fn xattr(&self, node: INodeNo, name: &[u8], size: u32, reply: ReplyXattr) {
        let fid = or_answer!(self.0.fid(node), reply);
        let newfid = self.0.nodes().new_fid();
        let walk = self.0.first(&Request::WalkXattr { fid, newfid, name });
        let count = self.0.link.data_bytes();
        let inner = Arc::clone(&self.0);
        self.0.link.send(
            &Request::Read {
                fid: newfid,
                offset: 0,
                count,
            },
            Box::new(move |result| {
                let walk = walk.get().copied().unwrap_or(Err(Errno::IO));
                match walk {
                    Ok(()) => inner.forget(newfid),
                    Err(_) => inner.nodes().free_fid(newfid),
                }
                match walk.and(result) {
                    Ok(Reply::Read { data }) if size == 0 => {
                        reply.size(u32::try_from(data.0.len()).unwrap_or(u32::MAX));
                    }
                    Ok(Reply::Read { data }) if data.0.len() <= size as usize => {
                        reply.data(data.0);
                    }
                    Ok(Reply::Read { .. }) => reply.error(KernelError::ERANGE),
                    Ok(_) => reply.error(KernelError::EIO),
                    Err(errno) => reply.error(error(errno)),
                }
            }),
        );
    }

    /// Set an extended attribute, or remove it if the value is empty and the flags say to replace it.
    fn set_xattr(&self, node: INodeNo, name: &OsStr, value: &[u8], flags: u32, reply: ReplyEmpty) {
        let of = or_answer!(self.0.fid(node), reply);
        let fid = self.0.nodes().new_fid();
        let walk = self.0.walk(of, fid, None);
        let created = self.0.first(&Request::CreateXattr {
            fid,
            name: name.as_bytes(),
            size: value.len() as u64,
            flags,
        });
        if !value.is_empty() {
            let (offset, data) = (0, Data(value));
            self.0.link.post(&Request::Write { fid, offset, data });
        }
        let inner = Arc::clone(&self.0);
        // The value is set when the fid is forgotten.
        self.0.link.send(
            &Request::Clunk { fid },
            Box::new(move |result| {
                inner.nodes().free_fid(fid);
                let state = |first: First| first.get().copied().unwrap_or(Err(Errno::IO));
                match state(walk).and(state(created)).and(result) {
                    Ok(_) => reply.ok(),
                    Err(errno) => reply.error(error(errno)),
                }
            }),
        );
    }
}
