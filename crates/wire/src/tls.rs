//! TLS 1.3 for servers, which show a certificate, and for clients, which trust certificates of a
//! file.

use crate::error::{Error, Result};
use crate::socket::{Moved, Socket};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig,
    ServerConnection, version,
};
use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of bytes that a TLS connection stores before they are encrypted and written.
const BUFFER_BYTES: usize = 64 << 10;

/// Return the cryptographic algorithms that TLS uses here: those of the library `ring`.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Have libraries that bring no cryptographic algorithms for TLS use those of this crate.
pub fn install_crypto_provider() {
    // It fails only if a provider is already installed.
    let _ = CryptoProvider::install_default(rustls::crypto::ring::default_provider());
}

/// The files of a server's certificate and of its private key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// A PEM file with the certificate and the certificates of its issuers.
    pub chain: PathBuf,
    /// A PEM file with the private key, which other users must not be able to read.
    pub key: PathBuf,
}

/// The TLS configuration of a server, with its loaded certificate.
#[derive(Clone, Debug)]
pub struct ServerTls(Arc<ServerConfig>);

impl Certificate {
    /// Read both files, and check the certificate and its key.
    ///
    /// # Errors
    /// A file that is missing, readable by other users or invalid; a certificate that clients would
    /// refuse.
    pub fn load(&self) -> Result<ServerTls> {
        let refuse = |path: &Path, why: String| Error::Config(format!("{}: {why}", path.display()));
        // Refuse files that are not regular: for example, opening a FIFO would block until a
        // process writes to it.
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
        check_end_entity(&chain).map_err(|why| refuse(&self.chain, why))?;
        let found = std::fs::metadata(&self.key);
        let found = found.map_err(|error| refuse(&self.key, error.to_string()))?;
        if found.mode() & 0o077 != 0 {
            let mode = found.mode() & 0o777;
            let why = format!("others may read the key (mode {mode:03o}); chmod 600 it");
            return Err(refuse(&self.key, why));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| refuse(&self.key, format!("no key in PEM: {error}")))?;
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let config = config.map_err(|error| {
            let why = format!("it does not go with {}: {error}", self.key.display());
            refuse(&self.chain, why)
        })?;
        Ok(ServerTls(Arc::new(config)))
    }
}

/// Refuse a certificate chain whose first certificate may sign others: clients would refuse it
/// without a useful message. Clients check all other properties.
fn check_end_entity(chain: &[CertificateDer<'_>]) -> std::result::Result<(), String> {
    let (Some(shown), Some(last)) = (chain.first(), chain.last()) else {
        return Ok(());
    };
    let mut roots = RootCertStore::empty();
    // Ignore the error if this certificate cannot be a root: the check below is about the first
    // certificate.
    let _ = roots.add(last.clone().into_owned());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let name = ServerName::try_from("localhost");
    let (Ok(verifier), Ok(name)) = (verifier, name) else {
        return Ok(());
    };
    match verifier.verify_server_cert(shown, &chain[1..], &name, &[], UnixTime::now()) {
        Err(error) if format!("{error:?}").contains("CaUsedAsEndEntity") => Err(
            "it is one that signs others (CA:TRUE), which clients refuse: make it with -addext \
             basicConstraints=critical,CA:FALSE"
                .into(),
        ),
        _ => Ok(()),
    }
}

impl ServerTls {
    /// Create the TLS state of the server for a connection that it accepted.
    pub(crate) fn accept(&self) -> Result<Tls> {
        let made = ServerConnection::new(Arc::clone(&self.0));
        let made = made.map_err(|error| Error::Config(format!("TLS: {error}")))?;
        Ok(Tls::new(made.into()))
    }
}

/// The certificates that a client trusts.
#[derive(Clone)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// Load a PEM file whose certificates, and those that they sign, the client trusts.
    ///
    /// # Errors
    /// A file that cannot be read, or contains no usable certificate.
    pub fn load(path: &Path) -> Result<Self> {
        let refuse = |why: String| Error::Address(path.display().to_string(), why);
        let mut roots = RootCertStore::empty();
        let text = std::fs::read(path).map_err(|error| {
            let right = "give a file of certificates in PEM";
            Error::Config(format!("{}: {error}; {right}", path.display()))
        })?;
        let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        for one in found.map_err(|error| refuse(format!("no certificate in PEM: {error}")))? {
            let added = roots.add(one);
            added.map_err(|error| refuse(format!("a certificate of no use: {error}")))?;
        }
        if roots.is_empty() {
            return Err(refuse("no certificate in PEM is in it".into()));
        }
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| refuse(error.to_string()))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }

    /// Create the TLS state of the client for a connection to server `host`. The server must have a
    /// certificate for this name or address.
    pub(crate) fn connect(&self, host: &str) -> std::result::Result<Tls, String> {
        // Remove the brackets and the interface of an IPv6 address, which certificates do not
        // contain.
        let host = host.trim_matches(['[', ']']);
        let name = host.split('%').next().unwrap_or(host).to_owned();
        let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
        let made = ClientConnection::new(Arc::clone(&self.0), name);
        let made = made.map_err(|error| error.to_string())?;
        Ok(Tls::new(made.into()))
    }
}

