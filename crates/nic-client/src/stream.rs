//! A stream: ADUs sent or received over the links of this process.

use crate::core::Core;
use crate::error::{Error, Result, named};
use crate::half::{Half, Taken};
use crate::link::Link;
use crate::lock::locked;
use crate::pending::Pending;
use isthmus_nic_protocol::{Answer, Direction, RefusalKind, Request, Spec, Stream as Status};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{Format, LinkId};
use isthmus_wire::Timeout;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long the daemon is asked why something takes so long.
pub(crate) const EXPLAINING: Duration = Duration::from_secs(1);
/// How long two signs of the daemon's end may lie apart.
const SIGNS_APART: Duration = Duration::from_secs(1);

/// A stream of this application. One call sends or receives of it at a time; others wait for it.
///
/// Of a stream whose links belong to several processes each sends and receives the SUs of its own
/// links. Dropped, a stream that is received is cancelled unless it has ended; one that is sent
/// goes on with what was sent.
#[derive(Debug)]
pub struct Stream {
    pub(crate) core: Arc<Core>,
    pub(crate) number: u32,
    pub(crate) direction: Direction,
    pub(crate) format: Format,
    /// The sums that are sent with the data.
    pub(crate) sums: Checksum,
    pub(crate) place: Half<Place>,
    /// How many ADUs there are, if that is known here.
    adus: Mutex<Option<u64>>,
    /// The question when and how it ends, once it was asked.
    end: Mutex<Option<Arc<Pending>>>,
    /// Whether it was cancelled here; how it ended may not be known yet.
    pub(crate) cancelled: AtomicBool,
}

/// Where a stream is, here.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The next ADU.
    pub adu: u64,
    /// Its next TU: above 0 only while it is moved in parts.
    pub tu: u64,
    /// Why it cannot be used any more.
    pub broken: Option<String>,
}

impl Place {
    /// TUs before `tu` are moved, of as many as the ADU has.
    pub fn advance(&mut self, tu: u64, of: u64) {
        self.tu = tu;
        if tu == of {
            self.adu += 1;
            self.tu = 0;
        }
    }
}

/// The format that a submission says, with the application's own numbers of links.
pub(crate) fn format_of(spec: &Spec) -> Format {
    let links = spec.format.su_order.iter();
    spec.format.over(links.map(|link| LinkId(*link)).collect())
}

impl Stream {
    pub(crate) fn new(core: Arc<Core>, number: u32, spec: &Spec) -> Self {
        let format = format_of(spec);
        if spec.direction == Direction::Receive {
            let links = format.links().into_iter().map(|link| link.0);
            let own = locked(&core.links);
            let own: Vec<u16> = links.filter(|link| own.contains_key(link)).collect();
            locked(&core.registry).receive(number, own);
        }
        Self {
            core,
            number,
            direction: spec.direction,
            format,
            sums: spec.rank_sums,
            place: Half::new(Place::default()),
            adus: Mutex::new(spec.adus),
            end: Mutex::new(None),
            cancelled: AtomicBool::new(false),
        }
    }

