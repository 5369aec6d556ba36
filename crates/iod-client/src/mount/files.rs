//! The requests of the kernel, each as one or more requests to the daemon. None but those that wait for a lock
//! wait for the daemon: the kernel gets the reply from the thread that reads those of the daemon.

use super::convert::{attributes, change, entry_kind, error, time_of_kernel};
use super::locks::{HeldLock, Owner, UNLOCK, lock_mode};
use super::operations::{O_APPEND, ONCE, Operations, Pending};
use super::shared::Shared;
use crate::link::{Done, Link};
use fuser::{
    AccessFlags, BsdFileFlags, Errno as KernelError, FileHandle, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, Notifier, OpenFlags, RenameFlags,
    ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLock,
    ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request as KernelRequest, TimeOrNow,
    WriteFlags,
};
use isthmus_forward::Errno;
use isthmus_forward::message::{Data, Entry, Reply, Request, Trailing};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// The flag of Linux for opening a directory.
const O_DIRECTORY: u32 = 0o200_000;

/// Types of locks of Linux.
const F_RDLCK: i32 = 0;
const F_WRLCK: i32 = 1;
const F_UNLCK: i32 = 2;

/// The bytes of entries that are asked for at once: as many as the kernel takes.
const ENTRIES_BYTES: u32 = 4096;

/// The level of [`Request::Commit`] for what a close waits for.
const CLOSED: u8 = 0;

/// Remove a directory, in a request to remove an entry.
const REMOVE_DIRECTORY: u32 = 0x200;

/// The files of a daemon as a file system of the kernel.
pub(super) struct MountedFiles(Arc<Operations>);

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
    /// Create the file system. `notifier` is set once it is mounted.
    pub fn new(
        shared: Arc<Shared>,
        link: Arc<Link>,
        fresh: Duration,
        notifier: Arc<OnceLock<Notifier>>,
    ) -> Self {
        Self(Arc::new(Operations {
            shared,
            link,
            fresh,
            notifier,
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
            InitFlags::FUSE_POSIX_LOCKS,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_ASYNC_DIO,
        ];
        for each in wanted {
            // Ignore a failure: the mount works without those that the kernel does not have.
            let _ = config.add_capabilities(each);
        }
        Ok(())
    }

    fn lookup(&self, _: &KernelRequest, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let directory = or_answer!(self.0.fid(parent), reply);
        let fresh = self.0.fresh;
        self.0
            .find(parent, directory, name, move |found| match found {
                Ok(found) => reply.entry(&fresh, &found, Generation(0)),
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
                TimeOrNow::SpecificTime(time) => Some(time_of_kernel(time)),
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
        let changed = self.0.send(&Request::SetAttributes { fid, change });
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
        let made = self.0.send(&Request::MakeNode {
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
        let made = self.0.send(&Request::MakeDirectory {
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
        let made = self.0.send(&Request::Symlink {
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
        let made = self.0.send(&Request::Link {
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
        let made = self.0.send(&Request::Create {
            fid,
            name: name.as_bytes(),
            flags: flags & !O_APPEND,
            mode,
            gid: u32::MAX,
        });
        let inner = Arc::clone(&self.0);
        self.0.find(parent, directory, name, move |found| {
            let state = |pending: Pending| pending.get().copied().unwrap_or(Err(Errno::IO));
            let (walk, made) = (state(walk), state(made));
            match walk.and(made).and(found) {
                Ok(of) => {
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
        let owner = Owner::of(&all);
        let unlock = owner.request(&all, UNLOCK);
        match (has_locks, was_written) {
            (false, false) => return reply.ok(),
            // Other clients can have the lock once the file is closed.
            (true, false) => return self.0.link.send(&unlock, answer(reply)),
            (true, true) => self.0.link.post(&unlock),
            (false, true) => {}
        }
        let (level, inner) = (CLOSED, Arc::clone(&self.0));
        let done: Done = Box::new(move |result| match result {
            // A foreign server has no levels: what is written is with its system.
            Ok(_) | Err(Errno::OPNOTSUPP) => reply.ok(),
            Err(errno) => {
                // The next close of a copy of the descriptor asks again.
                inner.nodes().mark_written(fid);
                reply.error(error(errno));
            }
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
        let owner = Owner::of(&wanted);
        let request = owner.conflict(&wanted);
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
            let owner = Owner::of(&lock);
            let request = owner.request(&lock, UNLOCK);
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
        let owner = Owner::of(&lock);
        let request = owner.request(&lock, lock_mode(&lock));
        self.0.link.send(
            &request,
            Box::new(move |result| match result {
                Ok(Reply::Lock { status: 0 }) => {
                    inner.nodes().lock(lock, false);
                    // The thread of replies must not wait for the kernel.
                    let thread = std::thread::Builder::new().name("locked".into());
                    // Without a thread the process gets EIO, when the reply is dropped.
                    let _ = thread.spawn(move || inner.answer_locked(&lock, reply));
                }
                Ok(Reply::Lock { status: 1 }) => reply.error(KernelError::EAGAIN),
                Ok(_) => reply.error(KernelError::ENOLCK),
                Err(errno) => reply.error(error(errno)),
            }),
        );
    }
}

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
                self.0.link.post(&Owner::of(&lock).request(&lock, UNLOCK));
            }
            self.0.forget(fid);
        }
    }

    /// Answer with the value of an extended attribute, or with the list of names.
    fn xattr(&self, node: INodeNo, name: &[u8], size: u32, reply: ReplyXattr) {
        let fid = or_answer!(self.0.fid(node), reply);
        let newfid = self.0.nodes().new_fid();
        let walk = self.0.send(&Request::WalkXattr { fid, newfid, name });
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
        let created = self.0.send(&Request::CreateXattr {
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
                let state = |pending: Pending| pending.get().copied().unwrap_or(Err(Errno::IO));
                match state(walk).and(state(created)).and(result) {
                    Ok(_) => reply.ok(),
                    Err(errno) => reply.error(error(errno)),
                }
            }),
        );
    }
}
