//! The state that a session's thread and its callers share.

use crate::error::{Error, Result, describe};
use crate::lasting::Lasting;
use crate::link::Link;
use crate::lock::{lock, wait_for_change};
use crate::pending::{Pending, RequestState};
use crate::registry::Registry;
use isthmus_nic_protocol::{
    Answer, Event, Message, Refusal, RefusalKind, Request, RequestLine, write,
};
use isthmus_wire::{Expired, Remote, Signal, Timeout, Transport};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// Maximum number of queued events; beyond it the oldest are dropped and counted.
pub(crate) const MAX_EVENTS: usize = 4096;
/// Bytes of queued requests above which a further request waits.
const MAX_UNSENT_BYTES: usize = 4 << 20;

/// The state that a session's thread and its callers share.
#[derive(Debug)]
pub(crate) struct Core {
    pub address: Remote,
    pub name: Arc<str>,
    /// ID of the process that created the session. Only that process has the session's thread and
    /// its links.
    process: u32,
    state: Mutex<State>,
    /// Notified when a request is answered or sent, and at the end of the session.
    changed: Condvar,
    /// Wakes the session's thread to send requests.
    pub wake: Signal,
    /// A signal whose descriptor is readable while there are events or answers to requests that
    /// `notices` reports, and when the session is over.
    pub notice: Signal,
    pub links: Mutex<BTreeMap<u16, Arc<Link>>>,
    pub registry: Mutex<Registry>,
    /// Lasting (reconnecting) links of this process by key, including links that are not open yet.
    /// The session passes them the daemon's reports about them.
    lasting: Mutex<BTreeMap<String, Weak<Lasting>>>,
}

/// The part of the state of a session with the daemon that a lock protects.
#[derive(Debug, Default)]
struct State {
    last_id: u64,
    unsent: VecDeque<Vec<u8>>,
    unsent_bytes: usize,
    requests: BTreeMap<u64, RequestState>,
    /// Links that this client releases, by the number of the request to release them. They stay
    /// open until the answer; otherwise the daemon would report a cut link.
    released: BTreeMap<u64, Arc<Link>>,
    events: VecDeque<Event>,
    missed: u64,
    /// Answered requests that `Core::notices` must report.
    ready: VecDeque<u64>,
    over: Option<Arc<str>>,
}

/// Create a signal (an eventfd) to wake a thread, not set.
fn signal() -> Result<Signal> {
    Signal::new()
        .map_err(|error| Error::Garbled(format!("a descriptor to wake a thread with: {error}")))
}

impl Core {
    /// Create the state of a session with the daemon at this address.
    pub fn new(address: Remote) -> Result<Self> {
        Ok(Self {
            name: address.to_string().into(),
            address,
            process: std::process::id(),
            state: Mutex::default(),
            changed: Condvar::new(),
            wake: signal()?,
            notice: signal()?,
            links: Mutex::default(),
            registry: Mutex::default(),
            lasting: Mutex::default(),
        })
    }

    /// Connect a socket to the daemon.
    pub fn connect(&self, timeout: Timeout<'_>) -> Result<Transport> {
        let connected = self.address.connect(timeout);
        connected.map_err(|error| match error {
            isthmus_wire::Error::Unreachable(why) => Error::Unreachable(self.name.to_string(), why),
            other => other.into(),
        })
    }

