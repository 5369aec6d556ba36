//! TLS to the daemon, version 1.3 alone: sessions, and links that go through a thread each.

use crate::error::{Error, Result};
use crate::wire::timespec;
use rustix::event::{PollFd, PollFlags, poll};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore, version};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that wait to be hidden, at most, and that a link's thread moves at a time.
const WAITS: usize = 256 << 10;

/// Who is trusted to be the daemon.
#[derive(Clone)]
pub(crate) struct Trust(Arc<ClientConfig>);

impl Trust {
    /// Those whose certificates are in a file, in PEM, and those whom these vouch for.
    pub fn load(path: &Path) -> Result<Self> {
        let refuse = |why: String| Error::Address(path.display().to_string(), why);
        let mut roots = RootCertStore::empty();
        let text = std::fs::read(path).map_err(|error| {
            let right = "give a file of certificates in PEM";
            Error::Misfit(format!("{}: {error}; {right}", path.display()))
        })?;
        let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        for one in found.map_err(|error| refuse(format!("no certificate in PEM: {error}")))? {
            let added = roots.add(one);
            added.map_err(|error| refuse(format!("a certificate of no use: {error}")))?;
        }
        if roots.is_empty() {
            return Err(refuse("no certificate in PEM is in it".into()));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| refuse(error.to_string()))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }

    /// TLS over a socket to a daemon that has to show a certificate for this host.
    pub fn over(&self, host: &str, socket: TcpStream) -> std::result::Result<Tls, String> {
        // A certificate names an address without its interface.
        let host = host.trim_matches(['[', ']']);
        let name = host.split('%').next().unwrap_or(host).to_owned();
        let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
        let made = ClientConnection::new(Arc::clone(&self.0), name);
        let mut made = made.map_err(|error| error.to_string())?;
        made.set_buffer_limit(Some(WAITS));
        Ok(Tls {
            state: Box::new(made),
            socket,
        })
    }
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trust").finish_non_exhaustive()
    }
}

/// A socket with TLS on it.
#[derive(Debug)]
pub(crate) struct Tls {
    state: Box<ClientConnection>,
    socket: TcpStream,
}

impl Tls {
    pub fn set_nonblocking(&self) -> io::Result<()> {
        self.socket.set_nonblocking(true)
    }

    /// Whether something waits to go to the socket.
    pub fn wants_write(&self) -> bool {
        self.state.wants_write()
    }

    /// Reads what is there; [`io::ErrorKind::WouldBlock`] if that is nothing.
    pub fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.state.reader().read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // An end that was not told is one all the same: frames and lines show what is cut.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            self.state.read_tls(&mut self.socket)?;
            let state = self.state.process_new_packets();
            // The handshake goes on, or the other side is told what is wrong.
            let flushed = self.flush();
            if let Err(error) = state {
                return Err(io::Error::new(io::ErrorKind::InvalidData, words(&error)));
            }
            flushed?;
        }
    }

    /// Takes what it has room for; [`io::ErrorKind::WouldBlock`] if that is nothing.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        match self.state.writer().write(bytes)? {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            taken => {
                self.flush()?;
                Ok(taken)
            }
        }
    }

    /// Writes what the socket takes.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.state.wants_write() {
            match self.state.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub fn shutdown(&self) {
        // What is closed already needs no closing.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// A Unix socket whose other end a thread joins to this, until either is closed.
    pub fn joined(self) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let thread = std::thread::Builder::new().name("nic-link".into());
        thread.spawn(move || {
            let mut joint = Joint {
                tls: self,
                side: theirs,
                up: Way::new(),
                down: Way::new(),
            };
            // Either side sees that the other is gone.
            let _ = joint.run();
            joint.tls.shutdown();
        })?;
        Ok(ours)
    }
}

/// What is wrong, and what would be right where rustls has but a name for it.
fn words(error: &rustls::Error) -> String {
    let text = error.to_string();
    let wrong = match error {
        rustls::Error::InvalidCertificate(wrong) => wrong,
        rustls::Error::InvalidMessage(_) => {
            return format!("{text}: if it speaks no TLS, its address is tcp:HOST:PORT");
        }
        _ => return text,
    };
    let right = match wrong {
        CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "it is one that signs others (CA:TRUE), and no daemon's: make it with \
             -addext basicConstraints=critical,CA:FALSE"
        }
        CertificateError::UnknownIssuer => {
            "none of those that are trusted (ca, --tls-ca) vouches for it: give the daemon's own \
             certificate, or that of the authority that signed it"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the operator makes a new one and sends the daemon SIGHUP"
        }
        _ => return text,
    };
    format!("{text}: {right}")
}

