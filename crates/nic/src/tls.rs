//! TLS of the control interface: who listens at `tls:` shows a certificate, and what goes over the
//! socket is hidden from those between. Version 1.3 alone.

use crate::error::{Error, Result};
use crate::wire::Moved;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{RootCertStore, ServerConfig, ServerConnection, version};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that wait to be hidden, at most.
const WAITS: usize = 64 << 10;

/// What a daemon shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// A file of its certificate and those above it, in PEM.
    pub chain: PathBuf,
    /// A file of its key, in PEM, which others cannot read.
    pub key: PathBuf,
}

impl Certificate {
    /// Reads both files.
    pub(crate) fn load(&self) -> Result<Arc<ServerConfig>> {
        let refuse = |path: &Path, why: String| Error::Config(format!("{}: {why}", path.display()));
        // Opening a FIFO would wait for a writer.
        for path in [&self.chain, &self.key] {
            let found = std::fs::metadata(path);
            let found = found.map_err(|error| refuse(path, error.to_string()))?;
            if !found.is_file() {
                return Err(refuse(path, "it is not a regular file".into()));
            }
        }
        let chain = CertificateDer::pem_file_iter(&self.chain)
            .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
            .map_err(|error| refuse(&self.chain, format!("no certificate in PEM: {error}")))?;
        if chain.is_empty() {
            return Err(refuse(&self.chain, "no certificate in PEM is in it".into()));
        }
        signs_none(&chain).map_err(|why| refuse(&self.chain, why))?;
        let found = std::fs::metadata(&self.key);
        let found = found.map_err(|error| refuse(&self.key, error.to_string()))?;
        if found.mode() & 0o077 != 0 {
            let mode = found.mode() & 0o777;
            let why = format!("others may read the key (mode {mode:03o}); chmod 600 it");
            return Err(refuse(&self.key, why));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| refuse(&self.key, format!("no key in PEM: {error}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let config = config.map_err(|error| {
            let why = format!("it does not go with {}: {error}", self.key.display());
            refuse(&self.chain, why)
        })?;
        Ok(Arc::new(config))
    }
}

/// Whether clients take the first for a daemon's: one that signs others they refuse, and nobody
/// would know why. What else they look at is between them and their operators.
fn signs_none(chain: &[CertificateDer<'_>]) -> std::result::Result<(), String> {
    let (Some(shown), Some(last)) = (chain.first(), chain.last()) else {
        return Ok(());
    };
    let mut roots = RootCertStore::empty();
    // One that cannot be a root is looked at all the same.
    let _ = roots.add(last.clone().into_owned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let name = ServerName::try_from("localhost");
    let (Ok(verifier), Ok(name)) = (verifier, name) else {
        return Ok(());
    };
    let looked = verifier.verify_server_cert(shown, &chain[1..], &name, &[], UnixTime::now());
    match looked {
        Err(error) if format!("{error:?}").contains("CaUsedAsEndEntity") => Err(
            "it is one that signs others (CA:TRUE), which clients refuse: make it with -addext \
             basicConstraints=critical,CA:FALSE"
                .into(),
        ),
        _ => Ok(()),
    }
}

/// One side of TLS over a socket that does not block.
#[derive(Debug)]
pub(crate) struct Tls(Box<ServerConnection>);

/// The socket, as rustls reads and writes.
struct Below<'a>(BorrowedFd<'a>);

impl Read for Below<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, bytes, RecvFlags::DONTWAIT).map(|(read, _)| read)?)
    }
}

impl Write for Below<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(
            self.0,
            bytes,
            SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
        )?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tls {
    pub fn new(config: Arc<ServerConfig>) -> Result<Self> {
        let made = ServerConnection::new(config);
        let mut made = made.map_err(|error| Error::Config(format!("TLS: {error}")))?;
        made.set_buffer_limit(Some(WAITS));
        Ok(Self(Box::new(made)))
    }

    /// Whether something waits to go to the socket.
    pub fn wants_write(&self) -> bool {
        self.0.wants_write()
    }

    /// Whether there are bytes to read that came already.
    pub fn has_more(&mut self) -> bool {
        let state = self.0.process_new_packets();
        state.is_ok_and(|state| state.plaintext_bytes_to_read() > 0)
    }

    pub fn read(&mut self, fd: impl AsFd, bytes: &mut [u8]) -> Moved {
        loop {
            match self.0.reader().read(bytes) {
                Ok(0) => return Moved::End,
                Ok(read) => return Moved::Some(read),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Moved::End,
            }
            match self.0.read_tls(&mut Below(fd.as_fd())) {
                Ok(0) => return Moved::End,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Moved::None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Moved::End,
            }
            let wrong = self.0.process_new_packets().is_err();
            // The handshake goes on, or the other side is told what is wrong.
            if !self.flush(&fd) || wrong {
                return Moved::End;
            }
        }
    }

    pub fn write(&mut self, fd: impl AsFd, bytes: &[u8]) -> Moved {
        let taken = self.0.writer().write(bytes);
        if !self.flush(fd) {
            return Moved::End;
        }
        match taken {
            Ok(0) => Moved::None,
            Ok(taken) => Moved::Some(taken),
            Err(_) => Moved::End,
        }
    }

    /// Writes what the socket takes; false if the other side is gone.
    pub fn flush(&mut self, fd: impl AsFd) -> bool {
        while self.0.wants_write() {
            match self.0.write_tls(&mut Below(fd.as_fd())) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Says that no more is written.
    pub fn close(&mut self, fd: impl AsFd) {
        self.0.send_close_notify();
        // One that is gone has nobody to tell.
        let _ = self.flush(fd);
    }
}
