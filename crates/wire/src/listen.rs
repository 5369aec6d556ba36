//! Addresses at which a server listens, and their listening sockets.

use crate::address::numeric;
use crate::error::{Error, Result};
use crate::transport::Transport;
use rustix::fs::{Mode, chmod};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// An address at which a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// A Unix socket at this path.
    Unix(PathBuf),
    /// A TCP port without TLS; port 0 selects a free one.
    Tcp(SocketAddr),
    /// A TCP port with TLS; port 0 selects a free one.
    Tls(SocketAddr),
}

impl Address {
    /// Parse the address at which a server listens, such as `unix:/run/isthmus.sock`,
    /// `tcp:127.0.0.1:7000`, `tcp:[fe80::1%eth0]:7000` or `tls:0.0.0.0:7000`.
    ///
    /// # Errors
    /// [`Error::Address`].
    pub fn parse(words: &str) -> Result<Self> {
        let refuse = |why: &str| Error::Address(words.into(), why.into());
        match words.split_once(':') {
            Some(("unix", path)) if path.starts_with('/') => Ok(Self::Unix(path.into())),
            Some(("unix", _)) => Err(refuse("a path begins with /, as unix:/run/isthmus.sock")),
            Some((kind @ ("tcp" | "tls"), address)) => {
                let why =
                    "it is numeric with a port, as tcp:127.0.0.1:7000; port 0 is any free one";
                let at = numeric(address);
                let at = at.map_err(|found| refuse(found.as_deref().unwrap_or(why)))?;
                Ok(match kind {
                    "tls" => Self::Tls(at),
                    _ => Self::Tcp(at),
                })
            }
            _ => Err(refuse("it begins with unix:, tcp: or tls:")),
        }
    }

    /// Return whether data to this address may leave the machine: false for Unix sockets and loopback
    /// addresses.
    #[must_use]
    pub fn leaves_the_machine(&self) -> bool {
        match self {
            Self::Unix(_) => false,
            Self::Tcp(address) | Self::Tls(address) => !address.ip().to_canonical().is_loopback(),
        }
    }
}

impl fmt::Display for Address {
    /// Write the address as text, such as `tcp:127.0.0.1:7000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Tls(address) => write!(f, "tls:{address}"),
        }
    }
}

/// A listening socket of a server.
#[derive(Debug)]
pub struct Listener(Kind);

/// A listening socket, by transport: Unix, TCP or TLS.
#[derive(Debug)]
enum Kind {
    Unix(
        UnixListener,
        #[expect(dead_code, reason = "what it does when it is dropped")] SocketFile,
    ),
    Tcp(TcpListener),
    Tls(TcpListener),
}

/// The socket file of a listening Unix socket. Dropping this value removes the file, unless another
/// file has replaced it.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl Drop for SocketFile {
    /// Remove the file, unless another file has replaced it.
    fn drop(&mut self) {
        if inode(&self.path) == Some(self.inode) {
            // Ignore a failure: the next server replaces a file that stays.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Return the device and inode numbers of a file, if it exists.
fn inode(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

impl Listener {
    /// Listen at an address. `mode` is the file mode of a Unix socket. Return the socket and the
    /// address with the actual port.
    ///
    /// # Errors
    /// An address that is in use or does not belong to this machine.
    pub fn bind(address: &Address, mode: u32) -> Result<(Self, Address)> {
        match address {
            Address::Unix(path) => {
                let listener = listen_unix(path, mode)?;
                let inode = inode(path).unwrap_or_default();
                let file = SocketFile {
                    path: path.clone(),
                    inode,
                };
                Ok((Self(Kind::Unix(listener, file)), address.clone()))
            }
            Address::Tcp(at) | Address::Tls(at) => {
                let refused = |error| Error::system(format!("listening at {address}"), error);
                let listener = listen_tcp(*at).map_err(refused)?;
                let at = listener.local_addr().map_err(refused)?;
                Ok(match address {
                    Address::Tls(_) => (Self(Kind::Tls(listener)), Address::Tls(at)),
                    _ => (Self(Kind::Tcp(listener)), Address::Tcp(at)),
                })
            }
        }
    }

    /// Return whether clients of this socket must use TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        matches!(self.0, Kind::Tls(_))
    }

    /// Accept a connection, on which TLS has not started. Blocks until a client connects.
    ///
    /// # Errors
    /// The error of the system.
    pub fn accept(&self) -> Result<Transport> {
        let refused = |error| Error::system("accepting", error);
        match &self.0 {
            Kind::Unix(listener, _) => Transport::unix(listener.accept().map_err(refused)?.0),
            Kind::Tcp(listener) | Kind::Tls(listener) => {
                let (socket, address) = listener.accept().map_err(refused)?;
                Ok(Transport::tcp(socket, address))
            }
        }
    }
}

impl AsFd for Listener {
    /// Return the descriptor of the listening socket.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Kind::Unix(listener, _) => listener.as_fd(),
            Kind::Tcp(listener) | Kind::Tls(listener) => listener.as_fd(),
        }
    }
}

/// Listen on a TCP port.
///
/// # Errors
/// The error of the system. If the port is in use, its message says what to do.
pub fn listen_tcp(at: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(at).map_err(advise)
}

/// Open a UDP socket on a port.
///
/// # Errors
/// As [`listen_tcp`].
pub fn bind_udp(at: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(at).map_err(advise)
}

/// Add advice to the error that a port is in use.
fn advise(error: io::Error) -> io::Error {
    match error.kind() {
        kind @ io::ErrorKind::AddrInUse => {
            io::Error::new(kind, format!("{error}: take another port (0: a free one)"))
        }
        _ => error,
    }
}

/// Listen at a Unix socket. Its mode is set before a client can connect. A socket file that a
/// killed daemon left is replaced; any other file is not.
fn listen_unix(path: &Path, mode: u32) -> Result<UnixListener> {
    let words = || format!("unix:{}", path.display());
    let refused = |error: Errno| Error::system(format!("listening at {}", words()), error);
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => match UnixStream::connect(path) {
            Ok(_) => {
                let why = "another daemon listens there: stop it, or give another path";
                return Err(Error::Address(words(), why.into()));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let gone = std::fs::remove_file(path);
                gone.map_err(|error| Error::system(format!("a stale {}", words()), error))?;
            }
            Err(error) => return Err(Error::system(format!("what is at {}", words()), error)),
        },
        Ok(_) => {
            let why = "there is something that is no socket: give another path";
            return Err(Error::Address(words(), why.into()));
        }
        Err(_) => {}
    }
    let flags = SocketFlags::CLOEXEC;
    let fd: OwnedFd =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
            .map_err(refused)?;
    let at = SocketAddrUnix::new(path).map_err(refused)?;
    rustix::net::bind(&fd, &at).map_err(|error| match error {
        Errno::NOENT => {
            let why = "its folder is not there: make it, or give another path";
            Error::Address(words(), why.into())
        }
        other => refused(other),
    })?;
    // Set the mode before the socket listens, since no client can connect until then.
    chmod(path, Mode::from_raw_mode(mode & 0o777)).map_err(refused)?;
    rustix::net::listen(&fd, 128).map_err(refused)?;
    Ok(fd.into())
}
