//! A descriptor by which one thread wakes another.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A descriptor that is readable while it is set.
#[derive(Debug)]
pub struct Signal(OwnedFd);

impl Signal {
    /// Create a signal that is not set.
    ///
    /// # Errors
    /// The process may open no more descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(
            0,
            EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        )?))
    }

    /// Set it.
    pub fn set(&self) {
        // Writing fails only if the counter is full, and then it is set anyway.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Reset it. Return whether it was set.
    pub fn clear(&self) -> bool {
        rustix::io::read(&self.0, &mut [0; 8]).is_ok()
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
