//! Errors of rings in shared memory.

use crate::words::Corrupt;
use std::fmt;
use std::io;
use vm_memory::VolatileMemoryError;

/// An error of a ring.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The capacity of a ring, in bytes, is not a power of two within the limits.
    #[error("a ring of {0} bytes: the capacity must be a power of two from 4096 to 2^30")]
    Capacity(u64),
    /// The call needs more than half of the ring at once, either as data or as free space.
    #[error("{wanted} bytes of a ring at once: at most half of it, {most} bytes")]
    TooMuch {
        /// Number of bytes for which the call would have to wait.
        wanted: u64,
        /// Half of the capacity of the ring, in bytes.
        most: u64,
    },
    /// The received descriptors are not a ring, for this reason.
    #[error("what was received is no ring: {0}")]
    NoRing(String),
    /// The other side wrote invalid positions.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// The deadline passed before the call was complete.
    #[error("timed out waiting for {waited_for}{}", progress(*.waited_for, *.moved, *.written, *.read))]
    TimedOut {
        /// The condition that the call waited for.
        waited_for: Wanted,
        /// Number of bytes that this call moved before the deadline; they stay moved.
        moved: usize,
        /// Total number of bytes written to the ring.
        written: u64,
        /// Total number of bytes read from the ring.
        read: u64,
    },
    /// The other side has closed its end.
    #[error("the other side of the ring has closed it, after {moved} bytes of these")]
    Closed {
        /// Number of bytes that this call moved before the other side closed.
        moved: usize,
    },
    /// The process at the other end has ended without closing its end.
    #[error(
        "the process at the other side of the ring ended without closing it, after {moved} bytes \
         of these"
    )]
    PeerGone {
        /// Number of bytes that this call moved before the peer's process ended.
        moved: usize,
    },
    /// Descriptors were lost: more arrived than the receiver expected, or it has no room for more open descriptors.
    #[error(
        "descriptors were lost on their way: more came than are expected, or this process may \
         open no more"
    )]
    Truncated,
    /// The system refused an operation.
    #[error("{what}: {error}")]
    System {
        /// The operation that the system refused.
        what: &'static str,
        /// The error that the system returned.
        #[source]
        error: io::Error,
    },
}

/// The condition of a ring or a socket for which a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Room in the ring for this number of bytes.
    Room(u64),
    /// Data in the ring, this number of bytes.
    Data(u64),
    /// Room in a socket for a message that the call sends.
    Sending,
    /// A message that the call receives from a socket.
    Message,
}

impl Error {
    /// Creates an error of the system; `what` names the operation.
    pub(crate) fn system(what: &'static str, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self::System { what, error }
    }

    /// Adds `before`, the number of bytes that the call had moved before this error, to the error's count. Errors
    /// without a count stay unchanged.
    pub(crate) fn after(mut self, before: usize) -> Self {
        match &mut self {
            Self::TimedOut { moved, .. } | Self::Closed { moved } | Self::PeerGone { moved } => {
                *moved += before;
            }
            _ => {}
        }
        self
    }
}

impl fmt::Display for Wanted {
    /// Writes what the call waits for, as part of an error message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Room(bytes) => write!(f, "{bytes} bytes of room in the ring"),
            Self::Data(bytes) => write!(f, "{bytes} bytes in the ring"),
            Self::Sending => write!(f, "a socket that takes a message"),
            Self::Message => write!(f, "a message from a socket"),
        }
    }
}

/// Describes the progress of a call on a ring that timed out.
fn progress(waited_for: Wanted, moved: usize, written: u64, read: u64) -> String {
    match waited_for {
        Wanted::Sending | Wanted::Message => String::new(),
        _ => format!(", after {moved} bytes: {written} were ever written, {read} read"),
    }
}

/// Converts an error of a copy to or from the memory of a ring; `what` names the operation.
pub(crate) fn refused(what: &'static str, error: VolatileMemoryError) -> Error {
    let error = match error {
        VolatileMemoryError::IOError(error) => error,
        other => std::io::Error::other(other),
    };
    Error::system(what, error)
}