impl fmt::Debug for Trust {
    /// Write only the name of the type, without the certificates.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").finish_non_exhaustive()
    }
}

/// The TLS state of a connection. Each call reads and writes the socket that is passed to it.
#[derive(Debug)]
pub(crate) struct Tls(Box<Connection>);

/// Lets the library rustls (TLS) read and write a socket through the traits `Read` and `Write`.
struct Blocks<'a>(&'a Socket);

/// Convert the result of an operation on a socket to that of the traits `Read` and `Write`: the
/// error `WouldBlock` if no bytes can be moved now, and 0 at the end of the stream.
fn or_would_block(moved: Moved) -> io::Result<usize> {
    match moved {
        Moved::Some(bytes) => Ok(bytes),
        Moved::None => Err(io::ErrorKind::WouldBlock.into()),
        Moved::End => Ok(0),
    }
}

impl Read for Blocks<'_> {
    /// Read from the socket; return `WouldBlock` if no bytes are available.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        or_would_block(self.0.read(bytes)?)
    }
}

impl Write for Blocks<'_> {
    /// Write to the socket; return `WouldBlock` if it is full.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(&[IoSlice::new(bytes)])? {
            Moved::End => Err(io::ErrorKind::BrokenPipe.into()),
            moved => or_would_block(moved),
        }
    }

    /// Do nothing: writes go straight to the socket.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tls {
    /// Create the TLS state of a connection.
    fn new(mut connection: Connection) -> Self {
        connection.set_buffer_limit(Some(BUFFER_BYTES));
        Self(Box::new(connection))
    }

    /// Return whether encrypted bytes wait to be written to the socket.
    pub fn wants_write(&self) -> bool {
        self.0.wants_write()
    }

    /// Return whether decrypted bytes wait to be read.
    pub fn has_buffered(&mut self) -> bool {
        let state = self.0.process_new_packets();
        state.is_ok_and(|state| state.plaintext_bytes_to_read() > 0)
    }

    /// Read decrypted bytes, after reading the socket if necessary.
    pub fn read(&mut self, socket: &Socket, bytes: &mut [u8]) -> io::Result<Moved> {
        loop {
            match self.0.reader().read(bytes) {
                Ok(0) => return Ok(Moved::End),
                Ok(read) => return Ok(Moved::Some(read)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Treat a connection that ends without the TLS closure message as ended. The
                // protocols above TLS detect a message that was cut short.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(Moved::End);
                }
                Err(error) => return Err(error),
            }
            match self.0.read_tls(&mut Blocks(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Moved::None),
                Err(error) => return Err(error),
            }
            let state = self.0.process_new_packets();
            // Write the output of TLS even after an error: it continues the handshake, or contains
            // an alert for the peer.
            let flushed = self.flush(socket);
            if let Err(error) = state {
                return Err(io::Error::new(io::ErrorKind::InvalidData, explain(&error)));
            }
            flushed?;
        }
    }

    /// Encrypt as many of `bytes` as TLS accepts, and write as much as the socket accepts. Return
    /// how many bytes were accepted.
    pub fn write(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<Moved> {
        self.flush(socket)?;
        match self.0.writer().write(bytes)? {
            0 => Ok(Moved::None),
            taken => {
                self.flush(socket)?;
                Ok(Moved::Some(taken))
            }
        }
    }

    /// Write encrypted bytes to the socket until none are left, or the socket accepts no more.
    pub fn flush(&mut self, socket: &Socket) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(&mut Blocks(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Send the TLS message that no more bytes follow.
    pub fn close(&mut self, socket: &Socket) {
        self.0.send_close_notify();
        // Ignore an error: a peer that is gone does not need to know that no more bytes follow.
        let _ = self.flush(socket);
    }
}

/// Return the text of an error message for an error of rustls (TLS), with advice if rustls only
/// names the problem.
fn explain(error: &rustls::Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Checks that a certificate that clients would refuse is not loaded either, and that the error
    /// describes how to fix it.
    #[test]
    fn an_unusable_certificate_is_refused_with_the_fix() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nic/tests/fixtures");
        let read = |name: &str| CertificateDer::from_pem_file(fixtures.join(name)).unwrap();
        let check = |shown: &str, trusted: &str, now: UnixTime| {
            let mut roots = RootCertStore::empty();
            roots.add(read(trusted)).unwrap();
            let made = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider());
            let name = ServerName::try_from("localhost").unwrap();
            let made = made.build().unwrap();
            let checked = made.verify_server_cert(&read(shown), &[], &name, &[], now);
            checked.map(|_| ()).map_err(|error| explain(&error))
        };
        let now = UnixTime::now();
        assert_eq!(check("cert.pem", "cert.pem", now), Ok(()));
        let signs = check("signs.pem", "signs.pem", now).unwrap_err();
        assert!(
            signs.ends_with("-addext basicConstraints=critical,CA:FALSE"),
            "{signs}"
        );
        let stranger = check("cert.pem", "signs.pem", now).unwrap_err();
        assert!(stranger.contains("vouches for it"), "{stranger}");
        let later = UnixTime::since_unix_epoch(Duration::from_secs(1 << 36));
        let old = check("cert.pem", "cert.pem", later).unwrap_err();
        assert!(old.contains("SIGHUP"), "{old}");
    }
}
