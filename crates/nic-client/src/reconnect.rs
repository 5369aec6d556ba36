//! Connects the sockets of a lasting link, which outlives its sockets: the first socket, and a new one after each cut.
//!
//! A thread connects the new sockets. It also writes the data again that the daemon has not received, because the
//! application may not call the link at that time.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::lasting::{AttemptError, Lasting, Reconnect};
use crate::session::ask_link;
use crate::stream::unexpected;
use isthmus_nic_protocol::{
    self as protocol, Answer, Carrier, LINK_SILENCE_MS, RefusalKind, Request, VERSION, Welcome,
};
use isthmus_wire::Timeout;
use isthmus_wire::Transport;
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The first and the longest pause after a failed attempt to reconnect.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// The timeout of one attempt to reconnect, so that lost packets do not use up the grace period.
const ATTEMPT: Duration = Duration::from_secs(5);

/// The parameters with which a link of a session reconnects.
#[derive(Debug)]
struct Reconnector {
    ticket: String,
    session: u32,
    grace: Duration,
    core: Weak<Core>,
}

/// A socket on which the daemon has answered the request to create or reconnect a link.
struct Answered {
    nth: u32,
    answer: Answer,
    wire: Transport,
}

/// Open a lasting link of this session with its first socket. If the socket is cut before the
/// answer, the request is repeated.
///
/// # Errors
/// A system without random bits; no daemon; a refusal; an expired timeout. After an error the
/// function requests the release of the link: the daemon may have created it, and would reserve its
/// number for the grace period.
pub(crate) fn open(
    core: &Arc<Core>,
    welcome: &Welcome,
    number: u16,
    grace: Duration,
    timeout: Timeout<'_>,
) -> Result<Arc<Lasting>> {
    let reconnector = Arc::new(Reconnector {
        ticket: welcome.ticket.clone(),
        session: welcome.session,
        grace,
        core: Arc::downgrade(core),
    });
    let link = Lasting::new(number, Arc::clone(&reconnector) as Arc<dyn Reconnect>)?;
    core.register(&link);
    let started = reconnector.connect_first(&link, core, timeout);
    if started.is_err() {
        core.release(&link, None);
    }
    started.map(|()| link)
}

impl Reconnector {
    /// Connect the first socket of a link, with repeated attempts.
    fn connect_first(&self, link: &Lasting, core: &Core, timeout: Timeout<'_>) -> Result<()> {
        let until = Instant::now().checked_add(self.grace);
        loop {
            let wire = core.connect(timeout)?;
            let failed = match self.ask(link, core, wire, None, timeout) {
                Ok(answered) => match attach(link, answered) {
                    Ok(_) => return Ok(()),
                    Err(AttemptError::Retry(why) | AttemptError::TimedOut(why)) => {
                        Error::Link(link.number, why)
                    }
                    Err(AttemptError::Fatal(why)) => return Err(Error::Link(link.number, why)),
                },
                Err(error @ Error::Unreachable(..)) => error,
                Err(error) => return Err(error),
            };
            if let Some(gone) = core.gone() {
                return Err(gone);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(failed);
            }
            timeout.slice()?;
            std::thread::sleep(PAUSE.0);
        }
    }

    /// Request the link over a new socket, and wait for the answer.
    fn ask(
        &self,
        link: &Lasting,
        core: &Core,
        mut wire: Transport,
        received: Option<u64>,
        timeout: Timeout<'_>,
    ) -> Result<Answered> {
        let nth = link.next_socket_number();
        let request = Request::Link {
            version: VERSION,
            ticket: self.ticket.clone(),
            link: link.number,
            carrier: Carrier::Socket,
            lasting: Some(protocol::Lasting {
                session: self.session,
                key: link.key.clone(),
                grace_ns: u64::try_from(self.grace.as_nanos()).ok(),
                nth,
                received,
            }),
        };
        wire.limit_silence(LINK_SILENCE_MS);
        let answer = ask_link(&core.name, &mut wire, request, timeout)?;
        Ok(Answered { nth, answer, wire })
    }

