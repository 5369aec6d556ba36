//! One client of the daemon: whether it is admitted, and what is logged of it.

use crate::export::Export;
use crate::shared::Shared;
use isthmus_daemon::SessionSlot;
use isthmus_forward::{Errno, Result};
use isthmus_wire::Peer;
use std::cell::{Cell, RefCell};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One client of the daemon: its files are those of the exports.
pub(crate) struct Client {
    pub shared: Arc<Shared>,
    peer: Peer,
    /// Whether the client is on TCP without TLS.
    is_plain: bool,
    /// The number of the session, which holds locks.
    pub session: u32,
    /// The slot of the session, once the client has attached.
    slot: RefCell<Option<SessionSlot>>,
    is_refused: Cell<bool>,
}

impl Client {
    /// Create the view of a client that has not attached.
    pub fn new(shared: Arc<Shared>, peer: Peer, is_plain: bool) -> Self {
        let session = shared.gate.next_session();
        Self {
            shared,
            peer,
            is_plain,
            session,
            slot: RefCell::new(None),
            is_refused: Cell::new(false),
        }
    }

    /// Return whether the client was not admitted: its connection ends.
    pub fn is_refused(&self) -> bool {
        self.is_refused.get()
    }

    /// Return whether the client was admitted.
    fn is_admitted(&self) -> bool {
        self.slot.borrow().is_some()
    }

    /// Log that the connection ends because a message is malformed.
    pub fn log_malformed(&self, why: &str) {
        match self.is_admitted() {
            true => self.log("message", &format!("refused: {why}")),
            false => {
                let who = self.peer.to_string();
                self.shared.gate.log_refusal(&who, "message", why);
            }
        }
    }

    /// Log and count that the client asked for an export that there is not.
    pub fn log_refused_export(&self, what: &str, error: Errno) {
        self.log(what, &format!("refused: {error}"));
        self.shared.counters.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Log and count that the client has left without attaching, as one does that has no token.
    pub fn log_left(&self) {
        if !self.is_refused() {
            self.refuse("it left without a token or an export", Errno::ACCES);
        }
    }

    /// Log a request of this client and its result.
    pub fn log(&self, what: &str, result: &str) {
        let who = format!("#{} {}", self.session, self.peer);
        self.shared.gate.log().record(&who, what, result);
    }

    /// Refuse to admit the client.
    fn refuse(&self, why: &str, errno: Errno) -> Errno {
        self.is_refused.set(true);
        let who = self.peer.to_string();
        self.shared.gate.log_refusal(&who, "attach", why);
        self.shared.counters.refused.fetch_add(1, Ordering::Relaxed);
        errno
    }

    /// Admit the client and take a slot for its session, unless it has one.
    pub fn admit(&self, token: Option<&[u8]>) -> Result<()> {
        if self.is_admitted() {
            return Ok(());
        }
        let token = token.map(String::from_utf8_lossy);
        let is_free = token.is_none() && !self.must_show_token();
        if !is_free {
            let gate = &self.shared.gate;
            let admitted = gate.admit(&self.peer, token.as_deref(), false);
            admitted.map_err(|why| self.refuse(why, Errno::ACCES))?;
        }
        let taken = self.shared.gate.take_session();
        // Linux has EUSERS, "too many users".
        let taken = taken.map_err(|why| self.refuse(&why, Errno(87)))?;
        *self.slot.borrow_mut() = Some(taken);
        Ok(())
    }

    /// Return whether the client must show a token.
    pub fn must_show_token(&self) -> bool {
        let is_exempt = self.is_plain && self.shared.allow_plain;
        !is_exempt && self.shared.gate.wants_token()
    }

    /// Find the export that a client names, and the names from its root to where it attaches.
    pub fn export<'a>(&self, name: &'a [u8]) -> Result<(&Arc<Export>, &'a [u8])> {
        let exports = &self.shared.exports;
        if matches!(name, b"" | b"/") {
            return exports
                .first()
                .map(|first| (first, &[][..]))
                .ok_or(Errno::NOENT);
        }
        let beneath = |export: &Arc<Export>| {
            export.paths.iter().find_map(|path| {
                let path = path.as_os_str().as_bytes();
                let rest = name.strip_prefix(path)?;
                (rest.is_empty() || rest[0] == b'/' || path == b"/").then_some(rest)
            })
        };
        let found = exports
            .iter()
            .find_map(|export| Some((export, beneath(export)?)));
        found.ok_or(Errno::NOENT)
    }
}

impl Drop for Client {
    /// Log the end of the session.
    fn drop(&mut self) {
        if self.is_admitted() {
            self.log("leave", "ok");
        }
    }
}
