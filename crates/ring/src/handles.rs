//! The descriptors of one end of a ring, with which the end is passed to another process.

use crate::error::{Error, Wanted};
use crate::fds::{recv_fds, send_fds};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// The bytes that are sent with the descriptors to identify an end of a ring.
const GREETING: &[u8; 16] = b"isthmus ring 1\r\n";

/// The descriptors of one end of a ring: its memory, and one of its two sockets. If they are
/// dropped, the other end treats this as the death of the process at this end.
#[derive(Debug)]
pub struct Handles {
    pub(crate) memory: OwnedFd,
    pub(crate) line: OwnedFd,
}

impl Handles {
    /// Creates handles from descriptors that were received in another way. They are checked when an
    /// end is created from the handles.
    pub fn new(memory: OwnedFd, line: OwnedFd) -> Self {
        Self { memory, line }
    }

    /// Returns the memory and the socket, for sending them in another way.
    pub fn into_descriptors(self) -> (OwnedFd, OwnedFd) {
        (self.memory, self.line)
    }

    /// Sends the descriptors through a Unix socket, with 16 bytes of data, and closes them in this
    /// process.
    ///
    /// # Errors
    /// As [`send_fds`].
    pub fn send(self, socket: impl AsFd, deadline: Instant) -> Result<(), Error> {
        let descriptors = [self.memory.as_fd(), self.line.as_fd()];
        send_fds(socket, GREETING, &descriptors, deadline)
    }

    /// Receives the descriptors from [`Handles::send`].
    ///
    /// # Errors
    /// [`Error::NoRing`] if other data arrived, or the socket is closed; otherwise as [`recv_fds`].
    pub fn receive(socket: impl AsFd, deadline: Instant) -> Result<Self, Error> {
        let socket = socket.as_fd();
        let no = |why: &str| Error::NoRing(why.to_owned());
        let mut greeting = [0; GREETING.len()];
        let (mut len, mut descriptors) = (0, Vec::new());
        while len < greeting.len() {
            let most = 2 - descriptors.len();
            let received = recv_fds(socket, &mut greeting[len..], most, deadline)?;
            if received.bytes == 0 {
                return Err(no("the socket was closed"));
            }
            len += received.bytes;
            descriptors.extend(received.descriptors);
            // A wrong start is reported at once, without waiting for the rest.
            if greeting[..len] != GREETING[..len] {
                return Err(no("the message says something else"));
            }
            if Instant::now() > deadline {
                return Err(Error::TimedOut {
                    waited_for: Wanted::Message,
                    moved: len,
                    written: 0,
                    read: 0,
                });
            }
        }
        let count = descriptors.len();
        let [memory, line] = <[OwnedFd; 2]>::try_from(descriptors)
            .map_err(|_| no(&format!("{count} descriptors came instead of two")))?;
        Ok(Self { memory, line })
    }
}
