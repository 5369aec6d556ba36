//! A signal: a descriptor with which one thread wakes another.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A signal that a thread sets to wake another. Its descriptor is readable while it is set.
#[derive(Debug)]
pub struct Signal(OwnedFd);

impl Signal {
    /// Create a signal that is not set.
    ///
    /// # Errors
    /// The process cannot open more descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(
            0,
            EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        )?))
    }

    /// Set the signal, which wakes a thread that polls it.
    pub fn set(&self) {
        // Ignore a failure: the write fails only if the counter is full, and then the signal is set
        // already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Reset the signal. Return whether it was set.
    pub fn clear(&self) -> bool {
        rustix::io::read(&self.0, &mut [0; 8]).is_ok()
    }
}

impl AsFd for Signal {
    /// Return the descriptor, which is readable while the signal is set.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
