//! Data of files, entries of directories and values of extended attributes, in both directions.

use super::fids::{Fid, NewValue};
use super::{Job, Outcome, Session, Work, written};
use crate::buffer::Buffer;
use crate::files::{Errno, Files, Result, Subject};
use crate::message::{Attributes, Data, Entry, Reply, finish};
use std::sync::Arc;
use std::task::Poll;

/// Maximum size in bytes of the value of an extended attribute, as on Linux.
const VALUE_BYTES: u64 = 65_536;

/// Maximum size of a token in bytes.
const TOKEN_BYTES: usize = 4096;

/// The flag of Linux that replaces an extended attribute. With an empty value it means removal.
const XATTR_REPLACE: u32 = 2;

impl<F: Files> Session<F> {
    /// Append the reply to a read request: data of a file, or the value of an extended attribute.
    pub(super) fn read<'a>(
        &self,
        tag: u16,
        (fid, offset, count): (u32, u64, usize),
        files: &F,
        out: &mut Buffer,
    ) -> Result<Outcome<'a, F>> {
        match self.fids.get(fid)? {
            Fid::Open(_, open) => {
                let reply = Reply::Read { data: Data(&[]) };
                return read_data((tag, reply), open, (offset, count), files, out);
            }
            Fid::Value(value) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX);
                let rest = value.get(from..).unwrap_or_default();
                let data = Data(&rest[..count.min(rest.len())]);
                Reply::Read { data }.write(tag, out);
            }
            _ => return Err(Errno::BADF),
        }
        Ok(Outcome::Written)
    }

    /// Append the reply to a request for entries of a directory.
    pub(super) fn read_directory(
        &self,
        tag: u16,
        (fid, offset, count): (u32, u64, usize),
        files: &F,
        out: &mut Buffer,
    ) -> Result<()> {
        let open = self.fids.opened(fid)?;
        let start = out.len();
        let entries = Data(&[]);
        Reply::ReadDirectory { entries }.write(tag, out);
        let data = out.len();
        let mut left = count;
        let mut is_too_small = false;
        let mut append = |entry: Entry<'_>| {
            let bytes = entry.bytes();
            let fits = bytes <= left;
            if fits {
                entry.write(out);
                left -= bytes;
            } else {
                is_too_small = left == count;
            }
            fits
        };
        let result = files.read_directory(open, offset, &mut append);
        let result = result.and(if is_too_small {
            Err(Errno::INVAL)
        } else {
            Ok(())
        });
        match result {
            Ok(()) => complete(start, data, out),
            Err(_) => out.truncate(start),
        }
        result
    }

    /// Write data to a file, to an extended attribute or to the fid of a token.
    pub(super) fn write<'a>(
        &mut self,
        fid: u32,
        offset: u64,
        data: &[u8],
        files: &F,
    ) -> Result<Outcome<'a, F>> {
        let count = match self.fids.get_mut(fid)? {
            Fid::Open(_, open) => match files.write(open, offset, data) {
                Poll::Ready(result) => result?,
                Poll::Pending => {
                    let data = data.to_vec();
                    let (open, job) = (Arc::clone(open), Job::Write { offset, data });
                    return Ok(Outcome::Later(Work::Data { open, job }, written(0)));
                }
            },
            Fid::NewValue(new) => {
                let is_next = offset == new.value.len() as u64;
                if !is_next || new.value.len() + data.len() > new.size {
                    return Err(Errno::INVAL);
                }
                new.value.extend_from_slice(data);
                data.len()
            }
            Fid::Token(token) => {
                if offset != token.len() as u64 || token.len() + data.len() > TOKEN_BYTES {
                    return Err(Errno::INVAL);
                }
                token.extend_from_slice(data);
                data.len()
            }
            Fid::Named(_) | Fid::Value(_) => return Err(Errno::BADF),
        };
        Ok(Outcome::Reply(written(count)))
    }

    /// Forget a fid. An open file is closed, and the value of an extended attribute that was written is
    /// set now.
    pub(super) fn clunk<'a>(&mut self, fid: u32, files: &F) -> Result<Outcome<'a, F>> {
        let taken = self.fids.take(fid)?;
        if let Fid::Open(_, open) = taken {
            return close(&open, Reply::Clunk {}, files);
        }
        if let Fid::NewValue(new) = taken {
            if new.value.len() != new.size {
                return Err(Errno::INVAL);
            }
            let is_removal = new.size == 0 && new.flags == XATTR_REPLACE;
            let value = (!is_removal).then_some(&*new.value);
            let subject = Subject {
                node: &new.node,
                open: new.open.as_deref(),
            };
            files.set_xattr(subject, &new.name, value, new.flags)?;
        }
        Ok(Outcome::Reply(Reply::Clunk {}))
    }

    /// Turn a fid into one to which the value of an extended attribute is written.
    pub(super) fn create_xattr<'a>(
        &mut self,
        fid: u32,
        name: &[u8],
        size: u64,
        flags: u32,
    ) -> Result<Reply<'a>> {
        if size > VALUE_BYTES {
            return Err(Errno::TOO_BIG);
        }
        let (node, open) = match self.fids.get(fid)? {
            Fid::Named(node) => (node.clone(), None),
            Fid::Open(node, open) => (node.clone(), Some(Arc::clone(open))),
            _ => return Err(Errno::BADF),
        };
        let new = NewValue {
            node,
            open,
            name: name.to_vec(),
            flags,
            size: usize::try_from(size).map_err(|_| Errno::TOO_BIG)?,
            value: Vec::new(),
        };
        self.fids.set(fid, Fid::NewValue(new))?;
        Ok(Reply::CreateXattr {})
    }
}

