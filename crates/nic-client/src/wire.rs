//! The socket of a session or of a link.

use crate::error::{Error, Result};
use crate::patience::Patience;
use crate::tls::Tls;
use isthmus_nic_protocol::LINK_SILENCE_MS;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A socket to the daemon.
#[derive(Debug)]
pub(crate) enum Wire {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Tls),
}

impl Wire {
    pub fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Unix(socket) => socket.set_nonblocking(true),
            Self::Tcp(socket) => socket.set_nonblocking(true),
            Self::Tls(tls) => tls.set_nonblocking(),
        }
    }

    /// Reads what is there; none if that is nothing now, 0 at the end.
    pub fn read(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let read = match self {
                Self::Unix(socket) => socket.read(bytes),
                Self::Tcp(socket) => socket.read(bytes),
                Self::Tls(tls) => tls.read(bytes),
            };
            match read {
                Ok(read) => return Ok(Some(read)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes what fits; 0 if that is nothing now.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let written = match self {
                Self::Unix(socket) => socket.write(bytes),
                Self::Tcp(socket) => socket.write(bytes),
                Self::Tls(tls) => tls.write(bytes),
            };
            match written {
                Ok(written) => return Ok(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub fn shutdown(&self) {
        // What is closed already needs no closing.
        let _ = match self {
            Self::Unix(socket) => socket.shutdown(Shutdown::Both),
            Self::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Self::Tls(tls) => {
                tls.shutdown();
                Ok(())
            }
        };
    }

    /// Of a link that can be made anew: a path that takes nothing, or says nothing, for so long is
    /// taken for cut.
    pub fn notice_silence(&self) {
        // What the system refuses here costs time and nothing else.
        let _ = sockopt::set_tcp_user_timeout(self, LINK_SILENCE_MS);
        let _ = sockopt::set_socket_keepalive(self, true);
        let _ = sockopt::set_tcp_keepidle(self, Duration::from_secs(20));
        let _ = sockopt::set_tcp_keepintvl(self, Duration::from_secs(10));
        let _ = sockopt::set_tcp_keepcnt(self, 3);
    }

    /// Whether something that was written waits here still.
    pub fn wants_write(&self) -> bool {
        matches!(self, Self::Tls(tls) if tls.wants_write())
    }

    /// Writes what waits here.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tls(tls) => tls.flush(),
            _ => Ok(()),
        }
    }

    fn wanted(&self) -> PollFlags {
        match self.wants_write() {
            true => PollFlags::IN | PollFlags::OUT,
            false => PollFlags::IN,
        }
    }

    /// Writes all, before the socket has a thread.
    pub fn write_all(&mut self, mut bytes: &[u8], patience: Patience<'_>) -> Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes).map_err(said)? {
                0 => {
                    ready(self.as_fd(), PollFlags::OUT, patience.slice()?);
                }
                written => bytes = &bytes[written..],
            }
        }
        Ok(())
    }

    /// Reads some, before the socket has a thread.
    pub fn read_some(&mut self, bytes: &mut [u8], patience: Patience<'_>) -> Result<usize> {
        loop {
            match self.read(bytes).map_err(said)? {
                Some(0) => return Err(Error::Garbled("it closed the socket".into())),
                Some(read) => return Ok(read),
                None => {
                    self.flush().map_err(said)?;
                    ready(self.as_fd(), self.wanted(), patience.slice()?);
                }
            }
        }
    }
}

fn said(error: io::Error) -> Error {
    Error::Garbled(error.to_string())
}

/// Waits until a descriptor is ready, at most until `until`; whether it is.
pub(crate) fn ready(fd: BorrowedFd<'_>, wanted: PollFlags, until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    let mut fds = [PollFd::new(&fd, wanted)];
    // An interrupted poll is one that found nothing.
    matches!(poll(&mut fds, Some(&timespec(left))), Ok(found) if found > 0)
}

pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
            Self::Tls(tls) => tls.as_fd(),
        }
    }
}
