//! The address of a server, and how a client connects to it.

use crate::address::look_up;
use crate::deadline::Timeout;
use crate::error::{Error, Result};
use crate::tls::Trust;
use crate::transport::Transport;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The address of a server to which a client connects.
#[derive(Clone, Debug)]
pub struct Remote(To);

/// The address of a server, by transport: Unix socket, TCP or TLS.
#[derive(Clone, Debug)]
enum To {
    /// The path of a Unix socket; a path that begins with `@` is an abstract name.
    Unix(PathBuf),
    /// Host and port of a TCP server, without TLS.
    Tcp(String),
    /// Host and port of a TCP server with TLS, and the certificates that the client trusts.
    Tls(String, Option<Trust>),
}

impl Remote {
    /// Parse the address of a server: `unix:PATH`, `tcp:HOST:PORT` or `tls:HOST:PORT`. TLS needs
    /// [`Remote::trusting`] as well.
    ///
    /// # Errors
    /// [`Error::Address`].
    pub fn parse(words: &str) -> Result<Self> {
        let refuse = |right: &str| Err(Error::Address(words.into(), right.into()));
        match words.split_once(':') {
            Some(("unix", "")) => refuse("a path is missing, as in unix:/run/isthmus.sock"),
            Some(("unix", path)) => Ok(Self(To::Unix(path.into()))),
            Some((kind @ ("tcp" | "tls"), rest)) => match rest.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                    Ok(Self(match kind {
                        "tls" => To::Tls(rest.into(), None),
                        _ => To::Tcp(rest.into()),
                    }))
                }
                _ => refuse("a host and a port are missing, as in tcp:127.0.0.1:7000"),
            },
            _ => refuse("it begins with unix:, tcp: or tls:, as in unix:/run/isthmus.sock"),
        }
    }

    /// Trust the certificates in a PEM file, and the certificates that they sign.
    ///
    /// # Errors
    /// A file without certificates; an address without TLS.
    pub fn trusting(self, certificates: &Path) -> Result<Self> {
        match self.0 {
            To::Tls(to, _) => Ok(Self(To::Tls(to, Some(Trust::load(certificates)?)))),
            other => Err(Error::Address(
                Self(other).to_string(),
                "certificates are for addresses that begin with tls:".into(),
            )),
        }
    }

    /// Return whether the server is on this machine, so that descriptors can be passed to it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self.0, To::Unix(_))
    }

    /// Connect to the server.
    ///
    /// # Errors
    /// [`Error::Unreachable`]; [`Error::Address`] for TLS without trusted certificates.
    pub fn connect(&self, timeout: Timeout<'_>) -> Result<Transport> {
        match &self.0 {
            To::Unix(path) => {
                let socket = connect_unix(path);
                Transport::unix(socket.map_err(|error| Error::Unreachable(error.to_string()))?)
            }
            To::Tcp(to) => connect_any(to, timeout),
            To::Tls(to, None) => Err(Error::Address(
                format!("tls:{to}"),
                "say whom to trust: a file with the daemon's certificate, or its signer's, in PEM"
                    .into(),
            )),
            To::Tls(to, Some(trust)) => {
                let transport = connect_any(to, timeout)?;
                let host = to.rsplit_once(':').map_or(&**to, |(host, _)| host);
                let tls = trust.connect(host).map_err(Error::Unreachable)?;
                Ok(transport.with_tls(tls))
            }
        }
    }
}

/// Look up a host and connect to the first of its addresses that accepts the connection.
fn connect_any(to: &str, timeout: Timeout<'_>) -> Result<Transport> {
    let found = look_up(to).map_err(|error| Error::Unreachable(error.to_string()))?;
    let mut why = "the name has no address".to_owned();
    for address in found {
        match connect_tcp(&address, timeout) {
            Ok(socket) => return Ok(Transport::tcp(socket, address)),
            Err(error) => why = error,
        }
    }
    Err(Error::Unreachable(why))
}

/// Connect to the Unix socket at a path or with an abstract name.
fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    match path.to_str().and_then(|path| path.strip_prefix('@')) {
        Some(name) => UnixStream::connect_addr(&UnixAddr::from_abstract_name(name)?),
        None => UnixStream::connect(path),
    }
}

/// Connect to a TCP address in a single attempt: repeated short attempts would never reach a
/// distant host.
fn connect_tcp(
    address: &SocketAddr,
    timeout: Timeout<'_>,
) -> std::result::Result<TcpStream, String> {
    let left = timeout.left().min(Duration::from_secs(30));
    let started = Instant::now();
    let socket = TcpStream::connect_timeout(address, left.max(Duration::from_millis(1)));
    socket.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => {
            let took = started.elapsed().as_secs_f64();
            format!("no answer in {took:.1} s")
        }
        _ => error.to_string(),
    })
}

impl fmt::Display for Remote {
    /// Write the address as text, such as `tcp:HOST:PORT`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            To::Unix(path) => write!(f, "unix:{}", path.display()),
            To::Tcp(to) => write!(f, "tcp:{to}"),
            To::Tls(to, _) => write!(f, "tls:{to}"),
        }
    }
}
