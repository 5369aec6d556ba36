//! The halves of a lasting link: their socket may be cut, and another one takes its place. Bytes
//! are counted over all sockets; those that were written are kept until they are confirmed.

use crate::unconfirmed::{CONFIRM_BYTES, UNCONFIRMED_BYTES, Unconfirmed};
use isthmus_wire::{Moved, Socket};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What makes a link last.
#[derive(Debug)]
pub(crate) struct Lasting {
    /// How long it may be without a socket.
    pub grace: Duration,
    /// The number of the socket that it has, or had last, from 1.
    pub nth: u32,
}

impl Lasting {
    /// When the time is over that it may be without a socket from now on.
    pub fn until(&self) -> Option<Instant> {
        Instant::now().checked_add(self.grace)
    }
}

/// The half that is read.
#[derive(Debug, Default)]
pub(crate) struct LastingSource {
    pub socket: Option<Arc<Socket>>,
    /// Bytes that were read, and how many of them were confirmed.
    pub received: u64,
    confirmed: u64,
}

impl LastingSource {
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

    /// How many bytes to confirm, if that is worth it now.
    pub fn confirm(&mut self) -> Option<u64> {
        let worth = self.received - self.confirmed >= CONFIRM_BYTES;
        worth.then(|| {
            self.confirmed = self.received;
            self.received
        })
    }
}

/// The half that is written.
#[derive(Debug)]
pub(crate) struct LastingDrain {
    pub socket: Option<Arc<Socket>>,
    pub unconfirmed: Unconfirmed,
}

impl Default for LastingDrain {
    fn default() -> Self {
        Self {
            socket: None,
            unconfirmed: Unconfirmed::new(UNCONFIRMED_BYTES),
        }
    }
}

impl LastingDrain {
    /// Whether the socket is what is waited for, if something `more` is to be written.
    pub fn waits_for_room(&self, more: bool) -> bool {
        let kept = &self.unconfirmed;
        self.socket.is_some() && (kept.is_pending() || more && kept.room() > 0)
    }

    /// Writes what fits of what is kept and not written.
    pub fn flush(&mut self) -> Result<Moved, String> {
        let Some(socket) = &self.socket else {
            return Ok(Moved::None);
        };
        let pieces = self.unconfirmed.pending().map(std::io::IoSlice::new);
        let moved = socket.write(&pieces).map_err(|error| error.to_string())?;
        if let Moved::Some(written) = moved {
            self.unconfirmed.wrote(written);
        }
        Ok(moved)
    }

    /// Takes what fits of a header and its data, to be written.
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
