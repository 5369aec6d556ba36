//! A stream: ADUs sent or received over the links of this process.

use crate::core::Core;
use crate::error::{Error, Result, describe};
use crate::link::Link;
use crate::lock::lock;
use crate::pending::Pending;
use crate::timed_mutex::{TimedGuard, TimedMutex};
use isthmus_nic_protocol::{Answer, Direction, RefusalKind, Request, Spec, Stream as Status};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{Format, LinkId};
use isthmus_wire::Timeout;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Timeout of the requests for the status of a stream, with which an error message explains a
/// delay.
pub(crate) const STATUS_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum time from the moment at which a link detects the end of the daemon until the session
/// detects it.
const GONE_DELAY: Duration = Duration::from_secs(1);

/// A stream of this application. One call at a time sends or receives; others wait.
///
/// If its links belong to several processes, each process sends or receives the striping units
/// (SUs) of its own links. Dropping a received stream cancels it unless it has ended; a transmitted
/// one continues with the data already sent.
#[derive(Debug)]
pub struct Stream {
    pub(crate) core: Arc<Core>,
    pub(crate) number: u32,
    pub(crate) direction: Direction,
    pub(crate) format: Format,
    /// The kind of checksums that this process sends with the data.
    pub(crate) sums: Checksum,
    pub(crate) pos: TimedMutex<Position>,
    /// The total number of application data units (ADUs) of the stream; `None` if this process does
    /// not know it.
    adus: Mutex<Option<u64>>,
    /// The request that waits for the end of the stream, once it was sent.
    end: Mutex<Option<Arc<Pending>>>,
    /// Whether this process cancelled the stream, whose end may not have been reported yet.
    pub(crate) cancelled: AtomicBool,
}

/// The position of this process in a stream: the numbers of its next application data unit (ADU)
/// and transfer unit (TU).
#[derive(Debug, Default)]
pub(crate) struct Position {
    /// The number of the next application data unit (ADU) that this process sends or receives.
    pub adu: u64,
    /// The number of the next transfer unit (TU) in the next application data unit (ADU); above 0
    /// only while that ADU is moved in parts.
    pub tu: u64,
    /// The reason why the stream cannot be used any more; None while it can.
    pub broken: Option<String>,
}

impl Position {
    /// Advance to transfer unit (TU) `tu` of an application data unit (ADU) that has `of` TUs.
    pub fn advance(&mut self, tu: u64, of: u64) {
        self.tu = tu;
        if tu == of {
            self.adu += 1;
            self.tu = 0;
        }
    }
}

/// Return the data format in a specification, with the application's own numbers of links.
pub(crate) fn format_of(spec: &Spec) -> Format {
    let links = spec.format.su_order.iter();
    spec.format.over(links.map(|link| LinkId(*link)).collect())
}

impl Stream {
    /// Create the handle of the stream to which the daemon has given this number.
    pub(crate) fn new(core: Arc<Core>, number: u32, spec: &Spec) -> Self {
        let format = format_of(spec);
        if spec.direction == Direction::Receive {
            let links = format.links().into_iter().map(|link| link.0);
            let own = lock(&core.links);
            let own: Vec<u16> = links.filter(|link| own.contains_key(link)).collect();
            lock(&core.registry).receive(number, own);
        }
        Self {
            core,
            number,
            direction: spec.direction,
            format,
            sums: spec.rank_sums,
            pos: TimedMutex::new(Position::default()),
            adus: Mutex::new(spec.adus),
            end: Mutex::new(None),
            cancelled: AtomicBool::new(false),
        }
    }

    /// Check that the stream belongs to this process, as in
    /// [`Session::check_process`](crate::Session::check_process).
    ///
    /// # Errors
    /// [`Error::OtherProcess`].
    pub fn check_process(&self) -> Result<()> {
        self.core.check_process()
    }

