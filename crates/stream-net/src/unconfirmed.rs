//! A queue of bytes that were written to a link and that the peer has not confirmed. They are
//! written again when the link reconnects. The type uses no socket and no clock; both ends of a
//! resumable link use it.
//!
//! All bytes of one direction have a position, counted from 0 over all sockets of the link:
//!
//! ```text
//!      first          written        end         first + most
//! ───────┼───────────────┼────────────┼────────────────┼──────>
//!  gone  │ can be again  │  pending   │      room      │
//! ```
//!
//! `highest_written` is the highest position ever written: the peer cannot have later bytes.

use std::collections::VecDeque;

/// Maximum number of unconfirmed bytes in one direction of a resumable link, at either end.
pub const UNCONFIRMED_BYTES: usize = 4 << 20;
/// Number of bytes received on a link after which the receiving end confirms them to the peer.
pub const CONFIRM_BYTES: u64 = UNCONFIRMED_BYTES as u64 / 8;

/// Maximum number of bytes that one call queues before they are written to the socket. They still
/// fit into the processor's cache when they are written.
const QUEUE_AHEAD_MAX: usize = 128 << 10;

/// The unconfirmed bytes of one direction of a link, as a queue.
#[derive(Debug, Default)]
pub struct Unconfirmed {
    most: usize,
    /// The queued bytes, the first of which has the position `first`.
    bytes: VecDeque<u8>,
    first: u64,
    written: u64,
    highest_written: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the other end says that it has {position} bytes: between {} and {} are possible",
    .valid.0, .valid.1
)]
/// An invalid position from the peer: bytes that it cannot have, or fewer than it has confirmed.
pub struct InvalidPosition {
    /// The position in the link's bytes that the peer sent.
    pub position: u64,
    /// The minimum and the maximum valid position.
    pub valid: (u64, u64),
}

impl Unconfirmed {
    /// Creates an empty queue that keeps at most `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Returns the number of bytes that can be added to the queue.
    #[must_use]
    pub fn room(&self) -> usize {
        self.most - self.bytes.len()
    }

    /// Returns the position after all bytes that were added to the queue.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + self.bytes.len() as u64
    }

    /// Returns the highest position that was ever written to a socket.
    #[must_use]
    pub fn highest_written(&self) -> u64 {
        self.highest_written
    }

    /// Returns the position after the bytes that were written to the current socket.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Adds as many of `bytes` as fit to the queue. Returns the number of added bytes.
    pub fn put(&mut self, bytes: &[u8]) -> usize {
        let now = bytes.len().min(self.room());
        self.bytes.extend(&bytes[..now]);
        now
    }

    /// Adds the header of a frame, and as much of its data as should be queued ahead of writing.
    /// Returns the number of added bytes.
    pub fn put_frame(&mut self, head: &[u8], data: &[u8]) -> usize {
        let took = self.put(head);
        if took < head.len() {
            return took;
        }
        took + self.put(&data[..data.len().min(QUEUE_AHEAD_MAX)])
    }

    /// Discards the bytes that were never written to a socket.
    pub fn discard_pending(&mut self) {
        let stays = self.highest_written - self.first;
        self.bytes.truncate(stays as usize);
    }

    /// Returns the bytes to be written to the socket next, in two contiguous pieces, as the queue
    /// may wrap around.
    #[must_use]
    pub fn pending(&self) -> [&[u8]; 2] {
        let skip = (self.written - self.first) as usize;
        let (one, two) = self.bytes.as_slices();
        match skip < one.len() {
            true => [&one[skip..], two],
            false => [&two[skip - one.len()..], &[]],
        }
    }

    /// Returns whether bytes are waiting to be written to the socket.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.written < self.end()
    }

    /// Records that `bytes` of the pending bytes were written.
    pub fn mark_written(&mut self, bytes: usize) {
        self.written = self.end().min(self.written + bytes as u64);
        self.highest_written = self.highest_written.max(self.written);
    }

    /// Handles a confirmation from the peer of all bytes before position `at`. An older
    /// confirmation has no effect.
    ///
    /// # Errors
    /// [`InvalidPosition`]: `at` is after the bytes that were written.
    pub fn confirm(&mut self, at: u64) -> Result<(), InvalidPosition> {
        match at > self.written {
            true => Err(self.invalid(at, self.written)),
            false => {
                self.forget(at);
                Ok(())
            }
        }
    }

    /// Continues with a new socket whose peer has all bytes before `at`. All bytes from `at` become
    /// pending again.
    ///
    /// # Errors
    /// [`InvalidPosition`], with no change.
    pub fn resume_at(&mut self, at: u64) -> Result<(), InvalidPosition> {
        if !(self.first..=self.highest_written).contains(&at) {
            return Err(self.invalid(at, self.highest_written));
        }
        self.forget(at);
        self.written = at;
        Ok(())
    }

    /// Drops the bytes before this position, which the peer has confirmed.
    fn forget(&mut self, before: u64) {
        let news = before.saturating_sub(self.first);
        self.bytes.drain(..news as usize);
        self.first += news;
    }

    /// Creates the error for a position from the peer, if positions up to `most` are possible.
    fn invalid(&self, position: u64, most: u64) -> InvalidPosition {
        let valid = (self.first, most);
        InvalidPosition { position, valid }
    }
}
