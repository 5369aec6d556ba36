//! The ends of a link, from and to which a process moves bytes until a deadline. Their calls return
//! the number of moved bytes.

use crate::lasting::Lasting;
use isthmus_ring::{Consumer, Error as RingError, Producer};
use isthmus_wire::{Moved, Socket, wait_ready};
use rustix::event::PollFlags;
use std::io::IoSlice;
use std::sync::Arc;
use std::time::Instant;

/// Maximum number of bytes of a frame that are written to a ring in the first step.
const FIRST_PIECE_BYTES: usize = 32 << 10;

/// The sending end of a link, to which this process writes.
#[derive(Debug)]
pub(crate) enum SendingEnd {
    Ring(Producer),
    Socket(Arc<Socket>),
    Lasting(Arc<Lasting>),
}

/// The receiving end of a link, from which this process reads.
#[derive(Debug)]
pub(crate) enum ReceivingEnd {
    Ring(Consumer),
    Socket(Arc<Socket>),
    Lasting(Arc<Lasting>),
}

/// The error message of a link whose other end was closed.
pub(crate) const CLOSED: &str = "the daemon has closed its other end";

/// The number of moved bytes, or the reason why the link is broken.
pub(crate) type Progress = Result<usize, String>;

impl SendingEnd {
    /// Return whether the daemon has closed its end of the socket. A lasting link does not: it reconnects.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Socket(socket) => wait_ready(&**socket, PollFlags::RDHUP, Instant::now()),
            Self::Ring(_) | Self::Lasting(_) => false,
        }
    }

    /// Write a frame (header `head`, then `data`), of which the first `at` bytes are already
    /// written. Stop at the time `until`.
    ///
    /// # Returns
    /// The number of bytes of the frame that are now written, including those `at` bytes.
    ///
    /// # Errors
    /// The link is broken.
    pub fn write(&mut self, mut at: usize, head: &[u8], data: &[u8], until: Instant) -> Progress {
        if at == 0
            && let Self::Ring(ring) = self
        {
            // The header and the first data are written in one step, so that the reader does not
            // wake for the header alone.
            let most = (ring.capacity() / 2).min(FIRST_PIECE_BYTES as u64) as usize;
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
        while at < head.len() + data.len() {
            let parts = rest(at, head, data);
            match self {
                Self::Ring(ring) => {
                    let part = parts[usize::from(parts[0].is_empty())];
                    match ring.write_all(part, until) {
                        Ok(()) => at += part.len(),
                        Err(error) => return Ok(at + moved_by(error)?),
                    }
                }
                Self::Lasting(link) => return Ok(at + link.write(parts, until)?),
                Self::Socket(socket) => match socket.write(&parts.map(IoSlice::new)) {
                    Ok(Moved::Some(written)) => at += written,
                    Ok(Moved::None) if wait_ready(&**socket, PollFlags::OUT, until) => {}
                    Ok(Moved::None) => return Ok(at),
                    Ok(Moved::End) => return Err(CLOSED.into()),
                    Err(error) => return Err(error.to_string()),
                },
            }
        }
        Ok(at)
    }
}

impl ReceivingEnd {
    /// Read into `bytes` until it is full, or until `until`.
    ///
    /// # Returns
    /// The number of bytes read; None at the end of the link if there are no more bytes.
    ///
    /// # Errors
    /// The link is broken.
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

    /// Read available bytes. Returns 0 if none arrive until `until`, and None at the end of the
    /// link.
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

/// Return the parts of a header and its data after the first `at` bytes.
fn rest<'b>(at: usize, head: &'b [u8], data: &'b [u8]) -> [&'b [u8]; 2] {
    let of_head = at.min(head.len());
    [&head[of_head..], &data[at - of_head..]]
}

/// Convert an error of a ring: a timeout becomes the number of bytes that were moved before it, any other error
/// its message.
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

    /// Checks that a frame is written completely if a socket accepts only a part of its header: the
    /// next write must continue there.
    #[test]
    fn a_frame_continues_after_any_of_its_bytes() {
        let (head, data) = ([1, 2, 3, 4, 5], [6, 7, 8, 9]);
        let all = [&head[..], &data].concat();
        for at in 0..=all.len() {
            assert_eq!(rest(at, &head, &data).concat(), all[at..]);
        }
    }
}