    /// Try once to reconnect the link over a new socket. Returns the number of the new socket.
    fn attempt(
        &self,
        link: &Lasting,
        core: &Core,
        until: Instant,
    ) -> std::result::Result<u32, AttemptError> {
        // Release the old sockets before the new attempt, so that `received` counts every byte that was read.
        let received = link.release();
        let check_running = |_: Instant| core.gone().is_none();
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timeout::after(left.min(ATTEMPT)).while_true(&check_running);
        let asked = core.connect(timeout);
        let asked = asked.and_then(|wire| self.ask(link, core, wire, Some(received), timeout));
        match asked {
            Ok(answered) => attach(link, answered),
            // Try again: the daemon had too many requests, or the request was cut off on its way.
            Err(Error::Refused(refusal))
                if matches!(refusal.kind, RefusalKind::Limit | RefusalKind::Garbled) =>
            {
                Err(AttemptError::Retry(refusal.text))
            }
            Err(Error::Refused(refusal)) => Err(AttemptError::Fatal(refusal.text)),
            Err(error @ Error::TimedOut(_)) => Err(AttemptError::TimedOut(error.to_string())),
            Err(error) => Err(AttemptError::Retry(error.to_string())),
        }
    }

    /// Reconnect a link that was cut for this reason, and write the unconfirmed data again.
    fn reconnect(&self, weak: &Weak<Lasting>, why: &str) {
        let started = Instant::now();
        let until = started + self.grace;
        let mut pause = PAUSE.0;
        let mut failed = None;
        let nth = loop {
            // End if the link was released or the session has closed.
            let Some(link) = weak.upgrade() else {
                return;
            };
            let Some(core) = self.core.upgrade() else {
                return link.fail(why.to_owned());
            };
            if core.gone().is_some() {
                return link.fail(why.to_owned());
            }
            let left = until.saturating_duration_since(Instant::now());
            if let Some(failed) = &failed
                && left.is_zero()
            {
                let grace = self.grace;
                return link.fail(format!(
                    "{why}, and it could not be made again within {grace:?}: {failed}"
                ));
            }
            match self.attempt(&link, &core, until) {
                Ok(nth) => break nth,
                Err(AttemptError::Fatal(text)) => {
                    return link.fail(format!("{why}, and it cannot be made again: {text}"));
                }
                // Keep the error of the previous attempt: this one only timed out because the grace period ended.
                Err(AttemptError::TimedOut(_)) if failed.is_some() && left < ATTEMPT => {}
                Err(AttemptError::Retry(text) | AttemptError::TimedOut(text)) => {
                    failed = Some(text)
                }
            }
            drop((link, core));
            std::thread::sleep(pause.min(until.saturating_duration_since(Instant::now())));
            pause = (2 * pause).min(PAUSE.1);
        };
        while weak.upgrade().is_some_and(|link| link.rewrite(nth)) {}
    }
}

impl Reconnect for Reconnector {
    /// Start a thread that connects a new socket for a link that was cut for this reason.
    fn renew(self: Arc<Self>, link: Weak<Lasting>, why: String) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("nic-reconnect".into());
        thread.spawn(move || self.reconnect(&link, &why)).map(drop)
    }

    /// Confirm to the daemon the number of bytes received over a link.
    fn confirm(&self, link: &Lasting, received: u64) {
        if let Some(core) = self.core.upgrade() {
            core.send(Request::Taken {
                link: link.number,
                key: link.key.clone(),
                bytes: received,
            });
        }
    }
}

/// Add a new socket to a link, after the daemon has answered the request over this socket. Returns the number of the
/// socket.
fn attach(link: &Lasting, answered: Answered) -> std::result::Result<u32, AttemptError> {
    let Answered { nth, answer, wire } = answered;
    let Answer::Lasts { received, .. } = answer else {
        return Err(AttemptError::Fatal(
            unexpected("a link", &answer).to_string(),
        ));
    };
    link.attach(nth, wire, received).map(|()| nth)
}
