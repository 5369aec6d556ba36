//! Where a daemon listens.

use crate::error::{Error, Result};
use crate::patience::Patience;
use crate::tls::Trust;
use crate::wire::Wire;
use isthmus_stream_net::address::look_up;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where a daemon listens.
#[derive(Clone, Debug)]
pub struct Address(To);

#[derive(Clone, Debug)]
enum To {
    /// A path; one that begins with `@` is an abstract name.
    Unix(PathBuf),
    /// Host and port.
    Tcp(String),
    /// The same, and who is trusted to be the daemon.
    Tls(String, Option<Trust>),
}

impl Address {
    /// Reads the words of an address: `unix:PATH`, `tcp:HOST:PORT`, `tls:HOST:PORT`. With TLS who is
    /// trusted is to be said as well: [`Address::trusting`].
    ///
    /// # Errors
    /// [`Error::Address`].
    pub fn parse(words: &str) -> Result<Self> {
        let refuse = |right: &str| Err(Error::Address(words.into(), right.into()));
        match words.split_once(':') {
            Some(("unix", "")) => refuse("a path is missing, as in unix:/run/isthmus/nic.sock"),
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
            _ => refuse("it begins with unix:, tcp: or tls:, as in unix:/run/isthmus/nic.sock"),
        }
    }

    /// The same, trusting those whose certificates are in a file, in PEM, and whom these vouch for.
    ///
    /// # Errors
    /// A file that holds none; an address without TLS.
    pub fn trusting(self, certificates: &Path) -> Result<Self> {
        match self.0 {
            To::Tls(to, _) => Ok(Self(To::Tls(to, Some(Trust::load(certificates)?)))),
            other => Err(Error::Address(
                Self(other).to_string(),
                "certificates are for addresses that begin with tls:".into(),
            )),
        }
    }

    /// Whether rings in shared memory can go over it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self.0, To::Unix(_))
    }

    pub(crate) fn connect(&self, patience: Patience<'_>) -> Result<Wire> {
        let refused = |why: String| Error::Unreachable(self.to_string(), why);
        match &self.0 {
            To::Unix(path) => {
                let socket = connect_unix(path).map_err(|error| refused(error.to_string()))?;
                Ok(Wire::Unix(socket))
            }
            To::Tcp(to) => Ok(Wire::Tcp(connect_any(to, patience, refused)?)),
            To::Tls(to, None) => Err(Error::Address(
                format!("tls:{to}"),
                "say whom to trust: a file with the daemon's certificate, or its signer's, in PEM"
                    .into(),
            )),
            To::Tls(to, Some(trust)) => {
                let socket = connect_any(to, patience, refused)?;
                let host = to.rsplit_once(':').map_or(&**to, |(host, _)| host);
                Ok(Wire::Tls(trust.over(host, socket).map_err(refused)?))
            }
        }
    }
}

/// Connects to the first address of a host that takes it.
fn connect_any(
    to: &str,
    patience: Patience<'_>,
    refused: impl Fn(String) -> Error,
) -> Result<TcpStream> {
    let found = look_up(to).map_err(|error| refused(error.to_string()))?;
    let mut why = "the name has no address".to_owned();
    for address in found {
        match connect_tcp(&address, patience) {
            Ok(socket) => return Ok(socket),
            Err(error) => why = error.to_string(),
        }
    }
    Err(refused(why))
}

fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    match path.to_str().and_then(|path| path.strip_prefix('@')) {
        Some(name) => UnixStream::connect_addr(&UnixAddr::from_abstract_name(name)?),
        None => UnixStream::connect(path),
    }
}

/// Connects in one go: a handshake that is begun anew in slices would never be through with a
/// host that is far away.
fn connect_tcp(address: &SocketAddr, patience: Patience<'_>) -> Result<TcpStream> {
    let left = patience.left().min(Duration::from_secs(30));
    let begun = Instant::now();
    let socket = TcpStream::connect_timeout(address, left.max(Duration::from_millis(1)));
    let socket = socket.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => {
            let took = begun.elapsed().as_secs_f64();
            Error::TimedOut(format!("no answer in {took:.1} s"))
        }
        _ => Error::TimedOut(error.to_string()),
    })?;
    // What the system refuses here costs speed and nothing else.
    let _ = socket.set_nodelay(true);
    Ok(socket)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            To::Unix(path) => write!(f, "unix:{}", path.display()),
            To::Tcp(to) => write!(f, "tcp:{to}"),
            To::Tls(to, _) => write!(f, "tls:{to}"),
        }
    }
}
