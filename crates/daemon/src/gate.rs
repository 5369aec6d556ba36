//! The gate of a server: admits clients, and limits their number.

use crate::config::Config;
use crate::log::{Log, Refusals};
use crate::token::Tokens;
use crate::unauthenticated::Unauthenticated;
use isthmus_wire::{Certificate, Error, Peer, Result, ServerTls, Signal, Transport};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The state that the threads of a server share to admit clients.
#[derive(Debug)]
pub struct Gate {
    pub(crate) log: Log,
    /// The connections whose clients have not authenticated.
    pub(crate) unauthenticated: Arc<Unauthenticated>,
    refusals: Refusals,
    tokens: Mutex<Tokens>,
    certificate: Option<Certificate>,
    tls: Mutex<Option<ServerTls>>,
    hello: Duration,
    sessions_limit: u32,
    sessions: AtomicU32,
    next_session: AtomicU32,
    /// The signal that is set once the server must stop.
    stop: Signal,
}

/// A slot for one client session, of which there is a limited number. Dropping the value frees the slot.
#[derive(Debug)]
pub struct SessionSlot(Arc<Gate>);

impl Drop for SessionSlot {
    /// Free the slot of the session.
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    /// Create the gate from the settings of the server, and open the log.
    pub(crate) fn new(config: &mut Config, tls: Option<ServerTls>) -> Result<Self> {
        Ok(Self {
            log: Log::start(&config.log)?,
            unauthenticated: Arc::default(),
            refusals: Refusals::default(),
            tokens: Mutex::new(std::mem::take(&mut config.tokens)),
            certificate: config.certificate.take(),
            tls: Mutex::new(tls),
            hello: config.hello,
            sessions_limit: config.sessions,
            sessions: AtomicU32::new(0),
            next_session: AtomicU32::new(0),
            stop: Signal::new().map_err(|error| Error::system("what ends a daemon", error))?,
        })
    }

    /// Return the audit log of the daemon.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Return the time within which a client must authenticate.
    #[must_use]
    pub fn hello(&self) -> Duration {
        self.hello
    }

    /// Log that a client without a session was refused. Of many refusals in a second, only the
    /// first are logged.
    pub fn log_refusal(&self, who: &str, what: &str, why: &str) {
        self.refusals
            .record(&self.log, who, what, &format!("refused: {why}"));
    }

    /// Log the number of refusals that were left out of the log.
    pub(crate) fn finish_refusals(&self) {
        self.refusals.finish(&self.log);
    }

    /// Return the secrets of clients and operators, locked.
    fn tokens(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the TLS configuration of the server, locked.
    fn tls(&self) -> MutexGuard<'_, Option<ServerTls>> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Open the log again, and read the secrets and the certificate again. If that fails, the error
    /// is logged, and the old value stays in use.
    pub(crate) fn reload(&self) {
        self.log.reopen();
        // Copy the secrets, so that the lock is free while files are read. Clients that connect in
        // this time use the old secrets.
        let tokens = self.tokens().clone();
        let read = tokens.reread().map(|read| *self.tokens() = read);
        self.log_reload("tokens", read);
        if let Some(certificate) = &self.certificate {
            let read = certificate.load().map(|tls| *self.tls() = Some(tls));
            self.log_reload("certificate", read);
        }
    }

    /// Log the result of reading a file of secrets or of a certificate again.
    fn log_reload(&self, what: &str, read: Result<()>) {
        let result = read.err().map(|error| error.to_string());
        self.log
            .record("daemon", what, result.as_deref().unwrap_or("ok"));
    }

    /// Return whether clients must show a token.
    #[must_use]
    pub fn wants_token(&self) -> bool {
        self.tokens().clients.is_some()
    }

    /// Decide whether to admit a client, and whether as an application or as an operator.
    ///
    /// # Errors
    /// The message for a client that is not admitted.
    pub fn admit(
        &self,
        peer: &Peer,
        token: Option<&str>,
        operator: bool,
    ) -> std::result::Result<(), &'static str> {
        let tokens = self.tokens();
        let wanted = match operator {
            true => &tokens.operators,
            false => &tokens.clients,
        };
        if let Some(secret) = wanted {
            return match token {
                Some(token) if secret.is(token) => Ok(()),
                Some(_) => Err("wrong token: ask the operator for the token of this daemon"),
                None => Err("this daemon asks for a token: give the one of its operator"),
            };
        }
        let own = rustix::process::geteuid().as_raw();
        let is_trusted = matches!(peer, Peer::Unix { uid, .. } if [own, 0].contains(uid));
        if operator && !is_trusted {
            return Err(
                "an operator is the daemon's own user, through its Unix socket, where there is no \
                 operator's token",
            );
        }
        Ok(())
    }

    /// Allocate a slot for a session.
    ///
    /// # Errors
    /// The message for a client, if no slot is free.
    pub fn take_session(self: &Arc<Self>) -> std::result::Result<SessionSlot, String> {
        let limit = self.sessions_limit;
        let taken = self.sessions.fetch_add(1, Ordering::Relaxed);
        let slot = SessionSlot(Arc::clone(self));
        match taken < limit {
            true => Ok(slot),
            false => Err(format!(
                "the daemon takes {limit} sessions at a time: wait for one to end"
            )),
        }
    }

    /// Return a session number that was not used before.
    pub fn next_session(&self) -> u32 {
        self.next_session.fetch_add(1, Ordering::Relaxed)
    }

    /// Return the number of sessions that exist now.
    #[must_use]
    pub fn sessions(&self) -> u32 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Return the number of connections whose clients have not authenticated, and the number of
    /// those that were closed to make room for others.
    #[must_use]
    pub fn unauthenticated(&self) -> (usize, u64) {
        (self.unauthenticated.count(), self.unauthenticated.dropped())
    }

    /// Start TLS on a connection to a `tls:` address.
    pub(crate) fn encrypted(&self, transport: Transport) -> Result<Transport> {
        let tls = self.tls().clone();
        let missing = || Error::Config("no certificate to show".into());
        transport.encrypted(&tls.ok_or_else(missing)?)
    }

    /// Stop the threads that accept connections.
    pub(crate) fn stop_listening(&self) {
        self.stop.set();
        self.unauthenticated.dismiss();
    }

    /// Return the descriptor that is readable once the server stops.
    pub(crate) fn stop(&self) -> BorrowedFd<'_> {
        self.stop.as_fd()
    }
}
