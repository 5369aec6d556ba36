//! Sockets that never block: streams of bytes to ranks and to the outside.

use crate::error::{Error, Result};
use isthmus_ring::Claim;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, sockopt,
};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What an attempt to move bytes gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moved {
    /// So many, above 0.
    Some(usize),
    /// None now.
    None,
    /// There will be no more: the other side has closed it.
    End,
}

/// A connected stream socket.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// The congestion control that is set, where that is a matter of the socket.
    congestion: Option<String>,
    /// Whether its description is set never to block. That is done when bytes of a ring are first
    /// written: whoever gave it may use it otherwise until then.
    never_blocks: AtomicBool,
}

impl Socket {
    /// A stream socket, TCP or Unix. Of TCP, small packets are not held back, and the congestion
    /// control is set to cubic where the system lets it.
    #[must_use]
    pub fn new(fd: OwnedFd) -> Self {
        let tcp = !matches!(sockopt::socket_domain(&fd), Ok(AddressFamily::UNIX));
        if tcp {
            // What the system refuses here costs speed and nothing else; statistics show it.
            let _ = sockopt::set_tcp_nodelay(&fd, true);
            let _ = sockopt::set_tcp_congestion(&fd, "cubic");
        }
        let congestion = tcp.then(|| sockopt::tcp_congestion(&fd).ok()).flatten();
        let never_blocks = AtomicBool::new(false);
        Self {
            fd,
            congestion,
            never_blocks,
        }
    }

    /// The congestion control that it has; none for Unix sockets.
    #[must_use]
    pub fn congestion(&self) -> Option<&str> {
        self.congestion.as_deref()
    }

    /// Return its own address and that of its peer.
    pub(crate) fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        let own = rustix::net::getsockname(&self.fd)?.try_into()?;
        let peer = rustix::net::getpeername(&self.fd)?.ok_or(Errno::NOTCONN)?;
        Ok((own, peer.try_into()?))
    }

    /// Begins to connect to an address; [`Socket::connected`] says when it is.
    pub(crate) fn connect_tcp(address: SocketAddr) -> Result<Self> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let what = || format!("connecting to {address}");
        let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, None)
            .map_err(|error| Error::system(what(), error))?;
        let socket = Self::new(fd);
        match rustix::net::connect(&socket.fd, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(Error::system(what(), error)),
        }
    }

    /// Connects to a Unix socket; a path that begins with `@` is an abstract name.
    pub(crate) fn connect_unix(path: &str) -> Result<Self> {
        Self::connect_shown(path, path)
    }

    /// Connects to a Unix socket that was found, whatever is at its path now.
    pub(crate) fn connect_opened(found: &OwnedFd, path: &str) -> Result<Self> {
        Self::connect_shown(&format!("/proc/self/fd/{}", found.as_raw_fd()), path)
    }

    fn connect_shown(path: &str, shown: &str) -> Result<Self> {
        let refused = |error: Errno| Error::system(format!("connecting to {shown}"), error);
        let address = match path.strip_prefix('@') {
            Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
            None => SocketAddrUnix::new(path),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let fd = fd.map_err(refused)?;
        rustix::net::connect(&fd, &address.map_err(refused)?).map_err(refused)?;
        Ok(Self::new(fd))
    }

    /// Whether it is connected by now.
    ///
    /// # Errors
    /// What the system says of a connection that was not made.
    pub(crate) fn connected(&self) -> std::result::Result<bool, Errno> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::OUT)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match poll(&mut fds, Some(&now)) {
            Ok(0) | Err(Errno::INTR) => return Ok(false),
            Ok(_) => {}
            Err(error) => return Err(error),
        }
        sockopt::socket_error(&self.fd)??;
        Ok(true)
    }

    /// Reads what is there.
    pub(crate) fn read(&self, bytes: &mut [u8]) -> std::result::Result<Moved, Errno> {
        if bytes.is_empty() {
            return Ok(Moved::None);
        }
        loop {
            return match rustix::net::recv(&self.fd, &mut *bytes, RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET) => Ok(Moved::End),
                Ok((read, _)) => Ok(Moved::Some(read)),
                Err(Errno::AGAIN) => Ok(Moved::None),
                Err(Errno::INTR) => continue,
                Err(error) => Err(error),
            };
        }
    }

    /// Writes what fits of the parts, one after the other.
    pub(crate) fn write(&self, parts: &[IoSlice<'_>]) -> std::result::Result<Moved, Errno> {
        self.write_parts(parts, SendFlags::empty())
    }

    fn write_parts(
        &self,
        parts: &[IoSlice<'_>],
        more: SendFlags,
    ) -> std::result::Result<Moved, Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL | more;
        loop {
            let mut none = SendAncillaryBuffer::default();
            return match rustix::net::sendmsg(&self.fd, parts, &mut none, flags) {
                Ok(0) | Err(Errno::AGAIN) => Ok(Moved::None),
                Ok(written) => Ok(Moved::Some(written)),
                Err(Errno::INTR) => continue,
                Err(Errno::PIPE | Errno::CONNRESET) => Ok(Moved::End),
                Err(error) => Err(error),
            };
        }
    }

    /// Writes what fits of `bytes`, and says that more follows: the system waits for that before it
    /// sends less than a segment.
    pub(crate) fn write_more(&self, bytes: &[u8]) -> std::result::Result<Moved, Errno> {
        self.write_parts(&[IoSlice::new(bytes)], SendFlags::MORE)
    }

    /// Writes what fits of claimed bytes of a ring from byte `from` on, from where they lie.
    pub(crate) fn write_claim(&self, claim: &Claim, from: usize) -> io::Result<Moved> {
        if !self.never_blocks.swap(true, Ordering::Relaxed) {
            rustix::io::ioctl_fionbio(&self.fd, true)?;
        }
        match claim.write_to(&self.fd, from) {
            Ok(0) => Ok(Moved::None),
            Ok(written) => Ok(Moved::Some(written)),
            Err(isthmus_ring::Error::System { error, .. }) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(Moved::None),
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(Moved::End),
                _ => Err(error),
            },
            Err(other) => Err(io::Error::other(other)),
        }
    }

    /// Says that no more is written.
    pub(crate) fn finish(&self) {
        // A socket that is gone has nobody to tell.
        let _ = rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Write);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<std::net::TcpStream> for Socket {
    fn from(stream: std::net::TcpStream) -> Self {
        Self::new(stream.into())
    }
}

impl From<std::os::unix::net::UnixStream> for Socket {
    fn from(stream: std::os::unix::net::UnixStream) -> Self {
        Self::new(stream.into())
    }
}
