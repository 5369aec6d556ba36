//! The ends of a link, with a count of what was moved when a call ends early.

use crate::lasting::Lasting;
use isthmus_ring::{Consumer, Error as RingError, Producer};
use isthmus_wire::{Moved, Socket, wait_ready};
use rustix::event::PollFlags;
use std::io::IoSlice;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a frame that go to a ring together at first.
const TOGETHER: usize = 32 << 10;

/// What is written to.
#[derive(Debug)]
pub(crate) enum Out {
    Ring(Producer),
    Socket(Arc<Socket>),
    Lasting(Arc<Lasting>),
}

/// What is read from.
#[derive(Debug)]
pub(crate) enum Into {
    Ring(Consumer),
    Socket(Arc<Socket>),
    Lasting(Arc<Lasting>),
}

/// The error of a link whose other end was closed.
pub(crate) const CLOSED: &str = "the daemon has closed its other end";

/// Why a link cannot be used any more, in words.
pub(crate) type Progress = Result<usize, String>;

impl Out {
    /// Writes what is left of a frame after its first `at` bytes, until `until`.
    ///
    /// # Returns
    /// How much of the frame is written now.
    ///
    /// # Errors
    /// A link that takes nothing any more.
    pub fn frame(&mut self, mut at: usize, head: &[u8], data: &[u8], until: Instant) -> Progress {
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
        let Self::Socket(socket) = self else {
            unreachable!("rings and lasting links are written above")
        };
        loop {
            match socket.write(&parts.map(IoSlice::new)) {
                Ok(Moved::Some(written)) => return Ok((written, false)),
                Ok(Moved::None) if wait_ready(&**socket, PollFlags::OUT, until) => {}
                Ok(Moved::None) => return Ok((0, true)),
                Ok(Moved::End) => return Err(CLOSED.into()),
                Err(error) => return Err(error.to_string()),
            }
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
            Self::Ring(ring) => match ring.read(bytes, until) {
                Ok(0) => Ok(None),
                Ok(read) => Ok(Some(read)),
                Err(error) => moved_by(error).map(Some),
            },
            Self::Lasting(link) => link.read(bytes, until).map(Some),
            Self::Socket(socket) => loop {
                match socket.read(bytes) {
                    Ok(Moved::Some(read)) => return Ok(Some(read)),
                    Ok(Moved::None) if wait_ready(&**socket, PollFlags::IN, until) => {}
                    Ok(Moved::None) => return Ok(Some(0)),
                    Ok(Moved::End) => return Ok(None),
                    Err(error) => return Err(error.to_string()),
                }
            },
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
) -> Progress {
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
fn moved_by(error: RingError) -> Progress {
    match error {
        RingError::TimedOut { moved, .. } => Ok(moved),
        RingError::PeerGone { .. } => Err("the daemon at its other end is gone".into()),
        RingError::Closed { .. } => Err(CLOSED.into()),
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
