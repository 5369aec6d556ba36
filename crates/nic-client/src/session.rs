//! A session with the daemon: its creation, its links and its requests.

use crate::core::Core;
use crate::error::{Error, Result, describe};
use crate::io_thread;
use crate::link::Link;
use crate::lock::lock;
use crate::pending::Pending;
use crate::reconnect;
use crate::stream::unexpected;
use isthmus_nic_protocol::{
    Answer, Carrier, Event, Lines, Message, RefusalKind, Request, RequestLine, VERSION, Welcome,
    read, write,
};
use isthmus_ring::{Consumer, Handles, Producer};
use isthmus_wire::{Moved, Remote, Timeout, Transport, wait_ready};
use rustix::event::PollFlags;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum size in bytes of a shared-memory ring that the client accepts from the daemon.
const MAX_RING_BYTES: u64 = 1 << 30;
/// Time for which the client waits at most until the daemon has noticed that a socket was closed.
const CLOSE_DELAY: Duration = Duration::from_secs(5);
/// The pause between two attempts to create a link.
const PAUSE: Duration = Duration::from_millis(10);
/// The start of a TLS alert: a record of type 21, major version 3 (RFC 8446, section 5.1).
const TLS_ALERT: [u8; 2] = [21, 3];
/// The message in the error of a socket that the daemon closed.
const CLOSED: &str = "it closed the socket";
/// Time within which the descriptors of rings must arrive after the answer that announces them.
const DESCRIPTORS: Duration = Duration::from_secs(10);

