//! Links over TCP and TLS that are made anew when their socket is cut.
//!
//! Who sends and who receives share a [`Lasting`]: each half has its socket, none while the link is
//! cut, and counts its bytes over all sockets. Whoever finds the socket broken, or hears it from the
//! daemon, has a thread make another one; those who wait for the link go on with that. The thread
//! also writes again what the daemon has not received, as nobody else may be there to do it.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::lock::{locked, waited};
use crate::patience::Patience;
use crate::session::{Welcome, ask_link};
use crate::stream::strange;
use crate::wire::{Wire, ready};
use isthmus_nic_protocol::{
    self as words, Answer, Carrier, LinkNews, RefusalKind, Request, VERSION,
};
use isthmus_stream_net::unconfirmed::{CONFIRM_BYTES, UNCONFIRMED_BYTES, Unconfirmed};
use rustix::event::PollFlags;
use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::{Duration, Instant};

/// How long is waited after an attempt, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// How long one attempt may take, so that one that the path swallows is not the last.
const ATTEMPT: Duration = Duration::from_secs(5);
/// How long the thread that writes again sleeps at a time.
const SLICE: Duration = Duration::from_millis(100);

/// A link that outlasts its sockets.
#[derive(Debug)]
pub(crate) struct Lasting {
    pub number: u16,
    ticket: String,
    session: u32,
    /// What shows that the link is this process's.
    pub key: String,
    grace: Duration,
    core: Weak<Core>,
    /// Locked before `out`, and that before `into`.
    fate: Mutex<Fate>,
    out: Mutex<Outgoing>,
    /// Another socket, room, or the end.
    out_changed: Condvar,
    into: Mutex<Incoming>,
    /// Another socket, or the end.
    into_changed: Condvar,
}

/// What becomes of the link.
#[derive(Debug, Default)]
struct Fate {
    /// The number of the socket that there is, or was last.
    nth: u32,
    /// The number of the socket that was asked for last.
    asked: u32,
    /// The last socket that the daemon has told to be cut: it may tell so before its answer to
    /// who makes that socket is there.
    told_cut: u32,
    /// Whether a thread makes another one.
    mending: bool,
    /// Why there will be no other.
    lost: Option<String>,
}

#[derive(Debug)]
struct Outgoing {
    socket: Option<Numbered>,
    kept: Unconfirmed,
}

#[derive(Debug, Default)]
struct Incoming {
    socket: Option<Numbered>,
    /// Bytes over all sockets, and how many of them were confirmed.
    received: u64,
    confirmed: u64,
}

/// A socket that does not block, and its number.
#[derive(Clone, Debug)]
struct Numbered {
    nth: u32,
    socket: Arc<Socket>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    /// To a thread that speaks TLS.
    Unix(UnixStream),
}

impl Socket {
    fn of(wire: Wire) -> io::Result<Self> {
        Ok(match wire {
            Wire::Tcp(socket) => Self::Tcp(socket),
            Wire::Unix(socket) => Self::Unix(socket),
            Wire::Tls(tls) => Self::Unix(tls.joined()?),
        })
    }

    /// Reads what is there; none if that is nothing now, 0 at the end.
    fn read(&self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        settled(|| match self {
            Self::Tcp(socket) => (&mut &*socket).read(bytes),
            Self::Unix(socket) => (&mut &*socket).read(bytes),
        })
    }