impl AsFd for Tls {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Bytes on their way.
struct Way {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Way {
    fn new() -> Self {
        Self {
            bytes: vec![0; WAITS],
            from: 0,
            to: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Moves what can be moved; false at the end.
    fn advance(
        &mut self,
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
        mut write: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<bool> {
        loop {
            if self.is_empty() {
                match settled(read(&mut self.bytes))? {
                    Some(0) => return Ok(false),
                    Some(came) => (self.from, self.to) = (0, came),
                    None => return Ok(true),
                }
            }
            match settled(write(&self.bytes[self.from..self.to]))? {
                Some(went) => self.from += went,
                None => return Ok(true),
            }
        }
    }
}

/// None if it would have to wait.
fn settled(moved: io::Result<usize>) -> io::Result<Option<usize>> {
    match moved {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A link over TLS: the socket, this process's side, and what is on its way.
struct Joint {
    tls: Tls,
    side: UnixStream,
    up: Way,
    down: Way,
}

impl Joint {
    fn run(&mut self) -> io::Result<()> {
        loop {
            let Self {
                tls,
                side,
                up,
                down,
            } = self;
            tls.flush()?;
            let mut here = &*side;
            let up_goes_on = up.advance(|room| here.read(room), |bytes| tls.write(bytes))?;
            let down_goes_on = down.advance(|room| tls.read(room), |bytes| here.write(bytes))?;
            if !down_goes_on {
                return Ok(());
            }
            if !up_goes_on {
                return self.last();
            }
            self.sleep()?;
        }
    }

    fn sleep(&self) -> io::Result<()> {
        let wants = |read: bool, write: bool| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, read);
            flags.set(PollFlags::OUT, write);
            flags
        };
        let far = wants(self.down.is_empty(), self.tls.wants_write());
        let near = wants(self.up.is_empty(), !self.down.is_empty());
        // A side of which nothing is wanted is left out: that it is gone would be told again and again.
        let both = [PollFd::new(&self.tls, far), PollFd::new(&self.side, near)];
        let wanted = both.into_iter().zip([far, near]);
        let mut fds: Vec<_> = wanted
            .filter(|(_, flags)| !flags.is_empty())
            .map(|(fd, _)| fd)
            .collect();
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// This process has closed the link: what is hidden goes out, for some seconds at most.
    fn last(&mut self) -> io::Result<()> {
        self.tls.state.send_close_notify();
        for _ in 0..50 {
            self.tls.flush()?;
            if !self.tls.wants_write() {
                break;
            }
            let mut fds = [PollFd::new(&self.tls, PollFlags::OUT)];
            let _ = poll(&mut fds, Some(&timespec(Duration::from_millis(100))));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::UnixTime;

    /// What is wrong with a certificate is said with what would be right.
    #[test]
    fn a_certificate_of_no_use_is_refused_in_words() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nic/tests/fixtures");
        let read = |name: &str| CertificateDer::from_pem_file(fixtures.join(name)).unwrap();
        let said = |shown: &str, trusted: &str, now: UnixTime| {
            let mut roots = RootCertStore::empty();
            roots.add(read(trusted)).unwrap();
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let roots = Arc::new(roots);
            let made = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            let name = ServerName::try_from("localhost").unwrap();
            let made = made.unwrap();
            let looked = made.verify_server_cert(&read(shown), &[], &name, &[], now);
            looked.map(|_| ()).map_err(|error| words(&error))
        };
        let now = UnixTime::now();
        assert_eq!(said("cert.pem", "cert.pem", now), Ok(()));
        let signs = said("signs.pem", "signs.pem", now).unwrap_err();
        assert!(
            signs.ends_with("-addext basicConstraints=critical,CA:FALSE"),
            "{signs}"
        );
        let stranger = said("cert.pem", "signs.pem", now).unwrap_err();
        assert!(stranger.contains("vouches for it"), "{stranger}");
        let later = UnixTime::since_unix_epoch(Duration::from_secs(1 << 36));
        let old = said("cert.pem", "cert.pem", later).unwrap_err();
        assert!(old.contains("SIGHUP"), "{old}");
    }
}
