//! The pair of sockets beside a ring: one byte wakes who sleeps, the end of a process is seen.

use crate::error::Error;
use crate::fds::{send_fds, try_recv_fds};
use crate::wait::ready;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Rings that a borrower is shown at most at a time.
pub const RINGS_SHOWN: u8 = 64;

/// Messages that are taken at most in one look. More are never under way: the socket holds fewer.
const MOST_HEARD: usize = 4096;
/// The byte that wakes.
const WAKE: u8 = 1;
/// Together with the number of a slot: it is empty. A descriptor comes with the number alone.
const EMPTY: u8 = 0x80;

/// What was told of slots and not used yet, the newest of each: what is in it now.
pub(crate) type Told = BTreeMap<u8, Option<OwnedFd>>;

/// One end.
#[derive(Debug)]
pub(crate) struct Line {
    socket: OwnedFd,
    gone: bool,
    /// What came besides what wakes this side, if that is wanted.
    told: Option<Told>,
    /// Whether a descriptor came that this process has no room for.
    lost: bool,
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
            told: None,
            lost: false,
        })
    }

    /// From now on what is told of slots is kept.
    pub(crate) fn listen(&mut self) {
        self.told.get_or_insert_default();
        self.lost = false;
    }

    /// What was told of slots since this was asked.
    pub(crate) fn told(&mut self) -> Told {
        self.told.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Whether something that was told is lost, as this process may open no more files.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost
    }

    /// Gives the other side a descriptor for a slot. It wakes as well.
    pub(crate) fn show(&self, slot: u8, file: &OwnedFd) -> Result<(), Error> {
        send_fds(&self.socket, &[slot], &[file.as_fd()], Instant::now())
    }

    /// Tells the other side that a slot is empty; whether there was room to tell.
    pub(crate) fn withdraw(&self, slot: u8) -> bool {
        self.send(EMPTY | slot)
    }

    fn send(&self, byte: u8) -> bool {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        rustix::net::send(&self.socket, &[byte], flags).is_ok()
    }

    /// Wakes the other side.
    pub(crate) fn wake(&self) {
        // If the socket is full the other side has enough to wake it; if it is closed, nobody is
        // there to be woken, and this side will see it when it waits.
        let _ = self.send(WAKE);
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
        if self.told.is_some() {
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
        for _ in 0..MOST_HEARD {
            match try_recv_fds(&self.socket, bytes, 1) {
                Ok(Some(received)) if received.bytes == 0 => {
                    self.gone = true;
                    break;
                }
                Ok(Some(received)) => self.keep(&bytes[..received.bytes], received.descriptors)?,
                Ok(None) => break,
                // What it was for is told by no more than its lack.
                Err(Error::Truncated) => self.lost = true,
                Err(Error::System { error, .. })
                    if error.kind() == std::io::ErrorKind::ConnectionReset =>
                {
                    self.gone = true;
                    break;
                }
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// Keeps what came together: a descriptor ends it, and belongs to the last byte.
    fn keep(&mut self, bytes: &[u8], mut descriptors: Vec<OwnedFd>) -> Result<(), Error> {
        let Some(told) = &mut self.told else {
            return Ok(());
        };
        let with = descriptors.pop();
        let plain = bytes.len() - usize::from(with.is_some());
        let empty = bytes[..plain].iter().filter(|byte| **byte & EMPTY != 0);
        let changes = empty.map(|byte| (byte & !EMPTY, None));
        let shown = with.map(|file| (bytes[plain], Some(file)));
        for (slot, file) in changes.chain(shown) {
            if slot >= RINGS_SHOWN {
                let what = format!("more than {RINGS_SHOWN} rings are shown");
                return Err(Error::Loan(what));
            }
            told.insert(slot, file);
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
