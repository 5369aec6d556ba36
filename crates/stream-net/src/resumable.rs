//! Resumable links: when their socket is cut they wait for another one for a grace period, and no
//! data of their streams is lost. The manager is not involved: all operations continue at the byte
//! at which they were interrupted.
//!
//! A rank that reconnects sends the number of bytes that it has received, and gets the number that
//! the driver has received ([`Driver::renew`]). Then it provides the socket ([`Driver::restore`]).
//! After the first of these calls nothing is read from the old socket, so that both numbers stay
//! valid.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::link::{Drain, Ends, Link, Resumable, ResumableDrain, ResumableSource, Source};
use isthmus_stream::LinkId;
use isthmus_wire::Socket;
use std::sync::Arc;
use std::time::Duration;

impl Driver {
    /// Attaches a resumable link, which has no socket yet. The caller must provide one within the
    /// time `grace`, with [`renew`](Self::renew) and then [`restore`](Self::restore).
    ///
    /// # Errors
    /// [`Error::Attached`].
    pub fn attach_resumable(&mut self, id: LinkId, grace: Duration) -> Result<()> {
        if self.is_attached(id) {
            return Err(Error::Attached(id));
        }
        let ends = Ends {
            source: Some(Source::Resumable(ResumableSource::default())),
            drain: Some(Drain::Resumable(ResumableDrain::default())),
            // The ends have no grace period of their own: that of the resumable link applies.
            grace: Duration::ZERO,
        };
        self.attach_ends(id, ends);
        if let Some(link) = self.links.get_mut(&id) {
            let resumable = Resumable { grace, nth: 0 };
            link.cut_until = resumable.until();
            link.resumable = Some(resumable);
        }
        Ok(())
    }

    /// Begins to reconnect a resumable link with its `nth` socket. `received` is the number of
    /// bytes that the rank has received. An existing socket is closed, with any data in it.
    ///
    /// # Returns
    /// The number of bytes that the driver received on the link.
    ///
    /// # Errors
    /// [`Error::Resumable`], with no change: the link is not resumable, a later socket has come
    /// already, or the number of bytes is impossible.
    pub fn renew(&mut self, id: LinkId, nth: u32, received: u64) -> Result<u64> {
        let refuse = |why: &str| Error::Resumable(id, why.to_owned());
        let link = self.links.get_mut(&id);
        let parts = link.and_then(parts).ok_or_else(|| {
            refuse("it is not one that can be made again, or its time of grace is over")
        })?;
        let last = parts.resumable.nth;
        if nth <= last {
            let why = format!("socket {nth} is stale: {last} was asked for before it");
            return Err(refuse(&why));
        }
        let resume_at = parts.drain.unconfirmed.resume_at(received);
        resume_at.map_err(|invalid| refuse(&invalid.to_string()))?;
        let there = parts.source.received;
        self.on_socket_cut(id, "its rank makes it again");
        let link = self.links.get_mut(&id);
        if let Some(resumable) = link.and_then(|link| link.resumable.as_mut()) {
            resumable.nth = nth;
        }
        Ok(there)
    }

    /// Provides the socket number `nth` for a resumable link. Returns whether the link uses it. A
    /// socket that comes too late, because the link was renewed again or is gone, is closed.
    pub fn restore(&mut self, id: LinkId, nth: u32, socket: Socket) -> bool {
        let Some(link) = self.links.get_mut(&id) else {
            return false;
        };
        let Some(parts) =
            parts(link).filter(|parts| parts.resumable.nth == nth && parts.source.socket.is_none())
        else {
            return false;
        };
        let socket = Arc::new(socket);
        parts.source.socket = Some(Arc::clone(&socket));
        parts.drain.socket = Some(socket);
        let kept = &parts.drain.unconfirmed;
        let again = kept.end() - kept.written();
        link.cut_until = None;
        if nth > 1 {
            let event = Event::LinkRestored {
                link: id,
                incarnation: link.incarnation,
                nth,
                again,
            };
            self.events.push_back(event);
        }
        true
    }

