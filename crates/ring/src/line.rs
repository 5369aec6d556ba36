//! The pair of sockets of a ring: one byte wakes a sleeping side, and each side detects the end of
//! the other's process.

use crate::error::Error;
use crate::wait::ready;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// One end of the pair of sockets of a ring.
#[derive(Debug)]
pub(crate) struct Line {
    socket: OwnedFd,
    gone: bool,
}

/// Creates a pair of connected Unix sockets.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), Error> {
    rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|error| Error::system("the sockets of a ring", error))
}

impl Line {
    /// Creates one end of the pair from a received descriptor, or returns an error if it is not a Unix
    /// stream socket.
    pub(crate) fn new(socket: OwnedFd) -> Result<Self, Error> {
        let no = |why: &str| Err(Error::NoRing(why.to_owned()));
        match rustix::net::sockopt::socket_domain(&socket) {
            Ok(AddressFamily::UNIX) => {}
            _ => return no("what should wake it is no Unix socket"),
        }
        match rustix::net::sockopt::socket_type(&socket) {
            Ok(SocketType::STREAM) => {}
            _ => return no("what should wake it is no stream"),
        }
        Ok(Self {
            socket,
            gone: false,
        })
    }

    /// Wakes the process at the other end of the pair of sockets, by one byte.
    pub(crate) fn wake(&self) {
        // If the socket is full, the other side has enough bytes to wake it. If it is closed, no
        // side is left to wake, and this side detects that when it waits.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = rustix::net::send(&self.socket, &[1], flags);
    }

    /// Waits until the other side wakes this one or is gone, but at most until `deadline`.
    ///
    /// # Returns
    /// False if the deadline passed first.
    pub(crate) fn sleep(&mut self, deadline: Instant) -> Result<bool, Error> {
        let in_time = ready(self.socket.as_fd(), PollFlags::IN, deadline)?;
        self.mark_ready()?;
        Ok(in_time)
    }

    /// Reads and discards the received wake-up bytes, and records whether the other side has closed its socket.
    pub(crate) fn mark_ready(&mut self) -> Result<(), Error> {
        let mut bytes = [0; 64];
        // Read at most 16 times: usually one byte has arrived, but the other side may send bytes without end.
        for _ in 0..16 {
            match rustix::net::recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET) => {
                    self.gone = true;
                    break;
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(Error::system("the socket of a ring", error)),
            }
        }
        Ok(())
    }

    /// Returns whether the other process has closed its socket, as far as earlier calls have detected.
    pub(crate) fn gone(&self) -> bool {
        self.gone
    }

    /// Returns the socket of this end.
    pub(crate) fn into_socket(self) -> OwnedFd {
        self.socket
    }
}

impl AsFd for Line {
    /// Returns the descriptor of this end's socket.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
