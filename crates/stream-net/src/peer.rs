//! The trait of sockets from which a sink (a receiver that checks packets) reads and to which it
//! writes its answers.

use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

/// A stream socket that a sink uses, which can be read with and without waiting.
pub trait Peer: Read + Write {
    /// Reads available bytes without waiting. Returns None if no bytes are available, and 0 at the
    /// end of the stream.
    ///
    /// # Errors
    /// As [`Read::read`].
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>>;
}

impl<T: Read + Write + AsFd> Peer for T {
    /// Reads available bytes without waiting, by the flag `MSG_DONTWAIT` of `recv`.
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::net::recv(self, bytes, RecvFlags::DONTWAIT) {
            Ok((read, _)) => Ok(Some(read)),
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
