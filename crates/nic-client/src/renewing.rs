//! Makes the sockets of a lasting link: the first one, and another one when that is cut.
//!
//! A thread makes the others. It also writes again what the daemon has not received, as nobody else
//! may be there to do it.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::lasting::{Failed, Lasting, Renews};
use crate::session::{Welcome, ask_link};
use crate::stream::strange;
use isthmus_nic_protocol::{
    self as words, Answer, Carrier, LINK_SILENCE_MS, RefusalKind, Request, VERSION,
};
use isthmus_wire::Timeout;
use isthmus_wire::Transport;
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long is waited after an attempt, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// How long one attempt may take, so that one that the path swallows is not the last.
const ATTEMPT: Duration = Duration::from_secs(5);

/// What a link of a session is made anew with.
#[derive(Debug)]
struct Renewing {
    ticket: String,
    session: u32,
    grace: Duration,
    core: Weak<Core>,
}

/// A socket over which the daemon has answered.
struct Answered {
    nth: u32,
    answer: Answer,
    wire: Transport,
}

/// Makes a link of this session, with its first socket. One that is cut before it was answered is
/// tried again.
///
/// # Errors
/// A system without random bits; no daemon there; what it refuses; those of the timeout. The
/// daemon is told that the link is given up: it may have made it, and would keep its number for the
/// time of grace.
pub(crate) fn begin(
    core: &Arc<Core>,
    welcome: &Welcome,
    number: u16,
    grace: Duration,
    timeout: Timeout<'_>,
) -> Result<Arc<Lasting>> {
    let renewing = Arc::new(Renewing {
        ticket: welcome.ticket.clone(),
        session: welcome.session,
        grace,
        core: Arc::downgrade(core),
    });
    let link = Lasting::new(number, Arc::clone(&renewing) as Arc<dyn Renews>)?;
    core.tell_of(&link);
    let begun = renewing.first(&link, core, timeout);
    if begun.is_err() {
        core.give_up(&link, None);
    }
    begun.map(|()| link)
}

impl Renewing {
    fn first(&self, link: &Lasting, core: &Core, timeout: Timeout<'_>) -> Result<()> {
        let until = Instant::now().checked_add(self.grace);
        loop {
            let wire = core.connect(timeout)?;
            let failed = match self.ask(link, core, wire, None, timeout) {
                Ok(answered) => match take(link, answered) {
                    Ok(_) => return Ok(()),
                    Err(Failed::Now(why) | Failed::Late(why)) => Error::Link(link.number, why),
                    Err(Failed::Ever(why)) => return Err(Error::Link(link.number, why)),
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

    /// Asks for the link over a new socket.
    fn ask(
        &self,
        link: &Lasting,
        core: &Core,
        mut wire: Transport,
        received: Option<u64>,
        timeout: Timeout<'_>,
    ) -> Result<Answered> {
        let nth = link.next();
        let request = Request::Link {
            version: VERSION,
            ticket: self.ticket.clone(),
            link: link.number,
            carrier: Carrier::Socket,
            lasting: Some(words::Lasting {
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

    /// One attempt to make another socket; its number.
    fn attempt(
        &self,
        link: &Lasting,
        core: &Core,
        until: Instant,
    ) -> std::result::Result<u32, Failed> {
        // From here on nothing is read that would not be counted.
        let received = link.let_go();
        let goes_on = |_: Instant| core.gone().is_none();
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timeout::after(left.min(ATTEMPT)).while_true(&goes_on);
        let asked = core.connect(timeout);
        let asked = asked.and_then(|wire| self.ask(link, core, wire, Some(received), timeout));
        match asked {
            Ok(answered) => take(link, answered),
            // Too many at a time, or a line that was cut on its way.
            Err(Error::Refused(refusal))
                if matches!(refusal.kind, RefusalKind::Limit | RefusalKind::Garbled) =>
            {
                Err(Failed::Now(refusal.text))
            }
            Err(Error::Refused(refusal)) => Err(Failed::Ever(refusal.text)),
            Err(error @ Error::TimedOut(_)) => Err(Failed::Late(error.to_string())),
            Err(error) => Err(Failed::Now(error.to_string())),
        }
    }

    /// Makes another socket for a link that was cut for this reason, and writes again what is kept.
    fn mend(&self, weak: &Weak<Lasting>, why: &str) {
        let begun = Instant::now();
        let until = begun + self.grace;
        let mut pause = PAUSE.0;
        let mut failed = None;
        let nth = loop {
            // Given up, or its session is over: nobody wants it.
            let Some(link) = weak.upgrade() else {
                return;
            };
            let Some(core) = self.core.upgrade() else {
                return link.lose(why.to_owned());
            };
            if core.gone().is_some() {
                return link.lose(why.to_owned());
            }
            let left = until.saturating_duration_since(Instant::now());
            if let Some(failed) = &failed
                && left.is_zero()
            {
                let grace = self.grace;
                return link.lose(format!(
                    "{why}, and it could not be made anew within {grace:?}: {failed}"
                ));
            }
            match self.attempt(&link, &core, until) {
                Ok(nth) => break nth,
                Err(Failed::Ever(text)) => {
                    return link.lose(format!("{why}, and it cannot be made anew: {text}"));
                }
                // That the end of grace has cut it short does not tell what is wrong.
                Err(Failed::Late(_)) if failed.is_some() && left < ATTEMPT => {}
                Err(Failed::Now(text) | Failed::Late(text)) => failed = Some(text),
            }
            drop((link, core));
            std::thread::sleep(pause.min(until.saturating_duration_since(Instant::now())));
            pause = (2 * pause).min(PAUSE.1);
        };
        while weak.upgrade().is_some_and(|link| link.write_again(nth)) {}
    }
}

impl Renews for Renewing {
    fn renew(self: Arc<Self>, link: Weak<Lasting>, why: String) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("nic-mend".into());
        thread.spawn(move || self.mend(&link, &why)).map(drop)
    }

    fn confirm(&self, link: &Lasting, received: u64) {
        if let Some(core) = self.core.upgrade() {
            core.tell(Request::Taken {
                link: link.number,
                key: link.key.clone(),
                bytes: received,
            });
        }
    }
}

/// Hands a link a socket over which the daemon has answered; its number.
fn take(link: &Lasting, answered: Answered) -> std::result::Result<u32, Failed> {
    let Answered { nth, answer, wire } = answered;
    let Answer::Lasts { received, .. } = answer else {
        return Err(Failed::Ever(strange("a link", &answer).to_string()));
    };
    link.take(nth, wire, received).map(|()| nth)
}
