//! The ends of a link, with a count of what was moved when a call ends early.

use crate::lasting::Lasting;
use crate::wire::ready;
use isthmus_ring::{Consumer, Error as RingError, Producer};
use rustix::event::PollFlags;
use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a frame that go to a ring together at first.
const TOGETHER: usize = 32 << 10;

/// What is written to. Sockets do not block.
#[derive(Debug)]
pub(crate) enum Out {
    Ring(Producer),
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
    Lasting(Arc<Lasting>),
}

/// What is read from. Sockets do not block.
#[derive(Debug)]
pub(crate) enum Into {
    Ring(Consumer),
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
    Lasting(Arc<Lasting>),
}

/// Why a link cannot be used any more, in words.
pub(crate) type Moved = Result<usize, String>;

impl Out {
    /// Writes what is left of a frame after its first `at` bytes, until `until`.
    ///
    /// # Returns
    /// How much of the frame is written now.
    ///
    /// # Errors
    /// A link that takes nothing any more.
    pub fn frame(&mut self, mut at: usize, head: &[u8], data: &[u8], until: Instant) -> Moved {
        if let Self::Lasting(link) = self {
            return Ok(at + link.write(rest(at, head, data), until)?);
        }
        if at == 0
            && let Self::Ring(ring) = self
        {
            // Together, so that who reads is not woken for a header alone.
            let most = (ring.capacity() / 2).min(TOGETHER as u64) as usize;
            let first = data.len().min(most - head.len());
            match ring.reserve(head.len() + first, until) {
                Ok(mut room) => {
                    room.put(0, head);
                    room.put(head.len(), &data[..first]);
                    room.commit(head.len() + first);
                    at = head.len() + first;
                }
                Err(error) => return moved_by(error),
            }
        }
        whole(at, head, data, |parts| self.some(parts, until))
    }

    /// Writes some; how much, and whether the time is over.
    fn some(&mut self, parts: [&[u8]; 2], until: Instant) -> Result<(usize, bool), String> {
        if let Self::Ring(ring) = self {
            let part = if parts[0].is_empty() {
                parts[1]
            } else {
                parts[0]
            };
            return match ring.write_all(part, until) {
                Ok(()) => Ok((part.len(), false)),
                Err(error) => Ok((moved_by(error)?, true)),
            };
        }
        loop {
            let parts = parts.map(IoSlice::new);
            let written = match self {
                Self::Unix(socket) => (&mut &**socket).write_vectored(&parts),
                Self::Tcp(socket) => (&mut &**socket).write_vectored(&parts),
                Self::Ring(_) | Self::Lasting(_) => unreachable!("these are written above"),
            };
            match written {
                Ok(0) => return Err("it takes nothing".into()),
                Ok(written) => return Ok((written, false)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.wait(until) {
                        return Ok((0, true));
                    }
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn wait(&self, until: Instant) -> bool {
        match self {
            Self::Unix(socket) => ready(socket.as_fd(), PollFlags::OUT, until),
            Self::Tcp(socket) => ready(socket.as_fd(), PollFlags::OUT, until),
            Self::Ring(_) | Self::Lasting(_) => true,
        }
    }
}

impl Into {
    /// Reads to `bytes` until it is full or `until`.
    ///
    /// # Returns
    /// How many bytes were read; none at the end of the link, if nothing was.
    ///
    /// # Errors
    /// A link that gives nothing any more.
    pub fn fill(&mut self, bytes: &mut [u8], until: Instant) -> Result<Option<usize>, String> {
        let mut done = 0;
        while done < bytes.len() {
            match self.some(&mut bytes[done..], until)? {
                Some(0) => break,
                Some(read) => done += read,
                None if done == 0 => return Ok(None),
                None => break,
            }
        }
        Ok(Some(done))
    }

    /// Reads some: 0 bytes if there were none until `until`, none at the end.
    fn some(&mut self, bytes: &mut [u8], until: Instant) -> Result<Option<usize>, String> {
        match self {
            Self::Ring(ring) => {
                return match ring.read(bytes, until) {
                    Ok(0) => Ok(None),
                    Ok(read) => Ok(Some(read)),
                    Err(error) => moved_by(error).map(Some),
                };
            }
            Self::Lasting(link) => return link.read(bytes, until).map(Some),
            Self::Unix(_) | Self::Tcp(_) => {}
        }
        loop {
            let read = match self {
                Self::Unix(socket) => (&mut &**socket).read(bytes),
                Self::Tcp(socket) => (&mut &**socket).read(bytes),
                Self::Ring(_) | Self::Lasting(_) => unreachable!("these are read above"),
            };
            match read {
                Ok(0) => return Ok(None),
                Ok(read) => return Ok(Some(read)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.wait(until) {
                        return Ok(Some(0));
                    }
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn wait(&self, until: Instant) -> bool {
        match self {
            Self::Unix(socket) => ready(socket.as_fd(), PollFlags::IN, until),
            Self::Tcp(socket) => ready(socket.as_fd(), PollFlags::IN, until),
            Self::Ring(_) | Self::Lasting(_) => true,
        }
    }
}

/// What follows the first `at` bytes of a header and its data.
fn rest<'b>(at: usize, head: &'b [u8], data: &'b [u8]) -> [&'b [u8]; 2] {
    let of_head = at.min(head.len());
    [&head[of_head..], &data[at - of_head..]]
}

/// Writes what follows the first `at` bytes of a header and its data, however little of it `some`
/// writes at a time, until that says that the time is over; how much of both is written now.
fn whole(
    mut at: usize,
    head: &[u8],
    data: &[u8],
    mut some: impl FnMut([&[u8]; 2]) -> Result<(usize, bool), String>,
) -> Moved {
    while at < head.len() + data.len() {
        let (now, over) = some(rest(at, head, data))?;
        at += now;
        if over {
            break;
        }
    }
    Ok(at)
}

/// What was moved all the same, if only the time is over.
fn moved_by(error: RingError) -> Moved {
    match error {
        RingError::TimedOut { moved, .. } => Ok(moved),
        RingError::PeerGone { .. } => Err("the daemon at its other end is gone".into()),
        RingError::Closed { .. } => Err("the daemon has closed its other end".into()),
        other => Err(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket may take a part of the header and no more: what follows is the rest of it.
    #[test]
    fn a_frame_comes_out_whole_however_little_a_socket_takes() {
        let (head, data) = ([1, 2, 3, 4, 5], [6, 7, 8, 9]);
        let all = [&head[..], &data].concat();
        for at in 0..=all.len() {
            for most in 1..=all.len() {
                for stops in 1..=all.len() {
                    let (mut out, mut calls) = (all[..at].to_vec(), 0);
                    let written = whole(at, &head, &data, |parts| {
                        let parts = parts.concat();
                        let now = most.min(parts.len());
                        out.extend(&parts[..now]);
                        calls += 1;
                        Ok((now, calls == stops))
                    });
                    assert_eq!(written, Ok(out.len()));
                    assert_eq!(out, all[..out.len()]);
                    assert_eq!(out.len(), all.len().min(at + most * calls));
                    assert!(out.len() == all.len() || calls == stops);
                }
            }
        }
    }
}