    /// Handles a confirmation: the rank of a resumable link has received `received` bytes.
    ///
    /// # Errors
    /// [`Error::Resumable`]: the confirmation exceeds the bytes that were written. The link is
    /// abandoned.
    pub fn confirm(&mut self, id: LinkId, received: u64) -> Result<()> {
        let link = self.links.get_mut(&id);
        let Some(parts) = link.and_then(parts) else {
            // Not an error: the link may have been removed since the rank sent the confirmation.
            return Ok(());
        };
        let Err(invalid) = parts.drain.unconfirmed.confirm(received) else {
            return Ok(());
        };
        let why = invalid.to_string();
        self.end_resumption(id);
        self.link_gone(id, &why, true);
        Err(Error::Resumable(id, why))
    }

    /// Records that the rank of a resumable link is gone or abandons the link. The link ends with
    /// its socket, or at once if it has none.
    pub fn abandon(&mut self, id: LinkId, why: &str) {
        self.end_resumption(id);
        let link = self.links.get_mut(&id);
        if link.is_some_and(|link| link.cut_until.take().is_some()) {
            self.report_gone(id, why);
        }
    }

    /// Returns whether a resumable link has no socket and waits for one.
    #[must_use]
    pub fn is_cut(&self, id: LinkId) -> bool {
        let link = self.links.get(&id);
        link.is_some_and(|link| link.resumable.is_some() && link.cut_until.is_some())
    }

    /// Makes a link end with its current socket, instead of waiting for another one.
    pub(crate) fn end_resumption(&mut self, id: LinkId) {
        if let Some(link) = self.links.get_mut(&id) {
            link.resumable = None;
        }
    }

    /// Handles the loss of a link's socket. Returns whether the link is resumable and waits for
    /// another socket.
    pub(crate) fn on_socket_cut(&mut self, id: LinkId, why: &str) -> bool {
        let Some(parts) = self.links.get_mut(&id).and_then(parts) else {
            return false;
        };
        let had = parts.source.socket.take().is_some();
        parts.drain.socket = None;
        let (until, nth) = (parts.resumable.until(), parts.resumable.nth);
        if let Some(link) = self.links.get_mut(&id) {
            link.cut_until = until;
        }
        if had {
            let event = Event::LinkCut {
                link: id,
                incarnation: self.incarnation(id),
                nth,
                reason: why.to_owned(),
            };
            self.events.push_back(event);
        }
        true
    }

    /// Handles the end of a link's grace period without a new socket.
    pub(crate) fn on_grace_over(&mut self, id: LinkId) {
        let link = self.links.get_mut(&id);
        match link.and_then(|link| link.resumable.take()) {
            Some(Resumable { grace, .. }) => {
                let why = format!("it was cut, and not made again within {grace:?}");
                self.report_gone(id, &why);
            }
            None => self.rank_lost(id),
        }
    }

    /// Reports that the other end of a link is gone, and fails the streams that need it.
    fn report_gone(&mut self, id: LinkId, why: &str) {
        let event = Event::LinkGone {
            link: id,
            incarnation: self.incarnation(id),
            reason: why.to_owned(),
        };
        self.events.push_back(event);
        self.rank_lost(id);
    }

    /// Reports an event with the number of received bytes that must be confirmed to the ranks of a
    /// resumable link, if the number has grown enough.
    pub(crate) fn confirm_taken(&mut self, id: LinkId) {
        let link = self.links.get_mut(&id);
        let bytes = link.and_then(|link| parts(link)?.source.confirm());
        if let Some(bytes) = bytes {
            let event = Event::LinkReceived {
                link: id,
                incarnation: self.incarnation(id),
                bytes,
            };
            self.events.push_back(event);
        }
    }
}

/// The parts of a resumable link: its state, and its reading and writing halves.
struct Parts<'l> {
    resumable: &'l Resumable,
    source: &'l mut ResumableSource,
    drain: &'l mut ResumableDrain,
}

/// Returns the parts of a link if it is resumable, otherwise None.
fn parts(link: &mut Link) -> Option<Parts<'_>> {
    Some(Parts {
        resumable: link.resumable.as_ref()?,
        source: link.input.as_mut()?.resumable()?,
        drain: link.output.as_mut()?.resumable()?,
    })
}
