//! Requests of isthmus's own clients, which 9P2000.L does not have.

use super::data::{close, complete, fetched};
use super::fids::Fid;
use super::{Outcome, Session, Work, checked, sync};
use crate::buffer::Buffer;
use crate::files::{Errno, Files, Node, Result, Subject, SyncLevel};
use crate::message::{
    Attributes, Data, FETCH_HEADER, Key, NOT_OPEN, Qid, READ_HEADER, Reply, Request,
};
use std::sync::Arc;
use std::task::Poll;

/// The flags of Linux that change a file when it is opened: `O_CREAT`, `O_EXCL` and `O_TRUNC`.
const ONCE: u32 = 0o100 | 0o200 | 0o1000;

impl<F: Files> Session<F> {
    /// Carry out a request of isthmus.
    pub(super) fn own<'a>(
        &mut self,
        tag: u16,
        request: &Request<'_>,
        files: &F,
        out: &mut Buffer,
    ) -> Result<Outcome<'a, F>> {
        if !self.has_own_messages {
            return Err(Errno::OPNOTSUPP);
        }
        match *request {
            Request::Resume { key } => self.resume(key, files).map(Outcome::Reply),
            Request::Restore {
                fid,
                newfid,
                number,
                created_s,
                created_ns,
                flags,
                path,
            } => {
                let file = (number, (created_s, created_ns));
                let reply = self.restore((fid, path), newfid, file, flags, files);
                reply.map(Outcome::Reply)
            }
            Request::Commit { fid, level } => {
                let open = self.fids.opened(fid)?;
                let reply = Reply::Commit {};
                match level {
                    0 => close(open, reply, files),
                    1 => sync(open, SyncLevel::Cached, reply, files),
                    2 => sync(open, SyncLevel::Stored, reply, files),
                    _ => Err(Errno::INVAL),
                }
            }
            Request::Fetch { fid, count, path } => {
                self.fetch(tag, (fid, path), count as usize, files, out)
            }
            Request::Prefetch { fid, path } => self.prefetch((fid, path), files),
            // The others have a fid, which is beneath an export.
            _ if !self.is_attached => Err(Errno::PROTO),
            Request::Status {} => {
                let status = files.status();
                Ok(Outcome::Reply(Reply::Status { status }))
            }
            Request::ListUnstored { from, count } => {
                self.list_unstored(tag, (from, count as usize), files, out)?;
                Ok(Outcome::Written)
            }
            Request::Drain {} => match files.drain() {
                Poll::Ready(result) => result.map(|()| Outcome::Reply(Reply::Drain {})),
                Poll::Pending => Ok(Outcome::Later(Work::Drain, Reply::Drain {})),
            },
            Request::Abandon { number, path } => match files.abandon(number, path) {
                Poll::Ready(result) => result.map(|bytes| Outcome::Reply(Reply::Abandon { bytes })),
                Poll::Pending => {
                    let path = path.to_vec();
                    let (work, bytes) = (Work::Abandon { number, path }, 0);
                    Ok(Outcome::Later(work, Reply::Abandon { bytes }))
                }
            },
            _ => Err(Errno::PROTO),
        }
    }

    /// Give the connection a key, and take up the session that had the same one.
    fn resume<'a>(&mut self, key: Key, files: &F) -> Result<Reply<'a>> {
        if !self.is_attached {
            return Err(Errno::PROTO);
        }
        if self.has_key {
            return Err(Errno::INVAL);
        }
        let is_known = files.resume(key)?.into();
        self.has_key = true;
        Ok(Reply::Resume { is_known })
    }

    /// Bring back a fid of a session that has ended, if its file is still at this path.
    fn restore<'a>(
        &mut self,
        at: (u32, &[u8]),
        newfid: u32,
        (number, created): (u64, (u64, u32)),
        flags: u32,
        files: &F,
    ) -> Result<Reply<'a>> {
        if newfid == at.0 {
            return Err(Errno::INVAL);
        }
        self.fids.check_free(newfid, self.fids_limit())?;
        let found = self.find(at, files).map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Errno::STALE,
            other => other,
        });
        let Node { node, mut qid } = found?;
        let check = |qid: Qid, open: Option<&F::Open>| {
            let node = &node;
            let is_same = qid.path == number
                && (created == (0, 0)
                    || files.attributes(Subject { node, open })?.created() == created);
            if is_same { Ok(()) } else { Err(Errno::STALE) }
        };
        check(qid, None)?;
        let refers_to = match flags {
            NOT_OPEN => Fid::Named(node),
            flags => {
                let opened = files.open(&node, flags & !ONCE)?;
                // The name may be that of another file since.
                check(opened.qid, Some(&opened.open))?;
                qid = opened.qid;
                Fid::Open(node, Arc::new(opened.open))
            }
        };
        self.fids.set(newfid, refers_to)?;
        Ok(Reply::Restore { qid })
    }

    /// Append the reply with the data of a small file.
    fn fetch<'a>(
        &self,
        tag: u16,
        (fid, path): (u32, &[u8]),
        count: usize,
        files: &F,
        out: &mut Buffer,
    ) -> Result<Outcome<'a, F>> {
        let directory = self.directory(fid, path)?;
        let count = count.min(self.message_bytes() as usize - FETCH_HEADER);
        let start = out.len();
        fetched(&Attributes::default(), Data(&[])).write(tag, out);
        let data = out.len();
        match files.fetch(directory, path, out.space(count)) {
            Poll::Ready(Ok((attributes, read))) => {
                out.advance(read);
                let mut header = Buffer::new();
                fetched(&attributes, Data(&[])).write(tag, &mut header);
                out[start..data].copy_from_slice(header.bytes());
                complete(start, data, out);
                Ok(Outcome::Written)
            }
            Poll::Ready(Err(errno)) => {
                out.truncate(start);
                Err(errno)
            }
            Poll::Pending => {
                out.truncate(start);
                let (directory, path) = (directory.clone(), path.to_vec());
                let work = Work::Fetch {
                    directory,
                    path,
                    count,
                };
                Ok(Outcome::Later(
                    work,
                    fetched(&Attributes::default(), Data(&[])),
                ))
            }
        }
    }

    /// Read a file into the cache.
    fn prefetch<'a>(&self, (fid, path): (u32, &[u8]), files: &F) -> Result<Outcome<'a, F>> {
        let directory = self.directory(fid, path)?;
        let reply = Reply::Prefetch {};
        match files.prefetch(directory, path) {
            Poll::Ready(result) => result.map(|()| Outcome::Reply(reply)),
            Poll::Pending => {
                let (directory, path) = (directory.clone(), path.to_vec());
                Ok(Outcome::Later(Work::Prefetch { directory, path }, reply))
            }
        }
    }

    /// Append the reply with the files that have bytes that are not stored.
    fn list_unstored(
        &self,
        tag: u16,
        (from, count): (u64, usize),
        files: &F,
        out: &mut Buffer,
    ) -> Result<()> {
        let start = out.len();
        let none = Data(&[]);
        Reply::ListUnstored { files: none }.write(tag, out);
        let data = out.len();
        let mut left = count.min(self.message_bytes() as usize - READ_HEADER);
        let mut has_more = false;
        files.list_unstored(from, &mut |file| {
            let bytes = file.bytes_in_reply();
            has_more = bytes > left;
            if !has_more {
                file.write(out);
                left -= bytes;
            }
            !has_more
        });
        if has_more && out.len() == data {
            // An empty reply is the end of the list.
            out.truncate(start);
            return Err(Errno::MSGSIZE);
        }
        complete(start, data, out);
        Ok(())
    }

    /// Return the directory of a fid, from which a path starts: names with `/` between them, or nothing for
    /// the directory itself.
    fn directory(&self, fid: u32, path: &[u8]) -> Result<&F::Node> {
        if !path.is_empty() {
            let mut names = path.split(|byte| *byte == b'/');
            names.try_for_each(|name| checked(name).map(|_| ()))?;
        }
        self.fids.node(fid)
    }

    /// Return the file at a path from the directory of a fid.
    fn find(&self, (fid, path): (u32, &[u8]), files: &F) -> Result<Node<F::Node>> {
        let directory = self.directory(fid, path)?;
        files.walk(directory, if path.is_empty() { b"." } else { path })
    }
}