    /// Return the number of the stream, which the daemon has assigned.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Return the direction of the stream.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Return the format of the stream: how its data is divided.
    #[must_use]
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Return the number of application data units (ADUs) of the stream, if this process knows it.
    #[must_use]
    pub fn adus(&self) -> Option<u64> {
        *lock(&self.adus)
    }

    /// Return how many bytes of an application data unit (ADU) of `adu_bytes` go over the links of
    /// this process.
    #[must_use]
    pub fn own_bytes(&self, adu_bytes: u64) -> u64 {
        if self.check_process().is_err() {
            return 0;
        }
        let own = lock(&self.core.links);
        let whole = adu_bytes / self.format.tu_bytes;
        let of = |tu: u64| -> u64 {
            let sus = self.format.sus(tu);
            let sus = sus.filter(|su| own.contains_key(&su.link.0));
            sus.map(|su| su.bytes).sum()
        };
        whole * of(self.format.tu_bytes) + of(adu_bytes % self.format.tu_bytes)
    }

    /// Return the transfer unit (TU) that this process reaches if it moves `bytes` bytes from the
    /// start of TU `from` of an application data unit (ADU), and the number of bytes used. The ADU
    /// may end first; then fewer bytes are used. Return `None` if the bytes end within a TU.
    pub(crate) fn reach(&self, adu_bytes: u64, from: u64, bytes: u64) -> Option<(u64, u64)> {
        let own = lock(&self.core.links);
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

    /// Return the links of this process that the stream uses, in ascending order.
    pub(crate) fn links(&self) -> Result<Vec<Arc<Link>>> {
        let own = lock(&self.core.links);
        let wanted = self.format.links();
        let found = wanted.iter().filter_map(|link| own.get(&link.0).cloned());
        let found: Vec<_> = found.collect();
        match found.is_empty() {
            true => Err(Error::Misfit(format!(
                "stream {} goes over links {}: this process has none of them",
                self.number,
                join_numbers(&wanted)
            ))),
            false => Ok(found),
        }
    }

    /// Send a request to the daemon and wait for the answer.
    fn request(&self, request: Request, timeout: Timeout<'_>) -> Result<Answer> {
        self.core.ask(request, false, timeout)?.wait(timeout)
    }

    /// Return the status of the stream, with the reasons why it waits.
    ///
    /// # Errors
    /// A refusal of the daemon; an expired timeout.
    pub fn status(&self, timeout: Timeout<'_>) -> Result<Status> {
        let stream = self.number;
        match self.request(Request::Stream { stream }, timeout)? {
            Answer::Stream { stream } => Ok(stream),
            other => Err(unexpected("a stream's status", &other)),
        }
    }

    /// Set the total number of application data units (ADUs) of a stream that was submitted without
    /// one. It must be at least the number of sent ADUs. Waits for an active send.
    ///
    /// # Errors
    /// The number is too small; a refusal of the daemon; an expired timeout.
    pub fn finish(&self, adus: u64, timeout: Timeout<'_>) -> Result<()> {
        self.check_process()?;
        let stream = self.number;
        // Refuse a number below that of the ADUs sent so far. The daemon cannot check this: it
        // knows only the data that has arrived, and would discard the rest.
        let sent = {
            let pos = self.pos.take(timeout).map_err(|error| {
                describe(error, || {
                    format!("stream {stream}: another call is under way")
                })
            })?;
            pos.adu + u64::from(pos.tu > 0)
        };
        if adus < sent && self.direction == Direction::Transmit {
            return Err(Error::Misfit(format!(
                "stream {stream}: finish at {adus} ADUs, of which {sent} were sent: give {sent} or \
                 more, or cancel it"
            )));
        }
        self.request(Request::Finish { stream, adus }, timeout)?;
        *lock(&self.adus) = Some(adus);
        Ok(())
    }

    /// Cancel the stream. Data that has not been moved is lost.
    ///
    /// # Errors
    /// A refusal of the daemon; an expired timeout.
    pub fn cancel(&self, timeout: Timeout<'_>) -> Result<()> {
        let stream = self.number;
        self.request(Request::Cancel { stream }, timeout)?;
        self.cancelled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Wait until `adus` application data units (ADUs) of the stream are moved to the manager's
    /// memory or to the ranks.
    ///
    /// # Errors
    /// The stream ended before; a refusal of the daemon; an expired timeout.
    pub fn wait_moved(&self, adus: u64, timeout: Timeout<'_>) -> Result<Status> {
        self.wait_for(adus, true, timeout)
    }

    /// Wait until `adus` application data units (ADUs) of the stream are done according to the
    /// protocol of its connection.
    ///
    /// # Errors
    /// The stream ended before; a refusal of the daemon; an expired timeout.
    pub fn wait_done(&self, adus: u64, timeout: Timeout<'_>) -> Result<Status> {
        self.wait_for(adus, false, timeout)
    }

    /// Wait until `adus` application data units (ADUs) of the stream are moved or done.
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

    /// Wait for the end of the stream.
    ///
    /// # Errors
    /// The stream failed or was cancelled; a refusal of the daemon; an expired timeout.
    pub fn wait(&self, timeout: Timeout<'_>) -> Result<Status> {
        let pending = self.end(timeout)?;
        self.ended(self.answered(&pending, "its end", timeout)?)
    }

    /// Return the request to the daemon that is answered when the stream ends. It is sent only
    /// once, unless the daemon had too many requests.
    pub(crate) fn end(&self, timeout: Timeout<'_>) -> Result<Arc<Pending>> {
        self.check_process()?;
        let mut end = lock(&self.end);
        if let Some(pending) = &*end
            && !is_over_limit(pending.poll().as_ref())
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

    /// Check that the daemon has not reported the end of the stream as a failure, without waiting.
    ///
    /// # Errors
    /// The stream failed or was cancelled; the session is over.
    pub(crate) fn check_running(&self, timeout: Timeout<'_>) -> Result<()> {
        let asked = lock(&self.end).as_ref().map(|pending| pending.poll());
        let answer = match asked {
            Some(answer) if !is_over_limit(answer.as_ref()) => answer,
            _ => self.end(timeout)?.poll(),
        };
        match answer {
            None => Ok(()),
            // Continue: the daemon refused this request only because it has too many. The next call
            // sends it again.
            answer @ Some(Err(_)) if is_over_limit(answer.as_ref()) => Ok(()),
            Some(Ok(Answer::Stream { stream })) => self.ended(stream).map(|_| ()),
            Some(other) => other.map(|_| ()),
        }
    }

    /// Wait for the answer to a request that the daemon answers only once the stream has made
    /// progress. Each progress of the stream restarts the timeout. `what` names the request in
    /// errors.
    fn answered(&self, pending: &Pending, what: &str, timeout: Timeout<'_>) -> Result<Status> {
        // Wait for a quarter of the timeout before the current status is requested.
        let mut now = timeout.quarter();
        let mut before = None;
        loop {
            match pending.wait(now) {
                Ok(Answer::Stream { stream }) => return Ok(stream),
                Ok(other) => return Err(unexpected("a stream's status", &other)),
                Err(Error::TimedOut(_)) => {}
                Err(error) => return Err(error),
            }
            let status = self.status(Timeout::after(STATUS_TIMEOUT));
            let progress = status.as_ref().ok().map(progress);
            if progress.is_some() && progress != before {
                (before, now) = (progress, timeout.restarted());
                continue;
            }
            let (number, given, why) = (self.number, timeout.given(), explanation(status));
            return Err(Error::TimedOut(format!(
                "stream {number}: waited for {what}, and nothing moved for {given}{why}"
            )));
        }
    }

    /// Return the final status of a stream. Fails if the stream failed or was cancelled.
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

    /// Return the end of an error message: the state of the stream and the reasons why it waits.
    pub(crate) fn explanation(&self) -> String {
        explanation(self.status(Timeout::after(STATUS_TIMEOUT)))
    }

    /// Return the error of a link, or the error of the session if the daemon is gone.
    pub(crate) fn link_error(&self, link: u16, why: &str) -> Error {
        let gone = self.core.gone_by(Instant::now() + GONE_DELAY);
        gone.unwrap_or_else(|| Error::Link(link, why.to_owned()))
    }

    /// Cancel the stream after an error within an application data unit (ADU), and mark it as
    /// broken, as no later data can be correct.
    pub(crate) fn abort(&self, pos: &mut Position, why: &Error) {
        let adu = pos.adu;
        pos.broken = Some(format!(
            "left in the middle of ADU {adu} ({why}), and cancelled: submit another stream"
        ));
        self.cancel_without_reply();
    }

    /// Send a request to cancel the stream, without waiting for the answer.
    fn cancel_without_reply(&self) {
        let stream = self.number;
        // Ignore the result: if the request fails because the session is over, the stream has ended
        // anyway.
        let _ = self.core.ask(
            Request::Cancel { stream },
            false,
            Timeout::after(Duration::ZERO),
        );
    }

    /// Wait until no other call uses the stream, and lock the position of this process in the
    /// stream. `within` permits a position inside an application data unit (ADU); otherwise such a
    /// position is an error.
    pub(crate) fn lock_position(
        &self,
        direction: Direction,
        within: bool,
        timeout: Timeout<'_>,
    ) -> Result<TimedGuard<'_, Position>> {
        self.check_process()?;
        let number = self.number;
        if direction != self.direction {
            let (does, other) = match self.direction {
                Direction::Transmit => ("transmits", "sent"),
                Direction::Receive => ("receives", "received"),
            };
            let what = format!("stream {number} {does}: its ADUs are {other}");
            return Err(Error::Misfit(what));
        }
        let pos = self.pos.take(timeout).map_err(|error| {
            describe(error, || {
                format!("stream {number}: another call is under way")
            })
        })?;
        match &pos.broken {
            Some(why) => Err(Error::Stream(number, why.clone())),
            None if pos.tu > 0 && !within => {
                let (adu, tu) = (pos.adu, pos.tu);
                let what =
                    format!("stream {number}: {tu} TUs of ADU {adu} were moved: go on there");
                Err(Error::Misfit(what))
            }
            None => Ok(pos),
        }
    }
}

impl Drop for Stream {
    /// Cancel a received stream that has not ended.
    fn drop(&mut self) {
        if self.check_process().is_ok()
            && self.direction == Direction::Receive
            && lock(&self.core.registry).abandon(self.number)
        {
            self.cancel_without_reply();
        }
    }
}

/// Return the values of a status that change while a stream makes progress.
fn progress(status: &Status) -> (u64, u64, u64, String) {
    (
        status.moved,
        status.done,
        status.bytes,
        status.state.clone(),
    )
}

/// Return the end of an error message, as `status` gives it: the state of the stream and the
/// reasons why it waits.
fn explanation(status: Result<Status>) -> String {
    match status {
        Ok(status) if status.waits.is_empty() => format!("; it is {}", status.state),
        Ok(status) => format!("; it is {}: {}", status.state, status.waits.join("; ")),
        Err(error) => format!("; why is not known ({error})"),
    }
}

/// Return whether the request was refused because too many requests wait for answers.
fn is_over_limit(answer: Option<&Result<Answer>>) -> bool {
    matches!(answer, Some(Err(error)) if error.is_refused(RefusalKind::Limit))
}

/// Return the numbers of links as text for messages.
pub(crate) fn join_numbers(links: &[LinkId]) -> String {
    let words: Vec<String> = links.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// Return the error for an answer that is not `wanted`.
pub(crate) fn unexpected(wanted: &str, answer: &Answer) -> Error {
    Error::Garbled(format!(
        "the daemon answered {answer:?} where {wanted} was asked for"
    ))
}
