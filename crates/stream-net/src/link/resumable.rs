//! The reading and writing halves of a resumable link: when its socket is cut, another one replaces
//! it. Positions count bytes over all sockets. Written bytes are stored until the peer confirms
//! them.

use crate::unconfirmed::{CONFIRM_BYTES, UNCONFIRMED_BYTES, Unconfirmed};
use isthmus_wire::{Moved, Socket};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// State of a resumable link, which reconnects when its socket is cut.
#[derive(Debug)]
pub(crate) struct Resumable {
    /// Maximum time for which the link may be without a socket. After that it is lost.
    pub grace: Duration,
    /// The number of the link's current or last socket, from 1.
    pub nth: u32,
}

impl Resumable {
    /// Returns the time at which a grace period that starts now ends. None if it is too far in the
    /// future.
    pub fn until(&self) -> Option<Instant> {
        Instant::now().checked_add(self.grace)
    }
}

/// The reading half of a resumable link.
#[derive(Debug, Default)]
pub(crate) struct ResumableSource {
    pub socket: Option<Arc<Socket>>,
    /// Number of bytes received over all sockets. `confirmed` is the number of these that were
    /// confirmed to the peer.
    pub received: u64,
    confirmed: u64,
}

impl ResumableSource {
    /// Reads bytes from the link's socket and counts them as received.
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<Moved, String> {
        let Some(socket) = &self.socket else {
            return Ok(Moved::None);
        };
        let moved = socket.read(bytes).map_err(|error| error.to_string())?;
        if let Moved::Some(read) = moved {
            self.received += read as u64;
        }
        Ok(moved)
    }

    /// Returns the number of received bytes to confirm to the peer. None if too few arrived since
    /// the last confirmation.
    pub fn confirm(&mut self) -> Option<u64> {
        let worth = self.received - self.confirmed >= CONFIRM_BYTES;
        worth.then(|| {
            self.confirmed = self.received;
            self.received
        })
    }
}

/// The writing half of a resumable link, which reconnects when its socket is cut.
#[derive(Debug)]
pub(crate) struct ResumableDrain {
    pub socket: Option<Arc<Socket>>,
    pub unconfirmed: Unconfirmed,
}

impl Default for ResumableDrain {
    /// Creates the writing half of a new link, without a socket or unconfirmed bytes.
    fn default() -> Self {
        Self {
            socket: None,
            unconfirmed: Unconfirmed::new(UNCONFIRMED_BYTES),
        }
    }
}

impl ResumableDrain {
    /// Returns whether this half waits for room in its socket, because it has bytes to write.
    /// `more` says whether the caller has further bytes.
    pub fn waits_for_room(&self, more: bool) -> bool {
        let kept = &self.unconfirmed;
        self.socket.is_some() && (kept.is_pending() || more && kept.room() > 0)
    }

    /// Writes as many pending (unwritten) bytes as the socket accepts.
    pub fn flush(&mut self) -> Result<Moved, String> {
        let Some(socket) = &self.socket else {
            return Ok(Moved::None);
        };
        let pieces = self.unconfirmed.pending().map(std::io::IoSlice::new);
        let moved = socket.write(&pieces).map_err(|error| error.to_string())?;
        if let Moved::Some(written) = moved {
            self.unconfirmed.mark_written(written);
        }
        Ok(moved)
    }

    /// Queues as many bytes of a frame's header and data as fit.
    pub fn put(&mut self, head: &[u8], data: &[u8]) -> Moved {
        if self.socket.is_none() {
            return Moved::None;
        }
        match self.unconfirmed.put_frame(head, data) {
            0 => Moved::None,
            took => Moved::Some(took),
        }
    }
}