/// Append a reply with data of an open file. `reply` is without the data, which is its last field.
pub(super) fn read_data<'a, F: Files>(
    (tag, reply): (u16, Reply<'static>),
    open: &Arc<F::Open>,
    (offset, count): (u64, usize),
    files: &F,
    out: &mut Buffer,
) -> Result<Outcome<'a, F>> {
    let start = out.len();
    reply.write(tag, out);
    let data = out.len();
    match files.read(open, offset, out.space(count)) {
        Poll::Ready(Ok(read)) => {
            out.advance(read);
            complete(start, data, out);
            Ok(Outcome::Written)
        }
        Poll::Ready(Err(errno)) => {
            out.truncate(start);
            Err(errno)
        }
        Poll::Pending => {
            out.truncate(start);
            let (open, job) = (Arc::clone(open), Job::Read { offset, count });
            Ok(Outcome::Later(Work::Data { open, job }, reply))
        }
    }
}

/// Do what a client waits for when it closes a file, and return `reply` then.
pub(super) fn close<'a, F: Files>(
    open: &Arc<F::Open>,
    reply: Reply<'static>,
    files: &F,
) -> Result<Outcome<'a, F>> {
    match files.close(open) {
        Poll::Ready(result) => result.map(|()| Outcome::Reply(reply)),
        Poll::Pending => {
            let (open, job) = (Arc::clone(open), Job::Close);
            Ok(Outcome::Later(Work::Data { open, job }, reply))
        }
    }
}

/// Complete the reply that starts at `start`, after the bytes from `data` on were appended to its last field,
/// which was empty.
pub(super) fn complete(start: usize, data: usize, out: &mut Buffer) {
    let count = u32::try_from(out.len() - data).unwrap_or(u32::MAX);
    out[data - 4..data].copy_from_slice(&count.to_le_bytes());
    finish(start, out);
}

/// Return the reply to a request for the data of a small file.
pub(super) fn fetched<'a>(attributes: &Attributes, data: Data<'a>) -> Reply<'a> {
    Reply::Fetch {
        qid: attributes.qid,
        size: attributes.size,
        mtime_s: attributes.modified_s,
        mtime_ns: u32::try_from(attributes.modified_ns).unwrap_or(0),
        data,
    }
}
