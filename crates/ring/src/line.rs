//! The pair of sockets beside a ring: one byte wakes who sleeps, the end of a process is seen.

use crate::error::Error;
use crate::fds::{send_fds, try_recv_fds};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Descriptors that are kept at most before they are used.
const MOST_KEPT: usize = 128;

/// One end.
#[derive(Debug)]
pub(crate) struct Line {
    socket: OwnedFd,
    gone: bool,
    /// Whether descriptors may come with what wakes this side, and those that came.
    takes: bool,
    pub came: VecDeque<OwnedFd>,
}

/// Both ends.
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
    /// What was received, if it is a socket.
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
            takes: false,
            came: VecDeque::new(),
        })
    }

    /// From now on descriptors that come are kept.
    pub(crate) fn take(&mut self) {
        self.takes = true;
    }

    /// Gives the other side a descriptor, with a byte as one that wakes.
    pub(crate) fn give(&self, file: &OwnedFd) -> Result<(), Error> {
        send_fds(&self.socket, &[1], &[file.as_fd()], Instant::now())
    }

    /// Wakes the other side.
    pub(crate) fn wake(&self) {
        // If the socket is full the other side has enough to wake it; if it is closed, nobody is
        // there to be woken, and this side will see it when it waits.
        let _ = rustix::net::send(
            &self.socket,
            &[1],
            SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
        );
    }

    /// Waits until the other side wakes this one or is gone, or until `deadline`.
    ///
    /// # Returns
    /// Whether there was time left.
    pub(crate) fn sleep(&mut self, deadline: Instant) -> Result<bool, Error> {
        let in_time = ready(self.socket.as_fd(), PollFlags::IN, deadline)?;
        self.heed()?;
        Ok(in_time)
    }

    /// Takes what wakes this side, and sees whether the other is gone.
    pub(crate) fn heed(&mut self) -> Result<(), Error> {
        let mut bytes = [0; 64];
        if self.takes {
            return self.heed_and_keep(&mut bytes);
        }
        // One byte is usual; who sends many is not listened to for ever.
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

    fn heed_and_keep(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        // What wakes comes together, descriptors one by one.
        for _ in 0..4 * MOST_KEPT {
            match try_recv_fds(&self.socket, bytes, 1) {
                Ok(Some(received)) if received.bytes == 0 => {
                    self.gone = true;
                    break;
                }
                Ok(Some(received)) => self.came.extend(received.descriptors),
                Ok(None) => break,
                Err(Error::System { error, .. })
                    if error.kind() == std::io::ErrorKind::ConnectionReset =>
                {
                    self.gone = true;
                    break;
                }
                Err(other) => return Err(other),
            }
            if self.came.len() > MOST_KEPT {
                return Err(Error::Loan(format!(
                    "more than {MOST_KEPT} rings are shown"
                )));
            }
        }
        Ok(())
    }

    /// Whether the other side was seen to be gone.
    pub(crate) fn gone(&self) -> bool {
        self.gone
    }

    pub(crate) fn into_socket(self) -> OwnedFd {
        self.socket
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Waits until `events` are true of a descriptor, or it has hung up, or until `deadline`.
///
/// # Returns
/// Whether there was time left. A signal ends the wait as well.
pub(crate) fn ready(
    descriptor: BorrowedFd<'_>,
    events: PollFlags,
    deadline: Instant,
) -> Result<bool, Error> {
    let left = deadline.saturating_duration_since(Instant::now());
    // Longer than the system can count is as good as the longest that it can.
    let timeout = Timespec::try_from(left).unwrap_or(Timespec {
        tv_sec: i64::MAX,
        tv_nsec: 0,
    });
    let mut descriptors = [PollFd::from_borrowed_fd(descriptor, events)];
    match poll(&mut descriptors, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(!left.is_zero()),
        Err(error) => Err(Error::system("waiting for a descriptor", error)),
    }
}
