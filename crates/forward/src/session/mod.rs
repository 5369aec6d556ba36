//! The server's side of one client: version, fids, requests in flight.

mod data;
mod fids;
mod locks;
mod own;

use crate::buffer::Buffer;
use crate::files::{Errno, Files, Result, SyncLevel};
use crate::message::{
    Attributes, Change, Data, NO_FID, NO_TAG, OWN_VERSION, Path, Qid, READ_HEADER, Reply, Request,
    Trailing, VERSION, read_request, tag,
};
use data::{complete, fetched};
use fids::{Fid, Fids};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// Minimum size of messages in bytes that a client may ask for.
const SMALLEST: u32 = 4096;

/// Maximum number of fids of a client that has not attached.
const FIRST_FIDS: usize = 4;

/// The flag of Linux that removes a directory, `AT_REMOVEDIR`.
const REMOVE_DIRECTORY: u32 = 0x200;

/// Limits of one client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Size of a message in bytes.
    pub message_bytes: u32,
    /// Fids.
    pub fids: usize,
}

impl Default for Limits {
    /// Messages of 1 MiB of data, a million fids.
    fn default() -> Self {
        Self {
            message_bytes: (1 << 20) + 24,
            fids: 1_000_000,
        }
    }
}

/// A request that may take long. The server carries it out, then calls [`Session::finish`].
pub struct Deferred<F: Files> {
    /// What is to be done.
    pub work: Work<F>,
    /// Names the request for [`Session::finish`].
    pub ticket: Ticket,
    /// Becomes `true` when the client flushes the request, or its session is dropped: a write that has not
    /// started is left out.
    pub is_flushed: Arc<AtomicBool>,
}

/// What a deferred request asks for.
pub enum Work<F: Files> {
    /// Something with the data of an open file.
    Data {
        /// The open file.
        open: Arc<F::Open>,
        /// What is to be done.
        job: Job,
    },
    /// As [`Files::fetch`], at most `count` bytes.
    Fetch {
        /// The directory from which the path starts.
        directory: F::Node,
        /// Names with `/` between them.
        path: Vec<u8>,
        /// The number of bytes.
        count: usize,
    },
    /// As [`Files::prefetch`].
    Prefetch {
        /// The directory from which the path starts.
        directory: F::Node,
        /// Names with `/` between them.
        path: Vec<u8>,
    },
    /// As [`Files::drain`].
    Drain,
    /// As [`Files::abandon`].
    Abandon {
        /// The number of the file.
        number: u64,
        /// Its absolute path in the store.
        path: Vec<u8>,
    },
}

/// What a deferred request asks for with the data of an open file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// Read `count` bytes.
    Read {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        count: usize,
    },
    /// Write data.
    Write {
        /// The first byte.
        offset: u64,
        /// The data.
        data: Vec<u8>,
    },
    /// Have the data of the file synced.
    Sync(SyncLevel),
    /// Do what a client waits for when it closes the file.
    Close,
}

/// The result of a deferred request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The bytes that were read.
    Read(Vec<u8>),
    /// The number of bytes that were written.
    Written(usize),
    /// The data is synced.
    Synced,
    /// The file can be closed.
    Closed,
    /// The attributes of a file, and its bytes from the start.
    Fetched(Attributes, Vec<u8>),
    /// The file is in the cache.
    Prefetched,
    /// Everything is stored.
    Drained,
    /// The number of bytes that were dropped.
    Abandoned(u64),
}

/// Names a request that is carried out elsewhere: its tag, and a number that is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    tag: u16,
    serial: u64,
}

/// The server's state of one client.
pub struct Session<F: Files> {
    limits: Limits,
    /// Maximum size of a message in bytes, as agreed on; `None` before that.
    msize: Option<u32>,
    fids: Fids<F>,
    /// The requests that are carried out elsewhere, by tag.
    deferred: HashMap<u16, Elsewhere>,
    next_serial: u64,
    is_attached: bool,
    /// Whether the client may send the messages of isthmus.
    has_own_messages: bool,
    /// Whether the connection has a key.
    has_key: bool,
}

