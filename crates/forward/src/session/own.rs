//! Requests of isthmus's own clients, which 9P2000.L does not have.

use super::data::{close, read_data};
use super::fids::Fid;
use super::{Outcome, Session, checked, sync};
use crate::buffer::Buffer;
use crate::files::{Errno, Files, Node, Result, Subject, SyncLevel};
use crate::message::{Data, FETCH_HEADER, Key, NOT_OPEN, Qid, Reply, Request};
use std::sync::Arc;

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
    ) -> Result<Outcome<'a, F::Open>> {
        if !self.has_own_messages {
            return Err(Errno::OPNOTSUPP);
        }
        match *request {
            Request::Resume { key } => self.resume(key, files).map(Outcome::Reply),
            Request::Restore {
                fid,
                newfid,
                number,
                flags,
                path,
            } => {
                let reply = self.restore((fid, path), newfid, number, flags, files);
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
        number: u64,
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
        let check = |qid: Qid| match qid.path == number {
            true => Ok(()),
            false => Err(Errno::STALE),
        };
        check(qid)?;
        let refers_to = match flags {
            NOT_OPEN => Fid::Named(node),
            flags => {
                let opened = files.open(&node, flags & !ONCE)?;
                // The name may be that of another file since.
                check(opened.qid)?;
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
        at: (u32, &[u8]),
        count: usize,
        files: &F,
        out: &mut Buffer,
    ) -> Result<Outcome<'a, F::Open>> {
        let node = self.find(at, files)?.node;
        let opened = files.open(&node, 0)?;
        if opened.qid.kind == Qid::DIRECTORY {
            return Err(Errno::ISDIR);
        }
        let open = Arc::new(opened.open);
        let subject = Subject {
            node: &node,
            open: Some(&*open),
        };
        // Before the data: a client that keeps it must not take it for a later version.
        let attributes = files.attributes(subject)?;
        let reply = Reply::Fetch {
            qid: attributes.qid,
            size: attributes.size,
            mtime_s: attributes.modified_s,
            mtime_ns: u32::try_from(attributes.modified_ns).unwrap_or(0),
            data: Data(&[]),
        };
        let most = self.message_bytes() as usize - FETCH_HEADER;
        let size = usize::try_from(attributes.size).unwrap_or(usize::MAX);
        let count = count.min(most).min(size);
        read_data((tag, reply), &open, (0, count), files, out)
    }

    /// Return the file at a path from the directory of a fid: names with `/` between them, or nothing for the
    /// directory itself.
    fn find(&self, (fid, path): (u32, &[u8]), files: &F) -> Result<Node<F::Node>> {
        let directory = self.fids.node(fid)?;
        if path.is_empty() {
            return files.walk(directory, b".");
        }
        let mut names = path.split(|byte| *byte == b'/');
        names.try_for_each(|name| checked(name).map(|_| ()))?;
        files.walk(directory, path)
    }
}