    /// Whether it is of this process: see [`Session::here`](crate::Session::here).
    ///
    /// # Errors
    /// [`Error::Abroad`].
    pub fn here(&self) -> Result<()> {
        self.core.here()
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Which way it goes.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// How its data is cut.
    #[must_use]
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// How many ADUs it has, if that is known here.
    #[must_use]
    pub fn adus(&self) -> Option<u64> {
        *locked(&self.adus)
    }

    /// How many bytes of an ADU go over the links of this process.
    #[must_use]
    pub fn own_bytes(&self, adu_bytes: u64) -> u64 {
        if self.here().is_err() {
            return 0;
        }
        let own = locked(&self.core.links);
        let whole = adu_bytes / self.format.tu_bytes;
        let of = |tu: u64| -> u64 {
            let sus = self.format.sus(tu);
            let sus = sus.filter(|su| own.contains_key(&su.link.0));
            sus.map(|su| su.bytes).sum()
        };
        whole * of(self.format.tu_bytes) + of(adu_bytes % self.format.tu_bytes)
    }

    /// Up to which TU of an ADU `bytes` lead that go over the links of this process, from TU `from`
    /// on, and how many of them are used: less than there are if the ADU ends first. None if they
    /// end within a TU.
    pub(crate) fn reach(&self, adu_bytes: u64, from: u64, bytes: u64) -> Option<(u64, u64)> {
        let own = locked(&self.core.links);
        let mut used = 0;
        for index in from.. {
            let Some(tu) = self.format.tu(0, adu_bytes, index) else {
                return Some((index, used));
            };
            let sus = self.format.sus(tu.bytes);
            let sus = sus.filter(|su| own.contains_key(&su.link.0));
            let next: u64 = sus.map(|su| su.bytes).sum();
            if next > 0 && used == bytes {
                return Some((index, used));
            }
            if used + next > bytes {
                return None;
            }
            used += next;
        }
        None
    }

    /// Its links that this process has, ascending.
    pub(crate) fn links(&self) -> Result<Vec<Arc<Link>>> {
        let own = locked(&self.core.links);
        let wanted = self.format.links();
        let found = wanted.iter().filter_map(|link| own.get(&link.0).cloned());
        let found: Vec<_> = found.collect();
        match found.is_empty() {
            true => Err(Error::Misfit(format!(
                "stream {} goes over links {}: this process has none of them",
                self.number,
                listed(&wanted)
            ))),
            false => Ok(found),
        }
    }

    fn request(&self, request: Request, timeout: Timeout<'_>) -> Result<Answer> {
        self.core.ask(request, false, timeout)?.wait(timeout)
    }

    /// Where it is, and what it waits for.
    ///
    /// # Errors
    /// Those of the daemon and of the timeout.
    pub fn status(&self, timeout: Timeout<'_>) -> Result<Status> {
        let stream = self.number;
        match self.request(Request::Stream { stream }, timeout)? {
            Answer::Stream { stream } => Ok(stream),
            other => Err(strange("a stream's status", &other)),
        }
    }

    /// Says how many ADUs it has, if that was left open: as many as were sent, or more. It waits for a
    /// send that is under way.
    ///
    /// # Errors
    /// A number that is too small; those of the daemon and of the timeout.
    pub fn finish(&self, adus: u64, timeout: Timeout<'_>) -> Result<()> {
        self.here()?;
        let stream = self.number;
        // The daemon counts what has come to it, and would take the rest for what nobody wants.
        let sent = {
            let place = self.place.take(timeout).map_err(|error| {
                named(error, || {
                    format!("stream {stream}: another call is under way")
                })
            })?;
            place.adu + u64::from(place.tu > 0)
        };
        if adus < sent && self.direction == Direction::Transmit {
            return Err(Error::Misfit(format!(
                "stream {stream}: finish at {adus} ADUs, of which {sent} were sent: give {sent} or \
                 more, or cancel it"
            )));
        }
        self.request(Request::Finish { stream, adus }, timeout)?;
        *locked(&self.adus) = Some(adus);
        Ok(())
    }

    /// Cancels it: what has not been moved does not come.
    ///
    /// # Errors
    /// Those of the daemon and of the timeout.
    pub fn cancel(&self, timeout: Timeout<'_>) -> Result<()> {
        let stream = self.number;
        self.request(Request::Cancel { stream }, timeout)?;
        self.cancelled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Waits until `adus` of its ADUs are moved: they are in the manager's memory, or with the
    /// ranks.
    ///
    /// # Errors
    /// A stream that ended before; those of the daemon and of the timeout.
    pub fn wait_moved(&self, adus: u64, timeout: Timeout<'_>) -> Result<Status> {
        self.wait_for(adus, true, timeout)
    }

    /// Waits until `adus` of its ADUs are done, as the destination promises it.
    ///
    /// # Errors
    /// A stream that ended before; those of the daemon and of the timeout.
    pub fn wait_done(&self, adus: u64, timeout: Timeout<'_>) -> Result<Status> {
        self.wait_for(adus, false, timeout)
    }

    fn wait_for(&self, adus: u64, moved: bool, timeout: Timeout<'_>) -> Result<Status> {
        if let Some(all) = self.adus().filter(|all| *all < adus) {
            let number = self.number;
            let what = format!("stream {number} has {all} ADUs: {adus} cannot be waited for");
            return Err(Error::Misfit(what));
        }
        let request = Request::Wait {
            stream: self.number,
            adus: Some(adus),
            moved,
        };
        let pending = self.core.ask(request, false, timeout)?;
        let what = if moved { "moved" } else { "done" };
        let status = self.answered(&pending, &format!("{adus} ADUs {what}"), timeout)?;
        let there = if moved { status.moved } else { status.done };
        if there >= adus {
            return Ok(status);
        }
        let ended = self.ended(status)?;
        Err(Error::Stream(
            self.number,
            format!(
                "it has ended with {} ADUs; {adus} were waited for",
                ended.done
            ),
        ))
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// One that failed or was cancelled; those of the daemon and of the timeout.
    pub fn wait(&self, timeout: Timeout<'_>) -> Result<Status> {
        let pending = self.end(timeout)?;
        self.ended(self.answered(&pending, "its end", timeout)?)
    }

    /// The question when and how it ends, which is asked once.
    pub(crate) fn end(&self, timeout: Timeout<'_>) -> Result<Arc<Pending>> {
        self.here()?;
        let mut end = locked(&self.end);
        if let Some(pending) = &*end
            && !too_many(pending.poll().as_ref())
        {
            return Ok(Arc::clone(pending));
        }
        let request = Request::Wait {
            stream: self.number,
            adus: None,
            moved: false,
        };
        let pending = Arc::new(self.core.ask(request, false, timeout)?);
        *end = Some(Arc::clone(&pending));
        Ok(pending)
    }

    /// Whether it goes on, as far as is known here.
    ///
    /// # Errors
    /// It ended, and not well; the session is over.
    pub(crate) fn goes_on(&self, timeout: Timeout<'_>) -> Result<()> {
        let asked = locked(&self.end).as_ref().map(|pending| pending.poll());
        let answer = match asked {
            Some(answer) if !too_many(answer.as_ref()) => answer,
            _ => self.end(timeout)?.poll(),
        };
        match answer {
            None => Ok(()),
            // It is asked again by the next.
            answer @ Some(Err(_)) if too_many(answer.as_ref()) => Ok(()),
            Some(Ok(Answer::Stream { stream })) => self.ended(stream).map(|_| ()),
            Some(other) => other.map(|_| ()),
        }
    }

    /// The answer to a wait, which is a status. As long as the stream moves, timeout begins anew.
    fn answered(&self, pending: &Pending, what: &str, timeout: Timeout<'_>) -> Result<Status> {
        // Where it is now is asked for only when the answer is not there soon.
        let mut now = timeout.quarter();
        let mut before = None;
        loop {
            match pending.wait(now) {
                Ok(Answer::Stream { stream }) => return Ok(stream),
                Ok(other) => return Err(strange("a stream's status", &other)),
                Err(Error::TimedOut(_)) => {}
                Err(error) => return Err(error),
            }
            let status = self.status(Timeout::after(EXPLAINING));
            let progress = status.as_ref().ok().map(progress);
            if progress.is_some() && progress != before {
                (before, now) = (progress, timeout.restarted());
                continue;
            }
            let (number, given, why) = (self.number, timeout.given(), explained(status));
            return Err(Error::TimedOut(format!(
                "stream {number}: waited for {what}, and nothing moved for {given}{why}"
            )));
        }
    }

    /// The status of a stream that is over, if it ended well.
    fn ended(&self, status: Status) -> Result<Status> {
        if status.state == "done" {
            return Ok(status);
        }
        let adus = status
            .adus
            .map_or(String::new(), |adus| format!(" of {adus}"));
        let reason = status
            .reason
            .map_or(String::new(), |reason| format!(": {reason}"));
        let state = match status.state.as_str() {
            "cancelled" => "was cancelled".into(),
            other => format!("has {other}"),
        };
        let done = status.done;
        Err(Error::Stream(
            self.number,
            format!("it {state}{reason}; {done}{adus} ADUs are done"),
        ))
    }

    /// What the daemon says of why it takes so long, as the end of a sentence.
    pub(crate) fn explained(&self) -> String {
        explained(self.status(Timeout::after(EXPLAINING)))
    }

    /// The error of a link: that the daemon is gone, if it is.
    pub(crate) fn link_error(&self, link: u16, why: &str) -> Error {
        let gone = self.core.gone_by(Instant::now() + SIGNS_APART);
        gone.unwrap_or_else(|| Error::Link(link, why.to_owned()))
    }

    /// It was left in the middle of an ADU, so that nothing that follows can be right.
    pub(crate) fn leave(&self, place: &mut Place, why: &Error) {
        let adu = place.adu;
        place.broken = Some(format!(
            "left in the middle of ADU {adu} ({why}), and cancelled: submit another stream"
        ));
        self.cancel_unheard();
    }

    fn cancel_unheard(&self) {
        let stream = self.number;
        // Nobody waits for the answer. A session that is over needs none.
        let _ = self.core.ask(
            Request::Cancel { stream },
            false,
            Timeout::after(Duration::ZERO),
        );
    }

    /// Waits for its turn. `within`: whether it may be in the middle of an ADU.
    pub(crate) fn turn(
        &self,
        direction: Direction,
        within: bool,
        timeout: Timeout<'_>,
    ) -> Result<Taken<'_, Place>> {
        self.here()?;
        let number = self.number;
        if direction != self.direction {
            let (does, other) = match self.direction {
                Direction::Transmit => ("transmits", "sent"),
                Direction::Receive => ("receives", "received"),
            };
            let what = format!("stream {number} {does}: its ADUs are {other}");
            return Err(Error::Misfit(what));
        }
        let place = self.place.take(timeout).map_err(|error| {
            named(error, || {
                format!("stream {number}: another call is under way")
            })
        })?;
        match &place.broken {
            Some(why) => Err(Error::Stream(number, why.clone())),
            None if place.tu > 0 && !within => {
                let (adu, tu) = (place.adu, place.tu);
                let what =
                    format!("stream {number}: {tu} TUs of ADU {adu} were moved: go on there");
                Err(Error::Misfit(what))
            }
            None => Ok(place),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.here().is_ok()
            && self.direction == Direction::Receive
            && locked(&self.core.registry).give_up(self.number)
        {
            self.cancel_unheard();
        }
    }
}

/// What changes while a stream moves.
fn progress(status: &Status) -> (u64, u64, u64, String) {
    (
        status.moved,
        status.done,
        status.bytes,
        status.state.clone(),
    )
}

fn explained(status: Result<Status>) -> String {
    match status {
        Ok(status) if status.waits.is_empty() => format!("; it is {}", status.state),
        Ok(status) => format!("; it is {}: {}", status.state, status.waits.join("; ")),
        Err(error) => format!("; why is not known ({error})"),
    }
}

/// Whether too many requests waited for this one to wait as well.
fn too_many(answer: Option<&Result<Answer>>) -> bool {
    matches!(answer, Some(Err(error)) if error.is_refused(RefusalKind::Limit))
}

/// Numbers of links, for messages.
pub(crate) fn listed(links: &[LinkId]) -> String {
    let words: Vec<String> = links.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// The daemon answered something else.
pub(crate) fn strange(wanted: &str, answer: &Answer) -> Error {
    Error::Garbled(format!(
        "the daemon answered {answer:?} where {wanted} was asked for"
    ))
}