/// A request that is carried out elsewhere.
struct Elsewhere {
    serial: u64,
    /// The reply, without data that the request is for.
    reply: Reply<'static>,
    is_flushed: Arc<AtomicBool>,
}

impl Drop for Elsewhere {
    /// Record that the client wants no reply any more.
    fn drop(&mut self) {
        self.is_flushed.store(true, Ordering::Relaxed);
    }
}

/// The result of a request.
enum Outcome<'a, F: Files> {
    /// The client gets this reply.
    Reply(Reply<'a>),
    /// The reply is written already.
    Written,
    /// The request is carried out elsewhere. The reply is without data that the request is for.
    Later(Work<F>, Reply<'static>),
}

impl<F: Files> Session<F> {
    /// Create the session of a client that has sent nothing.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            msize: None,
            fids: Fids::default(),
            deferred: HashMap::new(),
            next_serial: 0,
            is_attached: false,
            has_own_messages: false,
            has_key: false,
        }
    }

    /// Return the maximum size of a message in bytes, as agreed on, or before that.
    #[must_use]
    pub fn message_bytes(&self) -> u32 {
        self.msize.unwrap_or(self.limits.message_bytes)
    }

    /// Return whether client and server have agreed on the protocol.
    #[must_use]
    pub fn has_version(&self) -> bool {
        self.msize.is_some()
    }

    /// Return whether the client has attached to an export, and shown its token if one is needed.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        self.is_attached
    }

    /// Return the number of fids.
    #[must_use]
    pub fn fids(&self) -> usize {
        self.fids.len()
    }

    /// Carry out the request in a message of the client, and append the reply to `out`. Return a
    /// request that may take long, for which the caller replies later.
    pub fn handle(&mut self, message: &[u8], files: &F, out: &mut Buffer) -> Option<Deferred<F>> {
        let Ok((tag, request)) = read_request(message) else {
            let tag = tag(message).unwrap_or(NO_TAG);
            fail(tag, Errno::PROTO, out);
            return None;
        };
        if self.deferred.contains_key(&tag) {
            fail(tag, Errno::BUSY, out);
            return None;
        }
        let start = out.len();
        let outcome = self.carry_out(tag, request, files, out);
        if let Ok(Outcome::Reply(reply)) = &outcome {
            reply.write(tag, out);
        }
        match outcome {
            Ok(Outcome::Written | Outcome::Reply(_)) => {
                // A client may have agreed on messages that are smaller than a name in the reply.
                if out.len() - start > self.message_bytes() as usize {
                    out.truncate(start);
                    fail(tag, Errno::MSGSIZE, out);
                }
                None
            }
            Ok(Outcome::Later(work, reply)) => {
                let serial = self.next_serial;
                self.next_serial += 1;
                let is_flushed = Arc::new(AtomicBool::new(false));
                let elsewhere = Elsewhere {
                    serial,
                    reply,
                    is_flushed: Arc::clone(&is_flushed),
                };
                self.deferred.insert(tag, elsewhere);
                let ticket = Ticket { tag, serial };
                Some(Deferred {
                    work,
                    ticket,
                    is_flushed,
                })
            }
            Err(errno) => {
                fail(tag, errno, out);
                None
            }
        }
    }

    /// Append the reply to a request that was carried out elsewhere, unless the client has flushed
    /// it.
    pub fn finish(&mut self, ticket: Ticket, result: Result<Done>, out: &mut Buffer) {
        let Ticket { tag, serial } = ticket;
        let Entry::Occupied(entry) = self.deferred.entry(tag) else {
            return;
        };
        if entry.get().serial != serial {
            return;
        }
        let elsewhere = entry.remove();
        match result {
            Ok(Done::Read(bytes)) => {
                let start = out.len();
                elsewhere.reply.write(tag, out);
                let data = out.len();
                out.put(&bytes);
                complete(start, data, out);
            }
            Ok(Done::Written(count)) => written(count).write(tag, out),
            Ok(Done::Fetched(attributes, data)) => {
                let data = Data(&data);
                fetched(&attributes, data).write(tag, out);
            }
            Ok(Done::Abandoned(bytes)) => Reply::Abandon { bytes }.write(tag, out),
            Ok(Done::Synced | Done::Closed | Done::Prefetched | Done::Drained) => {
                elsewhere.reply.write(tag, out);
            }
            Err(errno) => fail(tag, errno, out),
        }
    }

    /// Carry out a request, or say that it is done elsewhere.
    fn carry_out<'a>(
        &mut self,
        tag: u16,
        request: Request<'a>,
        files: &F,
        out: &mut Buffer,
    ) -> Result<Outcome<'a, F>> {
        if let Request::Version { msize, version } = request {
            return self.version(msize, version, files);
        }
        let msize = self.msize.ok_or(Errno::PROTO)?;
        let reply = match request {
            Request::Version { .. } => return Err(Errno::PROTO),
            Request::Flush { oldtag } => {
                self.deferred.remove(&oldtag);
                Reply::Flush {}
            }
            Request::Auth { afid, .. } => self.auth(afid, files)?,
            Request::Attach {
                fid, afid, export, ..
            } => self.attach(fid, afid, export, files)?,
            Request::Walk { fid, newfid, path } => self.walk(fid, newfid, path, files)?,
            Request::Read { fid, offset, count } => {
                let most = msize as usize - READ_HEADER;
                let count = (count as usize).min(most);
                return self.read(tag, (fid, offset, count), files, out);
            }
            Request::Write { fid, offset, data } => {
                return self.write(fid, offset, data.0, files);
            }
            Request::Clunk { fid } => return self.clunk(fid, files),
            Request::Remove { fid } => {
                let node = match self.fids.take(fid)? {
                    Fid::Named(node) | Fid::Open(node, _) => node,
                    Fid::Value(_) | Fid::NewValue(_) | Fid::Token(_) => return Err(Errno::BADF),
                };
                files.remove_node(&node)?;
                Reply::Remove {}
            }
            Request::StatFs { fid } => {
                let state = files.file_system(self.fids.subject(fid)?)?;
                Reply::StatFs { state }
            }
            Request::Open { fid, flags } => {
                let node = self.fids.unopened(fid)?;
                let opened = files.open(node, flags)?;
                let open = Fid::Open(node.clone(), Arc::new(opened.open));
                self.fids.set(fid, open)?;
                let (qid, iounit) = (opened.qid, 0);
                Reply::Open { qid, iounit }
            }
            Request::Create {
                fid,
                name,
                flags,
                mode,
                ..
            } => {
                let directory = self.fids.unopened(fid)?;
                let (node, opened) = files.create(directory, checked(name)?, flags, mode)?;
                let open = Fid::Open(node, Arc::new(opened.open));
                self.fids.set(fid, open)?;
                let (qid, iounit) = (opened.qid, 0);
                Reply::Create { qid, iounit }
            }
            Request::Symlink {
                fid, name, target, ..
            } => {
                let qid = files.symlink(self.fids.node(fid)?, checked(name)?, target)?;
                Reply::Symlink { qid }
            }
            Request::MakeNode {
                fid,
                name,
                mode,
                major,
                minor,
                ..
            } => {
                let device = (major, minor);
                let qid = files.make_node(self.fids.node(fid)?, checked(name)?, mode, device)?;
                Reply::MakeNode { qid }
            }
            Request::Rename {
                fid,
                directory,
                name,
            } => {
                let (node, to) = (self.fids.node(fid)?, self.fids.node(directory)?);
                files.rename_node(node, to, checked(name)?)?;
                Reply::Rename {}
            }
            Request::ReadLink { fid } => {
                let target = files.read_link(self.fids.node(fid)?)?;
                Reply::ReadLink { target: &target }.write(tag, out);
                return Ok(Outcome::Written);
            }
            Request::GetAttributes { fid, .. } => {
                let attributes = files.attributes(self.fids.subject(fid)?)?;
                Reply::GetAttributes { attributes }
            }
            Request::SetAttributes { fid, change } => {
                if change.valid & !Change::ALL != 0 {
                    return Err(Errno::INVAL);
                }
                files.change(self.fids.subject(fid)?, &change)?;
                Reply::SetAttributes {}
            }
            Request::WalkXattr { fid, newfid, name } => {
                let subject = self.fids.subject(fid)?;
                self.fids.check_free(newfid, self.fids_limit())?;
                let value = match name {
                    b"" => files.xattrs(subject)?,
                    name => files.xattr(subject, name)?,
                };
                let size = value.len() as u64;
                self.add(newfid, Fid::Value(value))?;
                Reply::WalkXattr { size }
            }
            Request::CreateXattr {
                fid,
                name,
                size,
                flags,
            } => self.create_xattr(fid, name, size, flags)?,
            Request::ReadDirectory { fid, offset, count } => {
                let most = msize as usize - READ_HEADER;
                let count = (count as usize).min(most);
                self.read_directory(tag, (fid, offset, count), files, out)?;
                return Ok(Outcome::Written);
            }
            Request::Fsync { fid, data_only } => {
                let open = self.fids.opened(fid)?;
                let level = match data_only {
                    Trailing(0) => SyncLevel::All,
                    Trailing(_) => SyncLevel::Data,
                };
                return sync(open, level, Reply::Fsync {}, files);
            }
            Request::Lock { .. } | Request::GetLock { .. } => {
                self.lock(tag, &request, files, out)?;
                return Ok(Outcome::Written);
            }
            Request::Link {
                directory,
                fid,
                name,
            } => {
                let (node, directory) = (self.fids.node(fid)?, self.fids.node(directory)?);
                files.link(node, directory, checked(name)?)?;
                Reply::Link {}
            }
            Request::MakeDirectory {
                fid, name, mode, ..
            } => {
                let qid = files.make_directory(self.fids.node(fid)?, checked(name)?, mode)?;
                Reply::MakeDirectory { qid }
            }
            Request::RenameAt { from, old, to, new } => {
                let (from, to) = (self.fids.node(from)?, self.fids.node(to)?);
                files.rename(from, checked(old)?, to, checked(new)?)?;
                Reply::RenameAt {}
            }
            Request::UnlinkAt {
                directory,
                name,
                flags,
            } => {
                if flags & !REMOVE_DIRECTORY != 0 {
                    return Err(Errno::INVAL);
                }
                files.unlink(self.fids.node(directory)?, checked(name)?, flags != 0)?;
                Reply::UnlinkAt {}
            }
            Request::Resume { .. }
            | Request::Restore { .. }
            | Request::Commit { .. }
            | Request::Fetch { .. }
            | Request::Prefetch { .. }
            | Request::Status { .. }
            | Request::ListUnstored { .. }
            | Request::Drain { .. }
            | Request::Abandon { .. } => return self.own(tag, &request, files, out),
        };
        Ok(Outcome::Reply(reply))
    }

    /// Add a fid.
    fn add(&mut self, fid: u32, refers_to: Fid<F>) -> Result<()> {
        self.fids.check_free(fid, self.fids_limit())?;
        self.fids.set(fid, refers_to)
    }

    /// Return the maximum number of fids.
    fn fids_limit(&self) -> usize {
        match self.is_attached {
            true => self.limits.fids,
            false => self.limits.fids.min(FIRST_FIDS),
        }
    }

    /// Agree on the version and the size of messages. Forgets all fids and requests.
    fn version<'a>(&mut self, msize: u32, version: &'a [u8], files: &F) -> Result<Outcome<'a, F>> {
        if msize < SMALLEST {
            return Err(Errno::INVAL);
        }
        self.fids.clear();
        self.deferred.clear();
        files.unlock_all();
        let msize = msize.min(self.limits.message_bytes);
        // A client may ask for an extension, such as `9P2000.L.x`, and must accept `9P2000.L`.
        let is_known = version == VERSION || version.starts_with(b"9P2000.L.");
        self.msize = is_known.then_some(msize);
        self.has_own_messages = version == OWN_VERSION;
        let version = match is_known {
            true if self.has_own_messages => OWN_VERSION,
            true => VERSION,
            false => b"unknown",
        };
        Ok(Outcome::Reply(Reply::Version { msize, version }))
    }

    /// Make the fid to which the client writes its token.
    fn auth<'a>(&mut self, afid: u32, files: &F) -> Result<Reply<'a>> {
        if !files.wants_token() {
            // The client attaches without a token then.
            return Err(Errno::NOENT);
        }
        self.add(afid, Fid::Token(Vec::new()))?;
        let qid = Qid {
            kind: Qid::TOKEN,
            ..Qid::default()
        };
        Ok(Reply::Auth { qid })
    }

    /// Make the fid of the root of an export.
    fn attach<'a>(&mut self, fid: u32, afid: u32, export: &[u8], files: &F) -> Result<Reply<'a>> {
        let token = match afid {
            NO_FID => None,
            afid => match self.fids.get(afid)? {
                Fid::Token(token) => Some(&**token),
                _ => return Err(Errno::BADF),
            },
        };
        let root = files.attach(token, export)?;
        self.add(fid, Fid::Named(root.node))?;
        self.is_attached = true;
        Ok(Reply::Attach { qid: root.qid })
    }

    /// Walk along names and assign the last file to `newfid`. If a later name does not exist, `newfid`
    /// is not created, and the reply has the qids found so far; a client of isthmus gets the error.
    fn walk<'a>(&mut self, fid: u32, newfid: u32, path: Path<'_>, files: &F) -> Result<Reply<'a>> {
        match fid == newfid {
            true => drop(self.fids.unopened(fid)?),
            false => self.fids.check_free(newfid, self.fids_limit())?,
        }
        let mut node = self.fids.node(fid)?.clone();
        let mut qids = Vec::with_capacity(path.len());
        for name in path.iter() {
            let name = match name {
                b"." | b".." => Ok(name),
                name => checked(name),
            };
            match name.and_then(|name| files.walk(&node, name)) {
                Ok(found) => {
                    node = found.node;
                    qids.push(found.qid);
                }
                Err(errno) if qids.is_empty() || self.has_own_messages => return Err(errno),
                Err(_) => return Ok(Reply::Walk { qids }),
            }
        }
        self.fids.set(newfid, Fid::Named(node))?;
        Ok(Reply::Walk { qids })
    }
}

/// Check that a name is that of an entry of a directory.
fn checked(name: &[u8]) -> Result<&[u8]> {
    match name {
        b"" | b"." | b".." => Err(Errno::INVAL),
        name if name.len() > 255 => Err(Errno::NAMETOOLONG),
        name if name.contains(&b'/') || name.contains(&0) => Err(Errno::INVAL),
        name => Ok(name),
    }
}

/// Have the data of an open file synced, and return `reply` then.
fn sync<'a, F: Files>(
    open: &Arc<F::Open>,
    level: SyncLevel,
    reply: Reply<'static>,
    files: &F,
) -> Result<Outcome<'a, F>> {
    match files.sync(open, level) {
        Poll::Ready(result) => result.map(|()| Outcome::Reply(reply)),
        Poll::Pending => {
            let (open, job) = (Arc::clone(open), Job::Sync(level));
            Ok(Outcome::Later(Work::Data { open, job }, reply))
        }
    }
}

/// Return the reply to a write request.
fn written<'a>(count: usize) -> Reply<'a> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    Reply::Write { count }
}

/// Append the reply that a request has failed.
fn fail(tag: u16, Errno(errno): Errno, out: &mut Buffer) {
    Reply::Error { errno }.write(tag, out);
}
