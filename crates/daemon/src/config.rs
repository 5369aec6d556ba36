//! The settings that all daemons have: addresses, admission of clients, and logs.

use crate::log::Logs;
use crate::token::Tokens;
use isthmus_wire::{Address, Certificate, Error, Result};
use std::net::SocketAddr;
use std::time::Duration;

/// The settings of a daemon's server, which accepts connections of clients.
#[derive(Clone, Debug)]
pub struct Config {
    /// The addresses at which the server listens; at least one.
    pub listen: Vec<Address>,
    /// The file mode of Unix sockets: 0o600 admits the user of the daemon, 0o660 also its group.
    pub socket_mode: u32,
    /// The secrets with which clients authenticate.
    pub tokens: Tokens,
    /// The certificate that the server presents at `tls:` addresses.
    pub certificate: Option<Certificate>,
    /// Maximum number of client sessions at a time.
    pub sessions: u32,
    /// Time within which a client must authenticate after it has connected.
    pub hello: Duration,
    /// The destination of the audit log.
    pub log: Logs,
    /// The address of the metrics over HTTP; every client that can connect to this address may read
    /// them.
    pub metrics: Option<SocketAddr>,
}

impl Config {
    /// Create the settings of a server that listens at these addresses, with default limits.
    #[must_use]
    pub fn new(listen: Vec<Address>) -> Self {
        Self {
            listen,
            socket_mode: 0o600,
            tokens: Tokens::default(),
            certificate: None,
            sessions: 256,
            hello: Duration::from_secs(10),
            log: Logs::None,
            metrics: None,
        }
    }

    /// Check that the settings are consistent with each other.
    pub(crate) fn check(&self) -> Result<()> {
        if self.listen.is_empty() {
            let text = "a daemon listens somewhere: give an address, as unix:/run/isthmus.sock";
            return Err(Error::Config(text.into()));
        }
        self.tokens.check()?;
        let is_tls = |address: &&Address| matches!(address, Address::Tls(_));
        let mut remote = self.listen.iter().filter(|at| at.leaves_the_machine());
        if let Some(open) = remote.find(|address| !is_tls(address)) {
            return Err(Error::Config(format!(
                "listening at {open} leaves this machine, which takes a token and TLS: give tls: \
                 in place of tcp:, with --tls-cert, --tls-key and --token-file"
            )));
        }
        let Some(tls) = self.listen.iter().find(is_tls) else {
            return match &self.certificate {
                None => Ok(()),
                Some(_) => Err(Error::Config(
                    "--tls-cert and --tls-key: it listens at no tls: address: give one as \
                     --listen tls:127.0.0.1:7000, or leave them out"
                        .into(),
                )),
            };
        };
        if self.certificate.is_none() {
            let text = format!("listening at {tls} needs --tls-cert and --tls-key");
            return Err(Error::Config(text));
        }
        if self.tokens.clients.is_none() && self.listen.iter().any(Address::leaves_the_machine) {
            let text = format!("listening at {tls} leaves this machine: give --token-file");
            return Err(Error::Config(text));
        }
        Ok(())
    }
}
