//! What a session's thread and its callers share.

use crate::error::{Error, Result, named};
use crate::lasting::Lasting;
use crate::link::Link;
use crate::lock::{locked, waited};
use crate::pending::{Pending, Slot};
use crate::registry::Registry;
use isthmus_nic_protocol::{
    Answer, Event, Message, NumberedRequest, Refusal, RefusalKind, Request, write,
};
use isthmus_wire::{Expired, Remote, Timeout, Transport};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// Events that are kept until somebody takes them; the oldest give way, and are counted.
pub(crate) const EVENTS_MOST: usize = 4096;
/// Bytes of requests that wait for the socket, at most; who asks more waits.
const UNSENT_MOST: usize = 4 << 20;

/// What a session's thread and its callers share.
#[derive(Debug)]
pub(crate) struct Core {
    pub address: Remote,
    pub name: Arc<str>,
    /// The process that made it, of which its thread and its links are.
    process: u32,
    state: Mutex<State>,
    /// Something was answered or sent, or the session is over.
    changed: Condvar,
    /// Wakes the session's thread.
    pub wake: OwnedFd,
    /// Readable while an event is kept, a noticed request is answered, or the session is over.
    pub notice: OwnedFd,
    pub links: Mutex<BTreeMap<u16, Arc<Link>>>,
    pub registry: Mutex<Registry>,
    /// Links that last, those among them that are just being made, by their keys: of them the
    /// daemon tells.
    lasting: Mutex<BTreeMap<String, Weak<Lasting>>>,
}

#[derive(Debug, Default)]
struct State {
    asked: u64,
    unsent: VecDeque<Vec<u8>>,
    unsent_bytes: usize,
    slots: BTreeMap<u64, Slot>,
    /// Links that were given up, by the request that says so: they are closed when it is answered,
    /// as the daemon would take them for cut before.
    given_up: BTreeMap<u64, Arc<Link>>,
    events: VecDeque<Event>,
    missed: u64,
    /// Requests whose answer somebody wants to be told of, and that have one.
    noticed: VecDeque<u64>,
    over: Option<Arc<str>>,
}

fn bell() -> Result<OwnedFd> {
    let made = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
    made.map_err(|error| Error::Garbled(format!("a descriptor to wake a thread with: {error}")))
}

pub(crate) fn ring_bell(bell: &OwnedFd) {
    // It fails only where it rings already.
    let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
}

pub(crate) fn hush_bell(bell: &OwnedFd) {
    // It fails only where it does not ring.
    let _ = rustix::io::read(bell, &mut [0; 8]);
}

impl Core {
    pub fn new(address: Remote) -> Result<Self> {
        Ok(Self {
            name: address.to_string().into(),
            address,
            process: std::process::id(),
            state: Mutex::default(),
            changed: Condvar::new(),
            wake: bell()?,
            notice: bell()?,
            links: Mutex::default(),
            registry: Mutex::default(),
            lasting: Mutex::default(),
        })
    }

    /// Connects to the daemon.
    pub fn connect(&self, timeout: Timeout<'_>) -> Result<Transport> {
        let connected = self.address.connect(timeout);
        connected.map_err(|error| match error {
            isthmus_wire::Error::Unreachable(why) => Error::Unreachable(self.name.to_string(), why),
            other => other.into(),
        })
    }

