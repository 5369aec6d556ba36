//! A session: hello or join, links, requests.

use crate::core::Core;
use crate::error::{Error, Result, named};
use crate::link::Link;
use crate::lock::locked;
use crate::pending::Pending;
use crate::post;
use crate::renewing;
use crate::stream::strange;
use isthmus_nic_protocol::{
    Answer, Carrier, Event, Lines, Message, NumberedRequest, RefusalKind, Request, VERSION, read,
    write,
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

/// A ring that the daemon makes may be so much larger than what was asked for.
const RING_MOST: u64 = 1 << 30;
/// How long the daemon may take to see that a socket was closed, and the time between two looks.
const UNSEEN: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
/// How TLS begins an alert: a record of type 21, of some version 3 (RFC 8446, section 5.1).
const TLS_ALERT: [u8; 2] = [21, 3];
const CLOSED: &str = "it closed the socket";
/// How long descriptors of rings may take after the answer that announces them.
const DESCRIPTORS: Duration = Duration::from_secs(10);

/// What the daemon says of an application when it lets it in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Welcome {
    /// Its number.
    pub application: u32,
    /// What lets further processes of it in.
    pub ticket: String,
    /// The number of this session.
    pub session: u32,
    /// How long a link over TCP or TLS may be without its socket; zero: it is gone with that.
    pub link_grace: Duration,
    /// Version of isthmus that the daemon is of.
    pub isthmus: String,
    /// Bytes of staging memory that its active streams may have, in each direction.
    pub staging_bytes: u64,
    /// Bytes of network memory that its connections may have, in each direction.
    pub network_bytes: u64,
}

/// A session with a daemon. Dropped, it is over; the application of one that said hello ends with
/// it, and all of its streams.
#[derive(Debug)]
pub struct Session {
    pub(crate) core: Arc<Core>,
    welcome: Welcome,
    /// Links that this process let go, and when: the daemon may not have seen it yet.
    pub(crate) let_go: Mutex<BTreeMap<u16, Instant>>,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    /// Makes an application. `token` is the secret that lets in, where the daemon asks for one;
    /// `name` is for its logs and tables.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::Refused`], those of the timeout.
    pub fn connect(
        address: &Remote,
        token: Option<&str>,
        name: &str,
        timeout: Timeout<'_>,
    ) -> Result<Self> {
        Self::hello(address, token, name, false, timeout)
    }

    /// The same, and asks for events: [`Session::event`].
    ///
    /// # Errors
    /// As [`Session::connect`].
    pub fn watching(
        address: &Remote,
        token: Option<&str>,
        name: &str,
        timeout: Timeout<'_>,
    ) -> Result<Self> {
        Self::hello(address, token, name, true, timeout)
    }

