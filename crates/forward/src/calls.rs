//! The client's side: requests in flight, and the replies to them.

use crate::buffer::Buffer;
use crate::files::Errno;
use crate::message::{Malformed, NO_TAG, Reply, Request, read_reply};
use std::collections::HashMap;

/// The requests of a client that are in flight, each with a value of the caller.
#[derive(Debug)]
pub struct Calls<T> {
    /// The type of each request, and the value of the caller.
    waiting: HashMap<u16, (u8, T)>,
    free: Vec<u16>,
    /// The first tag that was never used.
    next: u16,
}

impl<T> Default for Calls<T> {
    /// Create a set without requests.
    fn default() -> Self {
        Self {
            waiting: HashMap::new(),
            free: Vec::new(),
            next: 0,
        }
    }
}

impl<T> Calls<T> {
    /// Append the bytes of a request to `out`, and keep `value` until its reply. Return the tag, or
    /// the value if all tags are in use.
    ///
    /// # Errors
    /// 65,535 requests are in flight.
    pub fn begin(&mut self, request: &Request<'_>, value: T, out: &mut Buffer) -> Result<u16, T> {
        let tag = match self.free.pop() {
            Some(tag) => tag,
            None if self.next == NO_TAG => return Err(value),
            None => {
                self.next += 1;
                self.next - 1
            }
        };
        request.write(tag, out);
        self.waiting.insert(tag, (request.code(), value));
        Ok(tag)
    }

    /// Match a message of the server to its request. Return the value of the request and the reply,
    /// or the error with which the server refused it.
    ///
    /// # Errors
    /// The message is no reply, or no reply to a request in flight: the connection cannot go on.
    pub fn finish<'a>(
        &mut self,
        message: &'a [u8],
    ) -> Result<(T, Result<Reply<'a>, Errno>), Malformed> {
        let (tag, reply) = read_reply(message)?;
        let call = self.waiting.remove(&tag);
        let (code, value) = call.ok_or(Malformed::Tag(tag))?;
        self.free.push(tag);
        match reply {
            Reply::Error { errno } => Ok((value, Err(Errno(errno)))),
            reply if reply.code() == code + 1 => Ok((value, Ok(reply))),
            other => Err(Malformed::Type(other.code())),
        }
    }

    /// Return the number of requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.waiting.len()
    }
}