    /// Whether this is the process that made it. In one that was forked from it there is no thread
    /// for it, and a lock may be held for ever: this is asked before all else.
    ///
    /// # Errors
    /// [`Error::Abroad`].
    pub fn here(&self) -> Result<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(Error::Abroad(self.process)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Sends a request. `noticed`: its answer is told by the bell, too.
    pub fn ask(
        self: &Arc<Self>,
        request: Request,
        noticed: bool,
        timeout: Timeout<'_>,
    ) -> Result<Pending> {
        self.here()?;
        let mut state = loop {
            let left = timeout.slice_left();
            let state = self.state();
            if state.unsent_bytes <= UNSENT_MOST || state.over.is_some() {
                break state;
            }
            let what = || format!("{} takes no more requests", self.name);
            self.pause(state, left.map_err(|e| named(e, what))?);
        };
        if let Some(why) = &state.over {
            return Err(Error::Gone(Arc::clone(&self.name), Arc::clone(why)));
        }
        state.asked += 1;
        let id = state.asked;
        let line =
            write(&NumberedRequest { id, request }).map_err(|error| Error::Misfit(error.0))?;
        state.unsent_bytes += line.len();
        state.unsent.push_back(line);
        state.slots.insert(id, Slot::waiting(noticed));
        ring_bell(&self.wake);
        Ok(Pending::new(Arc::clone(self), id))
    }

    /// A link is to be told what the daemon says of it.
    pub fn tell_of(&self, link: &Arc<Lasting>) {
        let mut lasting = locked(&self.lasting);
        lasting.retain(|_, one| one.strong_count() > 0);
        lasting.insert(link.key.clone(), Arc::downgrade(link));
    }

    /// Says something of which no answer is wanted, and never waits: what is said so is little.
    pub fn tell(&self, request: Request) {
        if self.here().is_ok() {
            self.state().say(request);
            ring_bell(&self.wake);
        }
    }

    /// Says that a link is given up, and holds its ends until that is answered.
    pub fn give_up(&self, lasting: &Lasting, ends: Option<Arc<Link>>) {
        if self.here().is_err() {
            return;
        }
        let request = Request::Unlink {
            link: lasting.number,
            key: lasting.key.clone(),
        };
        let mut state = self.state();
        if let Some((id, ends)) = state.say(request).zip(ends) {
            state.given_up.insert(id, ends);
        }
        drop(state);
        ring_bell(&self.wake);
    }

    /// Waits until the daemon knows that the last link of this number was given up, if it was.
    pub fn left(&self, number: u16, timeout: Timeout<'_>) -> Result<()> {
        loop {
            let left = timeout.slice_left();
            let state = self.state();
            if state.given_up.values().all(|link| link.number != number) {
                return Ok(());
            }
            let what = || {
                let given = timeout.given();
                format!("{} has not let go of link {number} for {given}", self.name)
            };
            self.pause(state, left.map_err(|e| named(e, what))?);
        }
    }

    /// Waits a little for something to change. How long was asked before the lock was taken: who
    /// says so may wait for somebody who waits for the lock.
    fn pause(&self, state: MutexGuard<'_, State>, left: Duration) {
        drop(waited(&self.changed, state, left));
    }

    /// Waits for the answer of a request.
    pub fn answer(&self, id: u64, timeout: Timeout<'_>) -> Result<Answer> {
        self.here()?;
        loop {
            let left = timeout.slice_left();
            let state = self.state();
            if let Some(answer) = state.look(id, &self.name) {
                return answer;
            }
            let what = || format!("{} has not answered for {}", self.name, timeout.given());
            self.pause(state, left.map_err(|e| named(e, what))?);
        }
    }

    /// The answer of a request, if it is there.
    pub fn answered(&self, id: u64) -> Option<Result<Answer>> {
        match self.here() {
            Ok(()) => self.state().look(id, &self.name),
            Err(abroad) => Some(Err(abroad)),
        }
    }

    /// Forgets a request: its answer is not wanted any more.
    pub fn forget(&self, id: u64) {
        if self.here().is_ok() {
            self.state().slots.remove(&id);
        }
    }

    /// Waits until an event is there and takes it; none at the end of `timeout`.
    pub fn event(&self, timeout: Timeout<'_>) -> Result<Option<Event>> {
        self.here()?;
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

    /// What the bell rings for: requests that are answered, and events. It is silent then.
    pub fn notices(&self) -> (Vec<u64>, Vec<Event>) {
        if self.here().is_err() {
            return (Vec::new(), Vec::new());
        }
        hush_bell(&self.notice);
        let mut state = self.state();
        let answered = std::mem::take(&mut state.noticed).into();
        let mut events = Vec::new();
        while let Some(event) = state.event() {
            events.push(event);
        }
        (answered, events)
    }

    /// The error of a session that is over; none while it is not.
    pub fn gone(&self) -> Option<Error> {
        if let Err(abroad) = self.here() {
            return Some(abroad);
        }
        let state = self.state();
        let why = state.over.as_ref()?;
        Some(Error::Gone(Arc::clone(&self.name), Arc::clone(why)))
    }

    /// The same, waiting a little: of two sockets that the daemon's end closes, either may be seen
    /// first.
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
            state = waited(&self.changed, state, left);
        }
    }