    /// Check that this process created the session. A forked child has no thread for the session
    /// and may find a lock locked forever. Every public call must check this first.
    ///
    /// # Errors
    /// [`Error::OtherProcess`].
    pub fn check_process(&self) -> Result<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(Error::OtherProcess(self.process)),
        }
    }

    /// Return the state, locked.
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Send a request and return its number. With `notify`, [`Core::notices`] reports the answer.
    pub fn ask(
        self: &Arc<Self>,
        request: Request,
        notify: bool,
        timeout: Timeout<'_>,
    ) -> Result<Pending> {
        self.check_process()?;
        let mut state = loop {
            let left = timeout.slice_left();
            let state = self.state();
            if state.unsent_bytes <= MAX_UNSENT_BYTES || state.over.is_some() {
                break state;
            }
            let what = || format!("{} takes no more requests", self.name);
            self.pause(state, left.map_err(|e| describe(e, what))?);
        };
        if let Some(why) = &state.over {
            return Err(Error::Gone(Arc::clone(&self.name), Arc::clone(why)));
        }
        state.last_id += 1;
        let id = state.last_id;
        let line = write(&RequestLine { id, request }).map_err(|error| Error::Misfit(error.0))?;
        state.unsent_bytes += line.len();
        state.unsent.push_back(line);
        state.requests.insert(id, RequestState::new(notify));
        self.wake.set();
        Ok(Pending::new(Arc::clone(self), id))
    }

    /// Register a lasting (reconnecting) link, so that it receives the daemon's reports about it.
    pub fn register(&self, link: &Arc<Lasting>) {
        let mut lasting = lock(&self.lasting);
        lasting.retain(|_, one| one.strong_count() > 0);
        lasting.insert(link.key.clone(), Arc::downgrade(link));
    }

    /// Send a small request to the daemon without waiting for room or for an answer.
    pub fn send(&self, request: Request) {
        if self.check_process().is_ok() {
            self.state().enqueue(request);
            self.wake.set();
        }
    }

    /// Ask the daemon to release a link, and keep its ends open until the answer.
    pub fn release(&self, lasting: &Lasting, ends: Option<Arc<Link>>) {
        if self.check_process().is_err() {
            return;
        }
        let request = Request::Unlink {
            link: lasting.number,
            key: lasting.key.clone(),
        };
        let mut state = self.state();
        if let Some((id, ends)) = state.enqueue(request).zip(ends) {
            state.released.insert(id, ends);
        }
        drop(state);
        self.wake.set();
    }

    /// Wait until the daemon has released every link with this number that the client has released.
    pub fn wait_released(&self, number: u16, timeout: Timeout<'_>) -> Result<()> {
        loop {
            let left = timeout.slice_left();
            let state = self.state();
            if state.released.values().all(|link| link.number != number) {
                return Ok(());
            }
            let what = || {
                let given = timeout.given();
                format!("{} has not let go of link {number} for {given}", self.name)
            };
            self.pause(state, left.map_err(|e| describe(e, what))?);
        }
    }

    /// Wait for a change of the session's state, at most for `left`. The caller must read `left`
    /// from its `Timeout` without the lock, as the callback of the timeout may wait for a thread
    /// that waits for the lock.
    fn pause(&self, state: MutexGuard<'_, State>, left: Duration) {
        drop(wait_for_change(&self.changed, state, left));
    }

    /// Wait for the answer of a request.
    pub fn answer(&self, id: u64, timeout: Timeout<'_>) -> Result<Answer> {
        self.check_process()?;
        loop {
            let left = timeout.slice_left();
            let state = self.state();
            if let Some(answer) = state.answer_of(id, &self.name) {
                return answer;
            }
            let what = || format!("{} has not answered for {}", self.name, timeout.given());
            self.pause(state, left.map_err(|e| describe(e, what))?);
        }
    }

    /// Return the answer to a request; `None` if it has not arrived yet.
    pub fn poll_answer(&self, id: u64) -> Option<Result<Answer>> {
        match self.check_process() {
            Ok(()) => self.state().answer_of(id, &self.name),
            Err(abroad) => Some(Err(abroad)),
        }
    }

    /// Forget a request and its answer: remove both from the state.
    pub fn forget(&self, id: u64) {
        if self.check_process().is_ok() {
            self.state().requests.remove(&id);
        }
    }

    /// Wait for an event of the daemon; None when `timeout` expires.
    pub fn event(&self, timeout: Timeout<'_>) -> Result<Option<Event>> {
        self.check_process()?;
        loop {
            let left = timeout.slice_left();
            let mut state = self.state();
            if let Some(event) = state.event() {
                return Ok(Some(event));
            }
            if let Some(why) = &state.over {
                return Err(Error::Gone(Arc::clone(&self.name), Arc::clone(why)));
            }
            match left {
                Ok(left) => self.pause(state, left),
                Err(Expired::TimedOut) => return Ok(None),
                Err(other) => return Err(other.into()),
            }
        }
    }

    /// Return the numbers of the requests that were answered since the last call, and the events.
    /// Clear the signal that announces them.
    pub fn notices(&self) -> (Vec<u64>, Vec<Event>) {
        if self.check_process().is_err() {
            return (Vec::new(), Vec::new());
        }
        self.notice.clear();
        let mut state = self.state();
        let answered = std::mem::take(&mut state.ready).into();
        let mut events = Vec::new();
        while let Some(event) = state.event() {
            events.push(event);
        }
        (answered, events)
    }

    /// Return the error that says why the session is over; None while the session is open.
    pub fn gone(&self) -> Option<Error> {
        if let Err(abroad) = self.check_process() {
            return Some(abroad);
        }
        let state = self.state();
        let why = state.over.as_ref()?;
        Some(Error::Gone(Arc::clone(&self.name), Arc::clone(why)))
    }

    /// Return the error that says why the session is over; None if it is still open at `until`.
    /// Wait for its end until then, because a link may detect the end of the daemon before the
    /// session does.
    pub fn gone_by(&self, until: Instant) -> Option<Error> {
        let mut state = self.state();
        loop {
            if let Some(why) = &state.over {
                return Some(Error::Gone(Arc::clone(&self.name), Arc::clone(why)));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            state = wait_for_change(&self.changed, state, left);
        }
    }

    /// End the session and wake all waiting calls.
    pub fn end(&self, why: &str) {
        if self.check_process().is_err() {
            return;
        }
        let mut state = self.state();
        if state.over.is_none() {
            state.over = Some(why.into());
        }
        state.unsent.clear();
        state.unsent_bytes = 0;
        let released = std::mem::take(&mut state.released);
        let State {
            requests, ready, ..
        } = &mut *state;
        let unanswered = |request: &RequestState| request.notify && request.answer.is_none();
        let unanswered_ids = requests.iter().filter(|(_, request)| unanswered(request));
        ready.extend(unanswered_ids.map(|(id, _)| *id));
        drop(state);
        drop(released);
        self.changed.notify_all();
        self.wake.set();
        self.notice.set();
        for link in lock(&self.links).values() {
            link.notify();
        }
    }

    /// Remove and return the next queued request, to write it to the socket; `None` if none is
    /// queued.
    pub fn next_unsent(&self) -> Option<Vec<u8>> {
        let mut state = self.state();
        let line = state.unsent.pop_front()?;
        state.unsent_bytes -= line.len();
        drop(state);
        self.changed.notify_all();
        Some(line)
    }

    /// Handle a message from the daemon.
    pub fn receive(&self, message: Message) -> std::result::Result<(), String> {
        match message {
            Message::Answer { id, answer } => self.set_answer(id, Ok(answer)),
            Message::Refused {
                id: Some(id),
                refusal,
            } => self.set_answer(id, Err(refusal)),
            Message::Refused { id: None, refusal } => return Err(refusal.text),
            Message::Event { event } => self.push_event(event),
            Message::Link { key, news, .. } => {
                let known = lock(&self.lasting).get(&key).and_then(Weak::upgrade);
                if let Some(link) = known {
                    link.on_news(&news);
                }
            }
        }
        Ok(())
    }

    /// Record the answer of a request, and wake the calls that wait for it.
    fn set_answer(&self, id: u64, answer: std::result::Result<Answer, Refusal>) {
        let mut state = self.state();
        let notify = state.set_answer(id, answer);
        // Close the released link before waiting calls continue.
        drop(state.released.remove(&id));
        drop(state);
        self.changed.notify_all();
        if notify {
            self.notice.set();
        }
    }

    /// Queue an event of the daemon; the oldest one is dropped if there are too many.
    fn push_event(&self, event: Event) {
        let mut state = self.state();
        if let Event::Missed { events } = event {
            state.missed += events;
        } else {
            if state.events.len() == MAX_EVENTS {
                state.events.pop_front();
                state.missed += 1;
            }
            state.events.push_back(event);
        }
        drop(state);
        self.changed.notify_all();
        self.notice.set();
    }
}