    /// Writes what fits; none if that is nothing now.
    fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        settled(|| match self {
            Self::Tcp(socket) => (&mut &*socket).write_vectored(parts),
            Self::Unix(socket) => (&mut &*socket).write_vectored(parts),
        })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

fn settled(mut attempt: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match attempt() {
            Ok(moved) => return Ok(Some(moved)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What a look at the half that is written found.
enum Flushed {
    /// Nothing is to be written.
    All,
    /// The socket takes nothing now.
    Full(Numbered),
    /// There is no socket.
    Cut,
    /// The socket of this number is broken: why.
    Broken(u32, String),
}

impl Outgoing {
    fn flush(&mut self) -> Flushed {
        while self.kept.is_pending() {
            let Some(numbered) = &self.socket else {
                return Flushed::Cut;
            };
            let parts = self.kept.pending().map(IoSlice::new);
            let why = match numbered.socket.write(&parts) {
                Ok(Some(0)) => "it takes nothing".into(),
                Ok(Some(written)) => {
                    self.kept.wrote(written);
                    continue;
                }
                Ok(None) => return Flushed::Full(numbered.clone()),
                Err(error) => error.to_string(),
            };
            let nth = numbered.nth;
            self.socket = None;
            return Flushed::Broken(nth, why);
        }
        Flushed::All
    }
}

/// A socket over which the daemon has answered.
struct Answered {
    nth: u32,
    answer: Answer,
    wire: Wire,
}

/// Why an attempt to make a socket came to nothing.
enum Failed {
    /// Another one may go better.
    Now(String),
    /// None will.
    Ever(String),
}

impl Lasting {
    /// A link of this session without a socket.
    ///
    /// # Errors
    /// A system without random bits.
    pub fn new(
        core: &Arc<Core>,
        welcome: &Welcome,
        number: u16,
        grace: Duration,
    ) -> Result<Arc<Self>> {
        let mut bits = [0; 16];
        let flags = rustix::rand::GetRandomFlags::empty();
        if !matches!(rustix::rand::getrandom(&mut bits[..], flags), Ok(16)) {
            let why = "the system gives no random bits for its key: try again";
            return Err(Error::Link(number, why.into()));
        }
        let link = Arc::new(Self {
            number,
            ticket: welcome.ticket.clone(),
            session: welcome.session,
            key: bits.iter().map(|byte| format!("{byte:02x}")).collect(),
            grace,
            core: Arc::downgrade(core),
            fate: Mutex::default(),
            out: Mutex::new(Outgoing {
                socket: None,
                kept: Unconfirmed::new(UNCONFIRMED_BYTES),
            }),
            out_changed: Condvar::new(),
            into: Mutex::default(),
            into_changed: Condvar::new(),
        });
        core.tell_of(&link);
        Ok(link)
    }

    /// Makes the first socket. One that is cut before it was answered is tried again.
    ///
    /// # Errors
    /// No daemon there; what it refuses; those of the patience. The daemon is told that the link is
    /// given up: it may have made it, and would keep its number for the time of grace.
    pub fn begin(self: &Arc<Self>, patience: Patience<'_>) -> Result<()> {
        let begun = self.first(patience);
        if begun.is_err()
            && let Some(core) = self.core.upgrade()
        {
            core.give_up(self, None);
        }
        begun
    }

    fn first(self: &Arc<Self>, patience: Patience<'_>) -> Result<()> {
        let until = Instant::now().checked_add(self.grace);
        loop {
            let core = self.core.upgrade();
            let core =
                core.ok_or_else(|| Error::Link(self.number, "its session is over".into()))?;
            let wire = core.address.connect(patience)?;
            let failed = match self.ask(&core, wire, None, patience) {
                Ok(answered) => match self.take(answered) {
                    Ok(_) => return Ok(()),
                    Err(Failed::Now(why)) => Error::Link(self.number, why),
                    Err(Failed::Ever(why)) => return Err(Error::Link(self.number, why)),
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
            patience.slice()?;
            std::thread::sleep(PAUSE.0);
        }
    }

    /// Asks for the link over a new socket.
    fn ask(
        &self,
        core: &Core,
        mut wire: Wire,
        received: Option<u64>,
        patience: Patience<'_>,
    ) -> Result<Answered> {
        let nth = {
            let mut fate = locked(&self.fate);
            fate.asked += 1;
            fate.asked
        };
        let request = Request::Link {
            version: VERSION,
            ticket: self.ticket.clone(),
            link: self.number,
            carrier: Carrier::Socket,
            lasting: Some(words::Lasting {
                session: self.session,
                key: self.key.clone(),
                grace_ns: u64::try_from(self.grace.as_nanos()).ok(),
                nth,
                received,
            }),
        };
        wire.notice_silence();
        let answer = ask_link(&core.name, &mut wire, request, patience)?;
        Ok(Answered { nth, answer, wire })
    }

    /// Takes a socket over which the daemon has answered; its number.
    fn take(&self, answered: Answered) -> std::result::Result<u32, Failed> {
        let Answered { nth, answer, wire } = answered;
        let Answer::Lasts { received, .. } = answer else {
            return Err(Failed::Ever(strange("a link", &answer).to_string()));
        };
        let socket = Socket::of(wire).map_err(|error| Failed::Now(error.to_string()))?;
        let numbered = Numbered {
            nth,
            socket: Arc::new(socket),
        };
        let mut fate = locked(&self.fate);
        if fate.told_cut >= nth {
            return Err(Failed::Now("it was cut again".into()));
        }
        let mut out = locked(&self.out);
        let again = out.kept.again(received);
        again.map_err(|strange| Failed::Ever(strange.to_string()))?;
        out.socket = Some(numbered.clone());
        locked(&self.into).socket = Some(numbered);
        (fate.nth, fate.mending) = (nth, false);
        drop((fate, out));
        self.notify();
        Ok(nth)
    }

    fn notify(&self) {
        self.out_changed.notify_all();
        self.into_changed.notify_all();
    }

    fn lost(&self) -> Option<String> {
        locked(&self.fate).lost.clone()
    }

    /// The link cannot be used any more.
    fn lose(&self, why: String) {
        let mut fate = locked(&self.fate);
        fate.lost.get_or_insert(why);
        locked(&self.out).socket = None;
        locked(&self.into).socket = None;
        drop(fate);
        self.notify();
    }

    /// Writes what fits of `parts`, one behind the other, until `until`.
    ///
    /// # Returns
    /// How much is written.
    ///
    /// # Errors
    /// A link that was cut, and cannot be made anew.
    pub fn write(
        self: &Arc<Self>,
        parts: [&[u8]; 2],
        until: Instant,
    ) -> std::result::Result<usize, String> {
        let all = parts[0].len() + parts[1].len();
        let begin = locked(&self.out).kept.end();
        loop {
            let lost = self.lost();
            let mut out = locked(&self.out);
            let mut flushed = out.flush();
            while matches!(flushed, Flushed::All) {
                let put = (out.kept.end() - begin) as usize;
                let [head, data] = [
                    &parts[0][put.min(parts[0].len())..],
                    &parts[1][put.saturating_sub(parts[0].len())..],
                ];
                if out.kept.put_frame(head, data) == 0 {
                    break;
                }
                flushed = out.flush();
            }
            let done = out.kept.reached().saturating_sub(begin) as usize;
            if done == all {
                return Ok(done);
            }
            let over = Instant::now() >= until;
            if over || lost.is_some() {
                out.kept.take_back();
            }
            match lost {
                Some(why) => return Err(why),
                None if over => return Ok(done),
                None => {}
            }
            match flushed {
                Flushed::Full(numbered) => {
                    drop(out);
                    ready(numbered.socket.as_fd(), PollFlags::OUT, until);
                }
                Flushed::Broken(nth, why) => {
                    drop(out);
                    self.cut(nth, why);
                }
                // Another socket, or room.
                Flushed::Cut | Flushed::All => {
                    let left = until.saturating_duration_since(Instant::now());
                    drop(waited(&self.out_changed, out, left));
                }
            }
        }
    }

    /// Reads some: 0 bytes if there were none until `until`.
    ///
    /// # Errors
    /// A link that was cut, and cannot be made anew.
    pub fn read(
        self: &Arc<Self>,
        bytes: &mut [u8],
        until: Instant,
    ) -> std::result::Result<usize, String> {
        loop {
            if let Some(why) = self.lost() {
                return Err(why);
            }
            let mut into = locked(&self.into);
            let Some(numbered) = into.socket.clone() else {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(0);
                }
                drop(waited(&self.into_changed, into, left));
                continue;
            };
            let why = match numbered.socket.read(bytes) {
                Ok(Some(0)) => "the daemon has closed its other end".into(),
                Ok(Some(read)) => {
                    into.received += read as u64;
                    let received = into.received;
                    let worth = received - into.confirmed >= CONFIRM_BYTES;
                    if worth {
                        into.confirmed = received;
                    }
                    drop(into);
                    if let Some(core) = self.core.upgrade().filter(|_| worth) {
                        core.tell(Request::Taken {
                            link: self.number,
                            key: self.key.clone(),
                            bytes: received,
                        });
                    }
                    return Ok(read);
                }
                Ok(None) => {
                    drop(into);
                    if !ready(numbered.socket.as_fd(), PollFlags::IN, until) {
                        return Ok(0);
                    }
                    continue;
                }
                Err(error) => error.to_string(),
            };
            into.socket = None;
            drop(into);
            self.cut(numbered.nth, why);
        }
    }

    /// What the daemon tells of it.
    pub fn hear(self: &Arc<Self>, news: &LinkNews) {
        match news {
            LinkNews::Taken { bytes } => {
                let confirmed = locked(&self.out).kept.confirm(*bytes);
                match confirmed {
                    Ok(()) => self.out_changed.notify_all(),
                    Err(strange) => self.lose(strange.to_string()),
                }
            }
            LinkNews::Cut { nth } => {
                {
                    let mut fate = locked(&self.fate);
                    fate.told_cut = fate.told_cut.max(*nth);
                }
                self.cut(*nth, "its socket was cut".into());
            }
        }
    }

    /// The socket of this number is broken: a thread makes another one, if none does so already.
    fn cut(self: &Arc<Self>, nth: u32, why: String) {
        let mut fate = locked(&self.fate);
        if fate.lost.is_some() || fate.mending || fate.nth != nth {
            return;
        }
        fate.mending = true;
        drop(fate);
        let weak = Arc::downgrade(self);
        let said = why.clone();
        let thread = std::thread::Builder::new().name("nic-mend".into());
        if let Err(error) = thread.spawn(move || mend(&weak, &said)) {
            self.lose(format!(
                "{why}, and there is no thread to make it anew: {error}"
            ));
        }
    }

    /// One attempt to make a socket; its number.
    fn attempt(&self, core: &Core, until: Instant) -> std::result::Result<u32, Failed> {
        // From here on nothing is read that would not be counted.
        locked(&self.out).socket = None;
        let received = {
            let mut into = locked(&self.into);
            into.socket = None;
            into.received
        };
        let goes_on = || core.gone().is_none();
        let left = until.saturating_duration_since(Instant::now());
        let patience = Patience::of(left.min(ATTEMPT)).asking(&goes_on);
        let asked = core.address.connect(patience);
        let asked = asked.and_then(|wire| self.ask(core, wire, Some(received), patience));
        match asked {
            Ok(answered) => self.take(answered),
            // Too many at a time, or a line that was cut on its way.
            Err(Error::Refused(refusal))
                if matches!(refusal.kind, RefusalKind::Limit | RefusalKind::Garbled) =>
            {
                Err(Failed::Now(refusal.text))
            }
            Err(Error::Refused(refusal)) => Err(Failed::Ever(refusal.text)),
            Err(error) => Err(Failed::Now(error.to_string())),
        }
    }
}

/// Makes another socket for a link that was cut for this reason, and writes again what is kept.
fn mend(weak: &Weak<Lasting>, why: &str) {
    let begun = Instant::now();
    let mut pause = PAUSE.0;
    let nth = loop {
        // Given up, or its session is over: nobody wants it.
        let Some(link) = weak.upgrade() else {
            return;
        };
        let Some(core) = link.core.upgrade() else {
            return link.lose(why.to_owned());
        };
        if core.gone().is_some() {
            return link.lose(why.to_owned());
        }
        let until = begun + link.grace;
        let failed = match link.attempt(&core, until) {
            Ok(nth) => break nth,
            Err(Failed::Ever(text)) => {
                return link.lose(format!("{why}, and it cannot be made anew: {text}"));
            }
            Err(Failed::Now(text)) => text,
        };
        if Instant::now() >= until {
            let grace = link.grace;
            return link.lose(format!(
                "{why}, and it could not be made anew within {grace:?}: {failed}"
            ));
        }
        drop((link, core));
        std::thread::sleep(pause);
        pause = (2 * pause).min(PAUSE.1);
    };
    while let Some(link) = weak.upgrade() {
        let mut out = locked(&link.out);
        if out
            .socket
            .as_ref()
            .is_none_or(|numbered| numbered.nth != nth)
        {
            return;
        }
        let flushed = out.flush();
        drop(out);
        match flushed {
            Flushed::All | Flushed::Cut => return,
            Flushed::Full(numbered) => {
                let until = Instant::now() + SLICE;
                ready(numbered.socket.as_fd(), PollFlags::OUT, until);
            }
            Flushed::Broken(nth, why) => return link.cut(nth, why),
        }
    }
}
