//! What sessions share: who is let in, and how many.

use crate::error::{Error, Result};
use crate::hub::Hub;
use crate::log::Refusals;
use crate::refusal::refusal;
use crate::secret::Tokens;
use crate::strangers::Strangers;
use crate::tls::Tls;
use crate::wire::{Peer, Wire};
use isthmus_nic_protocol::{Refusal, RefusalKind};
use isthmus_stream_net::Client;
use rustix::event::{EventfdFlags, eventfd};
use rustls::ServerConfig;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What sessions share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub hub: Arc<Hub>,
    pub client: Client,
    /// Those who have not said who they are.
    pub strangers: Arc<Strangers>,
    /// What strangers are refused.
    refusals: Refusals,
    sessions: AtomicU32,
    /// The number of the next session.
    next: AtomicU32,
    /// What lets somebody in.
    tokens: Mutex<Tokens>,
    /// What is shown at `tls:` addresses.
    tls: Mutex<Option<Arc<ServerConfig>>>,
    /// Readable once the daemon ends.
    stop: OwnedFd,
}

/// One of the sessions that there may be.
pub(crate) struct Seat(Arc<Shared>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    pub fn new(
        hub: Arc<Hub>,
        client: Client,
        tls: Option<Arc<ServerConfig>>,
        tokens: Tokens,
    ) -> Result<Self> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let stop = stop.map_err(|error| Error::system("what ends a daemon", error))?;
        Ok(Self {
            hub,
            client,
            strangers: Arc::default(),
            refusals: Refusals::default(),
            sessions: AtomicU32::new(0),
            next: AtomicU32::new(0),
            tokens: Mutex::new(tokens),
            tls: Mutex::new(tls),
            stop,
        })
    }

    /// Ends those that listen.
    pub fn end(&self) {
        // It fails only where it was written already.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        self.strangers.dismiss();
    }

    /// Logs what a stranger is refused.
    pub fn refused(&self, who: &str, what: &str, text: &str) {
        self.refusals
            .say(&self.hub.log, who, what, &format!("refused: {text}"));
    }

    /// Logs how many refusals were not logged.
    pub fn end_refusals(&self) {
        self.refusals.end(&self.hub.log);
    }

    /// Shows another certificate from now on.
    pub fn show(&self, tls: Arc<ServerConfig>) {
        *self.tls() = Some(tls);
    }

    /// What lets somebody in.
    pub fn tokens(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody may be an application, or an operator.
    pub fn admit(
        &self,
        peer: &Peer,
        token: Option<&str>,
        operator: bool,
    ) -> std::result::Result<(), Refusal> {
        let tokens = self.tokens();
        let denied = |text: &str| Err(refusal(RefusalKind::Denied, text));
        let wanted = match operator {
            true => &tokens.operators,
            false => &tokens.clients,
        };
        if let Some(secret) = wanted {
            return match token {
                Some(token) if secret.is(token) => Ok(()),
                Some(_) => denied("this token lets nobody in: ask the operator for the right one"),
                None => denied("this daemon asks for a token: give the one of its operator"),
            };
        }
        let own = rustix::process::geteuid().as_raw();
        let trusted = matches!(peer, Peer::Unix { uid, .. } if [own, 0].contains(uid));
        if operator && !trusted {
            return denied(
                "an operator is the daemon's own user, through its Unix socket, where there is no \
                 operator's token",
            );
        }
        Ok(())
    }

    /// Readable once the daemon ends.
    pub fn stop(&self) -> BorrowedFd<'_> {
        self.stop.as_fd()
    }

    /// A number that no session has.
    pub fn next_session(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Sessions now.
    pub fn sessions(&self) -> u32 {
        self.sessions.load(Ordering::Relaxed)
    }

    fn tls(&self) -> MutexGuard<'_, Option<Arc<ServerConfig>>> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A side of TLS for a new socket.
    pub fn hide(&self, wire: Wire) -> Result<Wire> {
        let config = self.tls().clone();
        let missing = || Error::Config("no certificate to show".into());
        Ok(wire.hidden(Tls::new(config.ok_or_else(missing)?)?))
    }

    /// A place for a session.
    ///
    /// # Errors
    /// There are as many as there may be.
    pub fn sit(self: &Arc<Self>) -> std::result::Result<Seat, Refusal> {
        let most = self.hub.config.limits.sessions;
        let taken = self.sessions.fetch_add(1, Ordering::Relaxed);
        let seat = Seat(Arc::clone(self));
        if taken < most {
            return Ok(seat);
        }
        let text = format!("the daemon takes {most} sessions at a time: wait for one to end");
        Err(refusal(RefusalKind::Limit, text))
    }
}