impl Drop for Core {
    /// Close the ends of links. In a forked child they stay open, as they belong to the parent.
    fn drop(&mut self) {
        if self.check_process().is_ok() {
            return;
        }
        if let Ok(links) = self.links.get_mut() {
            std::mem::forget(std::mem::take(links));
        }
        if let Ok(state) = self.state.get_mut() {
            std::mem::forget(std::mem::take(&mut state.released));
        }
    }
}

impl State {
    /// Queue a request unless the session is over. Returns its number.
    fn enqueue(&mut self, request: Request) -> Option<u64> {
        if self.over.is_some() {
            return None;
        }
        self.last_id += 1;
        let id = self.last_id;
        // Only short requests come here. A short request fits in a line, so the conversion to text
        // cannot fail.
        let line = write(&RequestLine { id, request }).unwrap_or_default();
        self.unsent_bytes += line.len();
        self.unsent.push_back(line);
        Some(id)
    }

    /// Record the answer of a request. Returns whether `Core::notices` must report it.
    fn set_answer(&mut self, id: u64, answer: std::result::Result<Answer, Refusal>) -> bool {
        // Ignore the answer if the caller has timed out and dropped the request.
        let Some(request) = self.requests.get_mut(&id) else {
            return false;
        };
        request.answer = Some(answer);
        if request.notify {
            self.ready.push_back(id);
        }
        request.notify
    }

    /// Return the answer of a request, with refusals as errors; `None` if it has not arrived yet.
    fn answer_of(&self, id: u64, name: &Arc<str>) -> Option<Result<Answer>> {
        match self
            .requests
            .get(&id)
            .and_then(|request| request.answer.clone())
        {
            // The session ended before the answer: return the error of the session.
            Some(Err(refusal)) if refusal.kind == RefusalKind::Ending && self.over.is_some() => {
                let why = self.over.as_ref()?;
                Some(Err(Error::Gone(Arc::clone(name), Arc::clone(why))))
            }
            Some(answer) => Some(answer.map_err(Error::Refused)),
            None => {
                let why = self.over.as_ref()?;
                Some(Err(Error::Gone(Arc::clone(name), Arc::clone(why))))
            }
        }
    }

    /// Remove and return the oldest event. If events were missed, first return an event with their
    /// number.
    fn event(&mut self) -> Option<Event> {
        match std::mem::take(&mut self.missed) {
            0 => self.events.pop_front(),
            events => Some(Event::Missed { events }),
        }
    }
}