/// A session with a daemon. Dropping the session ends it. If the session created the application,
/// the application ends with it, with all its streams.
#[derive(Debug)]
pub struct Session {
    pub(crate) core: Arc<Core>,
    welcome: Welcome,
    /// Maps the number of each link that this process has released to the time of the release. The
    /// daemon may not have noticed the release yet.
    pub(crate) release: Mutex<BTreeMap<u16, Instant>>,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    /// Create an application. `token` is the daemon's secret, if it requires one; `name` is for its
    /// logs and tables. With `watch`, the session receives events ([`Session::event`]).
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::Refused`], an expired timeout.
    pub fn connect(
        address: &Remote,
        token: Option<&str>,
        name: &str,
        watch: bool,
        timeout: Timeout<'_>,
    ) -> Result<Self> {
        let request = Request::Hello {
            version: VERSION,
            token: token.map(str::to_owned),
            name: name.to_owned(),
            operator: false,
            watch,
        };
        Self::begin(address, request, timeout)
    }

    /// Join an application as a further process. `ticket` is the secret text that the application's first session
    /// received from the daemon.
    ///
    /// # Errors
    /// As [`Session::connect`].
    pub fn join(address: &Remote, ticket: &str, watch: bool, timeout: Timeout<'_>) -> Result<Self> {
        let request = Request::Join {
            version: VERSION,
            ticket: ticket.to_owned(),
            watch,
        };
        Self::begin(address, request, timeout)
    }

    /// Connect to the daemon, send the request that creates the session, and start the session's thread.
    fn begin(address: &Remote, request: Request, timeout: Timeout<'_>) -> Result<Self> {
        let core = Arc::new(Core::new(address.clone())?);
        let mut wire = core.connect(timeout)?;
        let mut lines = Lines::default();
        let mut piece = vec![0; 16 << 10];
        let message = first(&core.name, &mut wire, request, timeout, |wire, timeout| {
            let read = read_some(wire, &mut piece, timeout)?;
            if piece[..read].starts_with(&TLS_ALERT) {
                let why = "it speaks TLS; with TLS an address is tls:HOST:PORT";
                return Err(Error::Garbled(why.into()));
            }
            lines.push(&piece[..read]);
            let line = lines.take();
            line.map_err(|error| Error::Garbled(error.to_string()))
        })?;
        let welcome = match message {
            Answer::Welcome(welcome) => welcome,
            other => return Err(unexpected("to be let in", &other)),
        };
        let (of_thread, thread) = (Arc::clone(&core), std::thread::Builder::new());
        let thread = thread.name("nic-session".into());
        let thread = thread.spawn(move || io_thread::run(&of_thread, wire, lines));
        let thread =
            thread.map_err(|error| Error::Garbled(format!("a thread of a session: {error}")))?;
        Ok(Self {
            core,
            welcome,
            release: Mutex::default(),
            thread: Some(thread),
        })
    }

    /// Return the daemon's welcome: its answer to the request that created the session.
    #[must_use]
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Check that the session belongs to this process. In a forked child every call fails at once,
    /// and dropping the session there does not affect the session of the parent.
    ///
    /// # Errors
    /// [`Error::OtherProcess`].
    pub fn check_process(&self) -> Result<()> {
        self.core.check_process()
    }

    /// Create a link between the application and this process. The process must not have a working
    /// link of that number.
    ///
    /// A link over TCP or TLS reconnects when its socket is cut, if the daemon allows it
    /// ([`Welcome::link_grace_ns`]): no data is lost, and waiting calls continue.
    ///
    /// # Errors
    /// Rings without a Unix socket; a refusal of the daemon; an expired timeout.
    pub fn link(&self, number: u16, carrier: Carrier, timeout: Timeout<'_>) -> Result<()> {
        self.link_for(number, carrier, Duration::MAX, timeout)
    }

    /// Create a link with this number. If it loses its socket, it tries to reconnect for at most `grace`;
    /// if `grace` is zero, it ends.
    ///
    /// # Errors
    /// As [`Session::link`].
    pub fn link_for(
        &self,
        number: u16,
        carrier: Carrier,
        grace: Duration,
        timeout: Timeout<'_>,
    ) -> Result<()> {
        self.check_process()?;
        if let Some(gone) = self.gone() {
            return Err(gone);
        }
        let grace = grace.min(Duration::from_nanos(self.welcome.link_grace_ns));
        self.give_up_lost(number);
        if lock(&self.core.links).contains_key(&number) {
            let why = "this process has it: give it up to make another of its number";
            return Err(Error::Link(number, why.to_owned()));
        }
        self.core.wait_released(number, timeout)?;
        let lasts = carrier == Carrier::Socket && !self.core.address.is_local();
        if lasts && !grace.is_zero() {
            let link = reconnect::open(&self.core, &self.welcome, number, grace, timeout)?;
            self.put(Link::lasting(link));
            return Ok(());
        }
        let request = Request::Link {
            version: VERSION,
            ticket: self.welcome.ticket.clone(),
            link: number,
            carrier,
            lasting: None,
        };
        if matches!(carrier, Carrier::Rings { .. }) && !self.core.address.is_local() {
            let why = "rings go over a Unix socket only: ask for a socket as its carrier";
            return Err(Error::Link(number, why.to_owned()));
        }
        let release = lock(&self.release).remove(&number);
        let until = release.map_or_else(Instant::now, |at| at + CLOSE_DELAY);
        let (message, wire) = loop {
            let mut wire = self.core.connect(timeout)?;
            match ask_link(&self.core.name, &mut wire, request.clone(), timeout) {
                Ok(message) => break (message, wire),
                // Try again: the daemon may not have detected yet that the earlier link is closed.
                Err(error) if error.is_refused(RefusalKind::Conflict) && Instant::now() < until => {
                    timeout.slice()?;
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(error),
            }
        };
        if message != Answer::Linked {
            return Err(unexpected("a link", &message));
        }
        let link = match carrier {
            Carrier::Socket => Link::socket(number, wire)
                .map_err(|error| Error::Link(number, error.to_string()))?,
            Carrier::Rings {
                from_rank_bytes,
                to_rank_bytes,
            } => rings(number, from_rank_bytes, to_rank_bytes, wire)?,
        };
        self.put(link);
        Ok(())
    }

    /// Add an open link to the session's list of this process's links.
    fn put(&self, link: Link) {
        let mut links = lock(&self.core.links);
        lock(&self.core.registry).link_gone(link.number);
        links.insert(link.number, Arc::new(link));
    }

    /// Return the numbers of the links of this process in ascending order. Links that are known to be
    /// broken are left out; streams over such a link return an error that names the reason.
    #[must_use]
    pub fn links(&self) -> Vec<u16> {
        if self.check_process().is_err() {
            return Vec::new();
        }
        let links = lock(&self.core.links);
        let there = links.values().filter(|link| !link.is_lost());
        there.map(|link| link.number).collect()
    }

    /// Release the link of this number if its connection is lost, so that the daemon does not wait for
    /// it to reconnect.
    fn give_up_lost(&self, number: u16) {
        let lost = {
            let mut links = lock(&self.core.links);
            match links.get(&number).is_some_and(|link| link.is_lost()) {
                true => links.remove(&number),
                false => return,
            }
        };
        self.finish_release(number, lost);
    }

    /// Send a request without waiting for the answer. With `notify`, [`Session::notices`] reports
    /// the answer.
    ///
    /// # Errors
    /// A session that is over; a request that is too long for a line; a timeout that expires while
    /// too many requests are queued.
    pub fn ask(&self, request: Request, notify: bool, timeout: Timeout<'_>) -> Result<Pending> {
        self.core.ask(request, notify, timeout)
    }

    /// Send a request and wait for the answer.
    ///
    /// # Errors
    /// As [`Session::ask`]; [`Error::Refused`].
    pub fn request(&self, request: Request, timeout: Timeout<'_>) -> Result<Answer> {
        let closes = match request {
            Request::Close { connection } => Some(connection),
            _ => None,
        };
        let answer = self.core.ask(request, false, timeout)?.wait(timeout);
        match (answer, closes) {
            (Err(Error::TimedOut(what)), Some(connection)) => {
                Err(Error::TimedOut(what + &self.why_not_closed(connection)))
            }
            (answer, _) => answer,
        }
    }

    /// Wait for the next event of a session that was created with `watch`; None if none arrives in
    /// time. If events are not read, the oldest are dropped, and counted in an [`Event::Missed`].
    ///
    /// # Errors
    /// [`Error::Gone`], [`Error::Interrupted`].
    pub fn event(&self, timeout: Timeout<'_>) -> Result<Option<Event>> {
        self.core.event(timeout)
    }

    /// Return what has arrived since the last call: the numbers of the answered requests that were sent
    /// with `notify`, and the events. Event loops call this when the session's descriptor is readable:
    /// while anything is left to report, or when the session is over.
    #[must_use]
    pub fn notices(&self) -> (Vec<u64>, Vec<Event>) {
        self.core.notices()
    }

    /// Return the error of a session that is over; None if the session is open.
    #[must_use]
    pub fn gone(&self) -> Option<Error> {
        self.core.gone()
    }

    /// End the session. Waiting calls return [`Error::Gone`].
    pub fn end(&self) {
        if self.check_process().is_err() {
            return;
        }
        self.core.end("it was closed here");
        lock(&self.core.links).clear();
    }
}

impl AsFd for Session {
    /// Return the descriptor that is readable while [`Session::notices`] has something to report.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.core.notice.as_fd()
    }
}

impl Drop for Session {
    /// End the session and wait for its thread.
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            if self.check_process().is_err() {
                // Do not join the thread in a forked child: it does not run there, and its identifier
                // may belong to another thread.
                std::mem::forget(thread);
                return;
            }
            // Ignore a panic of the thread: it is a bug, and the thread has printed it.
            let _ = thread.join();
        }
    }
}

/// Request a link over a new socket to the daemon, and return the answer. The answer is read byte by
/// byte, because the bytes that follow it are data of the link.
pub(crate) fn ask_link(
    name: &str,
    wire: &mut Transport,
    request: Request,
    timeout: Timeout<'_>,
) -> Result<Answer> {
    let mut line = Vec::new();
    first(name, wire, request, timeout, |wire, timeout| {
        let mut byte = [0];
        read_some(wire, &mut byte, timeout)?;
        Ok(match byte {
            [b'\n'] => Some(std::mem::take(&mut line)),
            [byte] => {
                line.push(byte);
                None
            }
        })
    })
}

/// Send the first request of a connection to the daemon and return the answer. `line` is the function
/// that reads the answer from the socket. It returns the line once it is complete, and `None` before.
fn first(
    name: &str,
    wire: &mut Transport,
    request: Request,
    timeout: Timeout<'_>,
    mut line: impl FnMut(&mut Transport, Timeout<'_>) -> Result<Option<Vec<u8>>>,
) -> Result<Answer> {
    let failed = |error| match error {
        Error::Garbled(why) => Error::Unreachable(name.to_owned(), why),
        other => describe(other, || {
            format!("{name} has not answered for {}", timeout.given())
        }),
    };
    let asked = write(&RequestLine { id: 0, request }).map_err(|error| Error::Misfit(error.0))?;
    write_all(wire, &asked, timeout).map_err(failed)?;
    let line = loop {
        if let Some(line) = line(wire, timeout).map_err(failed)? {
            break line;
        }
    };
    match read(&line).map_err(|error| failed(Error::Garbled(error.to_string())))? {
        Message::Answer { answer, .. } => Ok(answer),
        Message::Refused { refusal, .. } => Err(Error::Refused(refusal)),
        Message::Event { .. } | Message::Link { .. } => Err(failed(Error::Garbled(
            "it reports events before it lets anybody in".into(),
        ))),
    }
}

/// Write all bytes to the socket, or return an error at the timeout. Used while the session has no thread for
/// this yet.
fn write_all(wire: &mut Transport, mut bytes: &[u8], timeout: Timeout<'_>) -> Result<()> {
    while !bytes.is_empty() {
        match wire.write(bytes).map_err(garbled)? {
            Moved::Some(written) => bytes = &bytes[written..],
            Moved::None => _ = wait_ready(&*wire, PollFlags::OUT, timeout.slice()?),
            Moved::End => return Err(Error::Garbled(CLOSED.into())),
        }
    }
    Ok(())
}

/// Wait until bytes arrive at the socket, read them, and return their number. Used while the session has
/// no thread for this yet.
fn read_some(wire: &mut Transport, bytes: &mut [u8], timeout: Timeout<'_>) -> Result<usize> {
    loop {
        match wire.read(bytes).map_err(garbled)? {
            Moved::Some(read) => return Ok(read),
            Moved::None => {
                wire.flush().map_err(garbled)?;
                wait_ready(&*wire, wire.read_flags(), timeout.slice()?);
            }
            Moved::End => return Err(Error::Garbled(CLOSED.into())),
        }
    }
}

/// Convert an I/O error of the connection to [`Error::Garbled`], the error for an invalid answer of the daemon.
fn garbled(error: io::Error) -> Error {
    Error::Garbled(error.to_string())
}

/// Receive the shared-memory rings of a link over its socket and return the link: first the ring that this
/// process writes, then the ring that it reads. A direction with a size of 0 bytes has no ring.
fn rings(number: u16, from_rank: u64, to_rank: u64, wire: Transport) -> Result<Link> {
    let until = Instant::now() + DESCRIPTORS;
    let refused = |error: isthmus_ring::Error| Error::Link(number, error.to_string());
    let out = match from_rank {
        0 => None,
        _ => {
            let handles = Handles::receive(&wire, until).map_err(refused)?;
            Some(Producer::attach(handles, MAX_RING_BYTES).map_err(refused)?)
        }
    };
    let into = match to_rank {
        0 => None,
        _ => {
            let handles = Handles::receive(&wire, until).map_err(refused)?;
            Some(Consumer::attach(handles, MAX_RING_BYTES).map_err(refused)?)
        }
    };
    Ok(Link::rings(number, out, into, wire))
}
