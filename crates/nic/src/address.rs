//! Where the daemon listens.

use crate::error::{Error, Result};
use isthmus_stream_net::address::numeric;
use isthmus_stream_net::advised;
use rustix::fs::{Mode, chmod};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// An address of the control interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// A Unix socket at this path, for the user of the daemon alone.
    Unix(PathBuf),
    /// A TCP port; 0 is any that is free.
    Tcp(SocketAddr),
    /// The same, with TLS.
    Tls(SocketAddr),
}

impl Address {
    /// Reads `unix:/run/isthmus.sock`, `tcp:127.0.0.1:7000`, `tcp:[fe80::1%eth0]:7000` or
    /// `tls:0.0.0.0:7000`.
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

    /// Whether others than processes of this machine can come.
    #[must_use]
    pub fn leaves_the_machine(&self) -> bool {
        match self {
            Self::Unix(_) => false,
            Self::Tcp(address) | Self::Tls(address) => !address.ip().to_canonical().is_loopback(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Tls(address) => write!(f, "tls:{address}"),
        }
    }
}

/// A socket that listens.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(
        UnixListener,
        #[expect(dead_code, reason = "what it does when it is dropped")] Lease,
    ),
    Tcp(TcpListener),
    Tls(TcpListener),
}

/// The file of a Unix socket, which goes with the daemon, if it is the daemon's still.
#[derive(Debug)]
pub(crate) struct Lease {
    path: PathBuf,
    inode: (u64, u64),
}

impl Drop for Lease {
    fn drop(&mut self) {
        if inode(&self.path) == Some(self.inode) {
            // What cannot be taken away is stale, and replaced by the next daemon.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

impl Listener {
    /// Listens, and says where.
    pub fn bind(address: &Address, mode: u32) -> Result<(Self, Address)> {
        match address {
            Address::Unix(path) => {
                let listener = listen_unix(path, mode)?;
                let inode = inode(path).unwrap_or_default();
                let path = path.clone();
                Ok((Self::Unix(listener, Lease { path, inode }), address.clone()))
            }
            Address::Tcp(at) | Address::Tls(at) => {
                let refused = |error| Error::system(format!("listening at {address}"), error);
                let listener = TcpListener::bind(at).map_err(advised).map_err(refused)?;
                let at = listener.local_addr().map_err(refused)?;
                Ok(match address {
                    Address::Tls(_) => (Self::Tls(listener), Address::Tls(at)),
                    _ => (Self::Tcp(listener), Address::Tcp(at)),
                })
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener) | Self::Tls(listener) => listener.as_fd(),
        }
    }
}

/// A Unix socket that nobody could ever connect to whom its mode keeps out. What a daemon that was killed left
/// at its path is replaced; anything else is not.
fn listen_unix(path: &Path, mode: u32) -> Result<UnixListener> {
    let words = || format!("unix:{}", path.display());
    let refused = |error: Errno| Error::system(format!("listening at {}", words()), error);
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => match UnixStream::connect(path) {
            Ok(_) => {
                let why = "another daemon listens there: stop it, or give another path";
                return Err(Error::Address(words(), why.into()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
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
    // Before it listens nobody can connect.
    chmod(path, Mode::from_raw_mode(mode & 0o777)).map_err(refused)?;
    rustix::net::listen(&fd, 128).map_err(refused)?;
    Ok(fd.into())
}