    fn hello(
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

    /// Joins an application as a further process of it, by its ticket.
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

    fn begin(address: &Remote, request: Request, timeout: Timeout<'_>) -> Result<Self> {
        let core = Arc::new(Core::new(address.clone())?);
        let mut wire = core.connect(timeout)?;
        let mut lines = Lines::default();
        let mut piece = vec![0; 16 << 10];
        let told = first(&core.name, &mut wire, request, timeout, |wire, timeout| {
            let read = read_some(wire, &mut piece, timeout)?;
            if piece[..read].starts_with(&TLS_ALERT) {
                let why = "it speaks TLS; with TLS an address is tls:HOST:PORT";
                return Err(Error::Garbled(why.into()));
            }
            lines.push(&piece[..read]);
            let line = lines.take();
            line.map_err(|error| Error::Garbled(error.to_string()))
        })?;
        let welcome = match told {
            Answer::Welcome {
                application,
                ticket,
                session,
                link_grace_ns,
                isthmus,
                staging_bytes,
                network_bytes,
            } => Welcome {
                application,
                ticket,
                session,
                link_grace: Duration::from_nanos(link_grace_ns),
                isthmus,
                staging_bytes,
                network_bytes,
            },
            other => return Err(strange("to be let in", &other)),
        };
        let (of_thread, thread) = (Arc::clone(&core), std::thread::Builder::new());
        let thread = thread.name("nic-session".into());
        let thread = thread.spawn(move || post::run(&of_thread, wire, lines));
        let thread =
            thread.map_err(|error| Error::Garbled(format!("a thread of a session: {error}")))?;
        Ok(Self {
            core,
            welcome,
            let_go: Mutex::default(),
            thread: Some(thread),
        })
    }

    /// What the daemon said when it let this session in.
    #[must_use]
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Where the daemon is.
    #[must_use]
    pub fn address(&self) -> &Remote {
        &self.core.address
    }

    /// Whether the session is of this process. In one that was forked from it every call is refused
    /// at once, and what is dropped there is left as it is for the process that has it.
    ///
    /// # Errors
    /// [`Error::Abroad`].
    pub fn here(&self) -> Result<()> {
        self.core.here()
    }

    /// Makes a link of the application's to this process, which has none of its number, or has one
    /// that is gone.
    ///
    /// A link over TCP or TLS is made anew when its socket is cut, as long as the daemon lets it
    /// ([`Welcome::link_grace`]): nothing is lost, and calls that wait go on.
    ///
    /// # Errors
    /// Rings over anything but a Unix socket; what the daemon refuses; those of the timeout.
    pub fn link(&self, number: u16, carrier: Carrier, timeout: Timeout<'_>) -> Result<()> {
        self.link_for(number, carrier, Duration::MAX, timeout)
    }

    /// The same, of which a socket that is cut is waited for as long as `grace` at most; zero: the
    /// link is gone with its socket.
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
        self.here()?;
        if let Some(gone) = self.gone() {
            return Err(gone);
        }
        let grace = grace.min(self.welcome.link_grace);
        self.give_up_lost(number);
        if locked(&self.core.links).contains_key(&number) {
            let why = "this process has it: give it up to make another of its number";
            return Err(Error::Link(number, why.to_owned()));
        }
        self.core.left(number, timeout)?;
        let lasts = carrier == Carrier::Socket && !self.core.address.is_local();
        if lasts && !grace.is_zero() {
            let link = renewing::begin(&self.core, &self.welcome, number, grace, timeout)?;
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
        let let_go = locked(&self.let_go).remove(&number);
        let until = let_go.map_or_else(Instant::now, |at| at + UNSEEN);
        let (told, wire) = loop {
            let mut wire = self.core.connect(timeout)?;
            match ask_link(&self.core.name, &mut wire, request.clone(), timeout) {
                Ok(told) => break (told, wire),
                // It may not have seen yet that the one before is closed.
                Err(error) if error.is_refused(RefusalKind::Conflict) && Instant::now() < until => {
                    timeout.slice()?;
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(error),
            }
        };
        if told != Answer::Linked {
            return Err(strange("a link", &told));
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

    fn put(&self, link: Link) {
        let mut links = locked(&self.core.links);
        locked(&self.core.registry).link_gone(link.number);
        links.insert(link.number, Arc::new(link));
    }

    /// Numbers of the links of this process, ascending. Those that are known to be gone are left out; streams that
    /// were under way over them tell why.
    #[must_use]
    pub fn links(&self) -> Vec<u16> {
        if self.here().is_err() {
            return Vec::new();
        }
        let links = locked(&self.core.links);
        let there = links.values().filter(|link| !link.is_lost());
        there.map(|link| link.number).collect()
    }

    /// Gives the link of this number up if it is gone, as the daemon may wait for it still.
    fn give_up_lost(&self, number: u16) {
        let lost = {
            let mut links = locked(&self.core.links);
            match links.get(&number).is_some_and(|link| link.is_lost()) {
                true => links.remove(&number),
                false => return,
            }
        };
        self.given_up(number, lost);
    }

    /// Asks, and does not wait for the answer. `noticed`: [`Session::notices`] tells when it is
    /// there.
    ///
    /// # Errors
    /// A session that is over; a request that no line can hold; those of the timeout, while too
    /// many requests wait for the socket.
    pub fn ask(&self, request: Request, noticed: bool, timeout: Timeout<'_>) -> Result<Pending> {
        self.core.ask(request, noticed, timeout)
    }

    /// Asks and waits for the answer.
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

    /// Waits for the next event of a session that is watching; none if there is none in time.
    /// Those that nobody takes are dropped, the oldest first, and counted in an [`Event::Missed`].
    ///
    /// # Errors
    /// [`Error::Gone`], [`Error::Interrupted`].
    pub fn event(&self, timeout: Timeout<'_>) -> Result<Option<Event>> {
        self.core.event(timeout)
    }

    /// Numbers of requests that were to be noticed and are answered, and events. For loops that
    /// wait for many things: the session's descriptor is readable while there are any, or the
    /// session is over.
    #[must_use]
    pub fn notices(&self) -> (Vec<u64>, Vec<Event>) {
        self.core.notices()
    }

    /// Why the session is over; none while it is not.
    #[must_use]
    pub fn gone(&self) -> Option<Error> {
        self.core.gone()
    }

    /// Ends the session: who waits for it is told.
    pub fn end(&self) {
        if self.here().is_err() {
            return;
        }
        self.core.end("it was closed here");
        locked(&self.core.links).clear();
    }
}

impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.core.notice.as_fd()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            if self.here().is_err() {
                // There is none in this process, and its number may be another's.
                std::mem::forget(thread);
                return;
            }
            // It panics only where this crate is wrong, and has said so.
            let _ = thread.join();
        }
    }
}

/// Asks for a link on a socket, and takes the answer byte by byte: what is behind it is the link's.
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

/// Asks the first thing on a socket. `line` gives the first line of the answer, once it is there.
fn first(
    name: &str,
    wire: &mut Transport,
    request: Request,
    timeout: Timeout<'_>,
    mut line: impl FnMut(&mut Transport, Timeout<'_>) -> Result<Option<Vec<u8>>>,
) -> Result<Answer> {
    let failed = |error| match error {
        Error::Garbled(why) => Error::Unreachable(name.to_owned(), why),
        other => named(other, || {
            format!("{name} has not answered for {}", timeout.given())
        }),
    };
    let asked =
        write(&NumberedRequest { id: 0, request }).map_err(|error| Error::Misfit(error.0))?;
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
            "it tells events before it lets anybody in".into(),
        ))),
    }
}

/// Writes all, before the session has a thread.
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

/// Reads some, before the session has a thread.
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

fn garbled(error: io::Error) -> Error {
    Error::Garbled(error.to_string())
}

/// Receives the rings of a link: the one that is written here first.
fn rings(number: u16, from_rank: u64, to_rank: u64, wire: Transport) -> Result<Link> {
    let until = Instant::now() + DESCRIPTORS;
    let refused = |error: isthmus_ring::Error| Error::Link(number, error.to_string());
    let out = match from_rank {
        0 => None,
        _ => {
            let handles = Handles::receive(&wire, until).map_err(refused)?;
            Some(Producer::attach(handles, RING_MOST).map_err(refused)?)
        }
    };
    let into = match to_rank {
        0 => None,
        _ => {
            let handles = Handles::receive(&wire, until).map_err(refused)?;
            Some(Consumer::attach(handles, RING_MOST).map_err(refused)?)
        }
    };
    Ok(Link::rings(number, out, into, wire))
}
