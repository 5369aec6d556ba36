//! Stream sockets that never block.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrUnix,
    SocketFlags, SocketType, sockopt,
};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The result of a non-blocking read or write of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// This number of bytes moved, above 0.
    Some(usize),
    /// No bytes can move now: nothing has arrived, or the socket is full.
    None,
    /// No more bytes will follow: the peer has closed the socket.
    End,
}

/// A connected stream socket, TCP or Unix.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// Whether the open file description has `O_NONBLOCK`. Without it, calls pass `MSG_DONTWAIT`,
    /// because a caller may share the description with blocking code.
    is_nonblocking: AtomicBool,
}

impl Socket {
    /// Wrap a connected socket. On TCP, set `TCP_NODELAY` and, where the system permits it, the
    /// congestion control `cubic`.
    #[must_use]
    pub fn new(fd: OwnedFd) -> Self {
        let socket = Self {
            fd,
            is_nonblocking: AtomicBool::new(false),
        };
        if !socket.is_unix() {
            // Ignore a failure: it only costs speed, and statistics show it.
            let _ = sockopt::set_tcp_nodelay(&socket.fd, true);
            let _ = sockopt::set_tcp_congestion(&socket.fd, "cubic");
        }
        socket
    }

    /// Start a TCP connection; [`Socket::is_connected`] reports when it is established.
    ///
    /// # Errors
    /// The error of the system.
    pub fn connect_tcp(address: SocketAddr) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = rustix::net::socket_with(family(address), SocketType::STREAM, flags, None)?;
        let socket = Self::new(fd);
        match rustix::net::connect(&socket.fd, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error.into()),
        }
    }

    /// Connect to the Unix socket at a path; a path that begins with `@` is an abstract name.
    ///
    /// # Errors
    /// The error of the system.
    pub fn connect_unix(path: &str) -> io::Result<Self> {
        let address = match path.strip_prefix('@') {
            Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
            None => SocketAddrUnix::new(path),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::connect(&fd, &address?)?;
        Ok(Self::new(fd))
    }

    /// Connect to a Unix socket that was opened with `O_PATH`, even if its path now names another
    /// socket.
    ///
    /// # Errors
    /// The error of the system.
    pub fn connect_opened(opened: &OwnedFd) -> io::Result<Self> {
        Self::connect_unix(&format!("/proc/self/fd/{}", opened.as_raw_fd()))
    }

    /// Return whether a TCP connection that was started is established.
    ///
    /// # Errors
    /// The reason why the connection failed.
    pub fn is_connected(&self) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::OUT)];
        match poll(&mut fds, Some(&Timespec::default())) {
            Ok(0) | Err(Errno::INTR) => return Ok(false),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        sockopt::socket_error(&self.fd)??;
        Ok(true)
    }

    /// Return the name of the congestion control algorithm in use; `None` for Unix sockets.
    #[must_use]
    pub fn congestion(&self) -> Option<String> {
        match self.is_unix() {
            true => None,
            false => sockopt::tcp_congestion(&self.fd).ok(),
        }
    }

    /// Return whether this is a Unix socket.
    #[must_use]
    pub fn is_unix(&self) -> bool {
        matches!(sockopt::socket_domain(&self.fd), Ok(AddressFamily::UNIX))
    }

    /// Return the socket's own address and the address of the peer.
    pub(crate) fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        let own = rustix::net::getsockname(&self.fd)?.try_into()?;
        let peer = rustix::net::getpeername(&self.fd)?.ok_or(Errno::NOTCONN)?;
        Ok((own, peer.try_into()?))
    }

    /// Read available bytes from the socket into `bytes`.
    ///
    /// # Errors
    /// The error of the system. A connection that was reset counts as closed.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<Moved> {
        self.receive(bytes, RecvFlags::empty())
    }

    /// Copy available bytes into `bytes`, and leave them in the socket.
    ///
    /// # Errors
    /// As [`Socket::read`].
    pub fn peek(&self, bytes: &mut [u8]) -> io::Result<Moved> {
        self.receive(bytes, RecvFlags::PEEK)
    }

    /// Receive available bytes with these flags of `recv`.
    fn receive(&self, bytes: &mut [u8], flags: RecvFlags) -> io::Result<Moved> {
        if bytes.is_empty() {
            return Ok(Moved::None);
        }
        loop {
            return match rustix::net::recv(&self.fd, &mut *bytes, flags | RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET) => Ok(Moved::End),
                Ok((read, _)) => Ok(Moved::Some(read)),
                Err(Errno::AGAIN) => Ok(Moved::None),
                Err(Errno::INTR) => continue,
                Err(error) => Err(error.into()),
            };
        }
    }

    /// Write as many bytes of the parts as fit in the socket, one part after the other.
    ///
    /// # Errors
    /// As [`Socket::read`].
    pub fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<Moved> {
        self.send(parts, SendFlags::empty())
    }

    /// Write as many bytes as fit in the socket, and announce that more will follow: the system
    /// then waits for these before it sends less than a segment.
    ///
    /// # Errors
    /// As [`Socket::read`].
    pub fn write_more(&self, bytes: &[u8]) -> io::Result<Moved> {
        self.send(&[IoSlice::new(bytes)], SendFlags::MORE)
    }

    /// Send as many bytes as fit in the socket, with these flags of `send`.
    fn send(&self, parts: &[IoSlice<'_>], flags: SendFlags) -> io::Result<Moved> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL | flags;
        loop {
            let mut none = SendAncillaryBuffer::default();
            return match rustix::net::sendmsg(&self.fd, parts, &mut none, flags) {
                Ok(0) | Err(Errno::AGAIN) => Ok(Moved::None),
                Ok(written) => Ok(Moved::Some(written)),
                Err(Errno::INTR) => continue,
                Err(Errno::PIPE | Errno::CONNRESET) => Ok(Moved::End),
                Err(error) => Err(error.into()),
            };
        }
    }

    /// Set `O_NONBLOCK` on the socket, for system calls that have no flags.
    ///
    /// # Errors
    /// The error of the system.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        if !self.is_nonblocking.swap(true, Ordering::Relaxed) {
            rustix::io::ioctl_fionbio(&self.fd, true)?;
        }
        Ok(())
    }

    /// Send heartbeats on TCP, so that the loss of the peer's host is detected: after `idle`
    /// without traffic, three times, 10 s apart. With `silence_ms`, also give up a path on which
    /// bytes stay unacknowledged for this time.
    pub fn set_keepalive(&self, idle: Duration, silence_ms: Option<u32>) {
        // Ignore a failure: it only delays the detection of a lost peer.
        let _ = sockopt::set_socket_keepalive(&self.fd, true);
        let _ = sockopt::set_tcp_keepidle(&self.fd, idle);
        let _ = sockopt::set_tcp_keepintvl(&self.fd, Duration::from_secs(10));
        let _ = sockopt::set_tcp_keepcnt(&self.fd, 3);
        if let Some(silence_ms) = silence_ms {
            let _ = sockopt::set_tcp_user_timeout(&self.fd, silence_ms);
        }
    }

    /// Duplicate the descriptor of the socket.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            fd: self.fd.try_clone()?,
            is_nonblocking: AtomicBool::new(false),
        })
    }

    /// Close the socket for reading: a reader gets the end of the stream, and the socket can still
    /// be written.
    pub fn close_reading(&self) {
        self.shutdown(Shutdown::Read);
    }

    /// Announce to the peer that no more bytes will be written.
    pub fn finish(&self) {
        self.shutdown(Shutdown::Write);
    }

    /// Close both directions of the connection.
    pub fn close(&self) {
        self.shutdown(Shutdown::Both);
    }

    /// Shut down the socket for reading, for writing, or for both.
    fn shutdown(&self, how: Shutdown) {
        // Ignore a failure: only a socket that is closed already causes it.
        let _ = rustix::net::shutdown(&self.fd, how);
    }
}

/// Return the address family of an address: IPv4 or IPv6.
fn family(address: SocketAddr) -> AddressFamily {
    match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    }
}

/// Open a non-blocking UDP socket that is connected to an address.
///
/// # Errors
/// The error of the system.
pub fn connect_udp(to: SocketAddr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = rustix::net::socket_with(family(to), SocketType::DGRAM, flags, None)?;
    rustix::net::connect(&fd, &to)?;
    Ok(fd)
}

impl AsFd for Socket {
    /// Return the descriptor of the socket.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<Socket> for OwnedFd {
    /// Convert the socket to its descriptor.
    fn from(socket: Socket) -> Self {
        socket.fd
    }
}

impl From<std::net::TcpStream> for Socket {
    /// Convert a TCP stream of the standard library.
    fn from(stream: std::net::TcpStream) -> Self {
        Self::new(stream.into())
    }
}

impl From<std::os::unix::net::UnixStream> for Socket {
    /// Convert a Unix stream of the standard library.
    fn from(stream: std::os::unix::net::UnixStream) -> Self {
        Self::new(stream.into())
    }
}