    /// Ends the session: all who wait are told.
    pub fn end(&self, why: &str) {
        if self.here().is_err() {
            return;
        }
        let mut state = self.state();
        if state.over.is_none() {
            state.over = Some(why.into());
        }
        state.unsent.clear();
        state.unsent_bytes = 0;
        let given_up = std::mem::take(&mut state.given_up);
        let State { slots, noticed, .. } = &mut *state;
        let unanswered = |slot: &Slot| slot.noticed && slot.answer.is_none();
        let untold = slots.iter().filter(|(_, slot)| unanswered(slot));
        noticed.extend(untold.map(|(id, _)| *id));
        drop(state);
        drop(given_up);
        self.changed.notify_all();
        ring_bell(&self.wake);
        ring_bell(&self.notice);
        for link in locked(&self.links).values() {
            link.notify();
        }
    }

    /// The next request for the socket.
    pub fn next_unsent(&self) -> Option<Vec<u8>> {
        let mut state = self.state();
        let line = state.unsent.pop_front()?;
        state.unsent_bytes -= line.len();
        drop(state);
        self.changed.notify_all();
        Some(line)
    }

    /// Takes in what the daemon told.
    pub fn hear(&self, told: Message) -> std::result::Result<(), String> {
        match told {
            Message::Answer { id, answer } => self.put(id, Ok(answer)),
            Message::Refused {
                id: Some(id),
                refusal,
            } => self.put(id, Err(refusal)),
            Message::Refused { id: None, refusal } => return Err(refusal.text),
            Message::Event { event } => self.keep(event),
            Message::Link { key, news, .. } => {
                let known = locked(&self.lasting).get(&key).and_then(Weak::upgrade);
                if let Some(link) = known {
                    link.hear(&news);
                }
            }
        }
        Ok(())
    }

    /// Gives an answer to who asked.
    fn put(&self, id: u64, answer: std::result::Result<Answer, Refusal>) {
        let mut state = self.state();
        let rings = state.put(id, answer);
        // Closed before who waits for that looks again.
        drop(state.given_up.remove(&id));
        drop(state);
        self.changed.notify_all();
        if rings {
            ring_bell(&self.notice);
        }
    }

    fn keep(&self, event: Event) {
        let mut state = self.state();
        if let Event::Missed { events } = event {
            state.missed += events;
        } else {
            if state.events.len() == EVENTS_MOST {
                state.events.pop_front();
                state.missed += 1;
            }
            state.events.push_back(event);
        }
        drop(state);
        self.changed.notify_all();
        ring_bell(&self.notice);
    }
}

impl Drop for Core {
    /// In a process that was forked, the ends of links are left as they are: they are another's.
    fn drop(&mut self) {
        if self.here().is_ok() {
            return;
        }
        if let Ok(links) = self.links.get_mut() {
            std::mem::forget(std::mem::take(links));
        }
        if let Ok(state) = self.state.get_mut() {
            std::mem::forget(std::mem::take(&mut state.given_up));
        }
    }
}

impl State {
    /// Puts a request among those that go out, if the session is not over; its number.
    fn say(&mut self, request: Request) -> Option<u64> {
        if self.over.is_some() {
            return None;
        }
        self.asked += 1;
        let id = self.asked;
        // A line of a few words is written.
        let line = write(&NumberedRequest { id, request }).unwrap_or_default();
        self.unsent_bytes += line.len();
        self.unsent.push_back(line);
        Some(id)
    }

    /// Gives an answer to who asked; whether somebody wants to be told by the bell.
    fn put(&mut self, id: u64, answer: std::result::Result<Answer, Refusal>) -> bool {
        // Who asked may have lost timeout.
        let Some(slot) = self.slots.get_mut(&id) else {
            return false;
        };
        slot.answer = Some(answer);
        if slot.noticed {
            self.noticed.push_back(id);
        }
        slot.noticed
    }

    fn look(&self, id: u64, name: &Arc<str>) -> Option<Result<Answer>> {
        match self.slots.get(&id).and_then(|slot| slot.answer.clone()) {
            // What it cut when it ended.
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

    /// The oldest event; that some are missing comes first.
    fn event(&mut self) -> Option<Event> {
        match std::mem::take(&mut self.missed) {
            0 => self.events.pop_front(),
            events => Some(Event::Missed { events }),
        }
    }
}
