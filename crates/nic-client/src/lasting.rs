//! Links over TCP and TLS that reconnect when their socket is cut.
//!
//! The sender and the receiver share a [`Lasting`]. Each half has the current socket, or none while
//! the link is cut, and counts its bytes over all sockets. When a half finds the socket broken, or
//! the daemon reports a cut, a reconnect starts ([`Reconnect`]). Waiting calls continue with the
//! new socket.

use crate::error::{Error, Result};
use crate::lock::{lock, wait_for_change};
use crate::pipe::CLOSED;
use isthmus_nic_protocol::LinkNews;
use isthmus_stream_net::unconfirmed::{CONFIRM_BYTES, UNCONFIRMED_BYTES, Unconfirmed};
use isthmus_wire::{Moved, Socket, Transport, random_key, wait_ready};
use rustix::event::PollFlags;
use std::fmt::Debug;
use std::io::{self, IoSlice};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::{Duration, Instant};

/// Time after which a thread that rewrites data and waits for room checks whether the link still
/// exists.
const WRITE_SLICE: Duration = Duration::from_millis(100);

/// The operations of a session that its lasting links use.
pub(crate) trait Reconnect: Debug + Send + Sync {
    /// Start a thread that connects a new socket for a link that was cut for this reason.
    ///
    /// # Errors
    /// No thread can be started.
    fn renew(self: Arc<Self>, link: Weak<Lasting>, why: String) -> io::Result<()>;

    /// Confirm to the daemon the number of bytes received over a link.
    fn confirm(&self, link: &Lasting, received: u64);
}

/// A link that outlasts its sockets: it reconnects when its socket is cut.
#[derive(Debug)]
pub(crate) struct Lasting {
    pub number: u16,
    /// The secret that proves ownership of the link.
    pub key: String,
    reconnector: Arc<dyn Reconnect>,
    /// The state of the link. A thread acquires the locks in the order `state`, `out`, `into`.
    state: Mutex<LinkState>,
    out: Mutex<Outgoing>,
    /// Notified when the half that this process writes has a new socket or room, and when the link
    /// ends.
    out_changed: Condvar,
    into: Mutex<Incoming>,
    /// Notified when the half of the link that this process reads has a new socket, and when the
    /// link ends.
    into_changed: Condvar,
}

/// The state of a lasting link: the numbers of its sockets, and whether it can reconnect.
#[derive(Debug, Default)]
struct LinkState {
    /// The number of the link's current or last socket, from 1.
    nth: u32,
    /// The number of the last socket that the link requested.
    asked: u32,
    /// The number of the last socket that the daemon reported as cut. The report may arrive before
    /// the answer that confirms the socket.
    reported_cut: u32,
    /// Whether a thread is reconnecting the link.
    reconnecting: bool,
    /// The reason why the link cannot reconnect; None while it can.
    lost: Option<String>,
}

/// The sending side of a link: its socket, and the bytes that this process sent and the daemon has
/// not confirmed.
#[derive(Debug)]
struct Outgoing {
    socket: Option<NumberedSocket>,
    kept: Unconfirmed,
}

/// The half of a link that this process reads: its socket and the count of bytes.
#[derive(Debug, Default)]
struct Incoming {
    socket: Option<NumberedSocket>,
    /// Number of bytes received over all sockets of the link. `confirmed` is the number of these
    /// that were confirmed to the daemon.
    received: u64,
    confirmed: u64,
}

/// A non-blocking socket of a link, and its number among the sockets of the link.
#[derive(Clone, Debug)]
struct NumberedSocket {
    nth: u32,
    socket: Arc<Socket>,
}

/// The outcome of writing the pending bytes of a link to its socket.
enum Flushed {
    /// All pending bytes are written.
    All,
    /// The socket of the link accepts no more bytes now.
    Full(NumberedSocket),
    /// The link has no socket to write to.
    Cut,
    /// The socket with this number is broken, for this reason.
    Broken(u32, String),
}

impl Outgoing {
    /// Write as many pending (unwritten) bytes of the link as the socket accepts.
    fn flush(&mut self) -> Flushed {
        while self.kept.is_pending() {
            let Some(socket) = &self.socket else {
                return Flushed::Cut;
            };
            let parts = self.kept.pending().map(IoSlice::new);
            let why = match socket.socket.write(&parts) {
                Ok(Moved::Some(written)) => {
                    self.kept.mark_written(written);
                    continue;
                }
                Ok(Moved::None) => return Flushed::Full(socket.clone()),
                Ok(Moved::End) => CLOSED.into(),
                Err(error) => error.to_string(),
            };
            let nth = socket.nth;
            self.socket = None;
            return Flushed::Broken(nth, why);
        }
        Flushed::All
    }
}

/// The error of an attempt to reconnect a link.
pub(crate) enum AttemptError {
    /// The attempt failed for this reason. Another attempt may succeed.
    Retry(String),
    /// No answer arrived in time, as the text explains. Another attempt may succeed.
    TimedOut(String),
    /// The link cannot reconnect, for this reason. No further attempt can succeed.
    Fatal(String),
}

impl Lasting {
    /// Create a link without a socket.
    ///
    /// # Errors
    /// The system gives no random bits for the key of the link.
    pub fn new(number: u16, reconnector: Arc<dyn Reconnect>) -> Result<Arc<Self>> {
        let key = random_key().map_err(|_| {
            let why = "the system gives no random bits for its key: try again";
            Error::Link(number, why.into())
        })?;
        Ok(Arc::new(Self {
            number,
            key,
            reconnector,
            state: Mutex::default(),
            out: Mutex::new(Outgoing {
                socket: None,
                kept: Unconfirmed::new(UNCONFIRMED_BYTES),
            }),
            out_changed: Condvar::new(),
            into: Mutex::default(),
            into_changed: Condvar::new(),
        }))
    }

    /// Return the number for the next socket that the link requests.
    pub fn next_socket_number(&self) -> u32 {
        let mut state = lock(&self.state);
        state.asked += 1;
        state.asked
    }

    /// Drop the sockets of both halves of the link. Returns the number of bytes received over all
    /// sockets.
    pub fn release(&self) -> u64 {
        lock(&self.out).socket = None;
        let mut into = lock(&self.into);
        into.socket = None;
        into.received
    }

    /// Attach a new socket with the number `nth` to the link. `received` is the number of bytes
    /// that the daemon has received over the link.
    pub fn attach(
        &self,
        nth: u32,
        wire: Transport,
        received: u64,
    ) -> std::result::Result<(), AttemptError> {
        let socket = wire.into_socket();
        let socket = socket.map_err(|error| AttemptError::Retry(error.to_string()))?;
        let socket = NumberedSocket {
            nth,
            socket: Arc::new(socket),
        };
        let mut state = lock(&self.state);
        if state.reported_cut >= nth {
            return Err(AttemptError::Retry("it was cut again".into()));
        }
        let mut out = lock(&self.out);
        let again = out.kept.resume_at(received);
        again.map_err(|unexpected| AttemptError::Fatal(unexpected.to_string()))?;
        out.socket = Some(socket.clone());
        lock(&self.into).socket = Some(socket);
        (state.nth, state.reconnecting) = (nth, false);
        drop((state, out));
        self.notify();
        Ok(())
    }

    /// Wake all calls that wait for the link.
    fn notify(&self) {
        self.out_changed.notify_all();
        self.into_changed.notify_all();
    }

    /// Return the reason why the link cannot reconnect; `None` while it can.
    fn lost(&self) -> Option<String> {
        lock(&self.state).lost.clone()
    }

    /// Return whether the link was cut and cannot reconnect.
    pub fn is_lost(&self) -> bool {
        lock(&self.state).lost.is_some()
    }

    /// Mark the link as lost for this reason, and wake all calls that wait for it.
    pub fn fail(&self, why: String) {
        let mut state = lock(&self.state);
        state.lost.get_or_insert(why);
        lock(&self.out).socket = None;
        lock(&self.into).socket = None;
        drop(state);
        self.notify();
    }

    /// Write as many bytes of `parts` to the link, one part after the other, as fit until `until`.
    ///
    /// # Returns
    /// The number of bytes written.
    ///
    /// # Errors
    /// The link was cut and cannot reconnect.
    pub fn write(
        self: &Arc<Self>,
        parts: [&[u8]; 2],
        until: Instant,
    ) -> std::result::Result<usize, String> {
        let all = parts[0].len() + parts[1].len();
        let begin = lock(&self.out).kept.end();
        loop {
            let lost = self.lost();
            let mut out = lock(&self.out);
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
            let done = out.kept.highest_written().saturating_sub(begin) as usize;
            if done == all {
                return Ok(done);
            }
            let over = Instant::now() >= until;
            if over || lost.is_some() {
                out.kept.discard_pending();
            }
            match lost {
                Some(why) => return Err(why),
                None if over => return Ok(done),
                None => {}
            }
            match flushed {
                Flushed::Full(socket) => {
                    drop(out);
                    wait_ready(&*socket.socket, PollFlags::OUT, until);
                }
                Flushed::Broken(nth, why) => {
                    drop(out);
                    self.cut(nth, why);
                }
                // Wait until the link has another socket, or room for bytes.
                Flushed::Cut | Flushed::All => {
                    let left = until.saturating_duration_since(Instant::now());
                    drop(wait_for_change(&self.out_changed, out, left));
                }
            }
        }
    }

    /// Read available bytes of the link. Returns 0 if none arrive until `until`.
    ///
    /// # Errors
    /// The link was cut and cannot reconnect.
    pub fn read(
        self: &Arc<Self>,
        bytes: &mut [u8],
        until: Instant,
    ) -> std::result::Result<usize, String> {
        loop {
            if let Some(why) = self.lost() {
                return Err(why);
            }
            let mut into = lock(&self.into);
            let Some(socket) = into.socket.clone() else {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(0);
                }
                drop(wait_for_change(&self.into_changed, into, left));
                continue;
            };
            let why = match socket.socket.read(bytes) {
                Ok(Moved::End) => CLOSED.into(),
                Ok(Moved::Some(read)) => {
                    into.received += read as u64;
                    let received = into.received;
                    let worth = received - into.confirmed >= CONFIRM_BYTES;
                    if worth {
                        into.confirmed = received;
                    }
                    drop(into);
                    if worth {
                        self.reconnector.confirm(self, received);
                    }
                    return Ok(read);
                }
                Ok(Moved::None) => {
                    drop(into);
                    if !wait_ready(&*socket.socket, PollFlags::IN, until) {
                        return Ok(0);
                    }
                    continue;
                }
                Err(error) => error.to_string(),
            };
            into.socket = None;
            drop(into);
            self.cut(socket.nth, why);
        }
    }

    /// Handle a report of the daemon about the link: a confirmation of bytes, or a cut.
    pub fn on_news(self: &Arc<Self>, news: &LinkNews) {
        match news {
            LinkNews::Taken { bytes } => {
                let confirmed = lock(&self.out).kept.confirm(*bytes);
                match confirmed {
                    Ok(()) => self.out_changed.notify_all(),
                    Err(unexpected) => self.fail(unexpected.to_string()),
                }
            }
            LinkNews::Cut { nth } => {
                {
                    let mut state = lock(&self.state);
                    state.reported_cut = state.reported_cut.max(*nth);
                }
                self.cut(*nth, "its socket was cut".into());
            }
        }
    }

    /// Handle the loss of the socket with number `nth`: start to reconnect, unless a thread already
    /// reconnects or the link has a newer socket.
    fn cut(self: &Arc<Self>, nth: u32, why: String) {
        let mut state = lock(&self.state);
        if state.lost.is_some() || state.reconnecting || state.nth != nth {
            return;
        }
        state.reconnecting = true;
        drop(state);
        let reconnector = Arc::clone(&self.reconnector);
        if let Err(error) = reconnector.renew(Arc::downgrade(self), why.clone()) {
            self.fail(format!(
                "{why}, and there is no thread to make it again: {error}"
            ));
        }
    }

    /// Write the unconfirmed bytes again to the current socket, if its number is `nth`, for at most
    /// 0.1 s.
    ///
    /// # Returns
    /// Whether more bytes are left to write.
    pub fn rewrite(self: &Arc<Self>, nth: u32) -> bool {
        let mut out = lock(&self.out);
        if out.socket.as_ref().is_none_or(|socket| socket.nth != nth) {
            return false;
        }
        let flushed = out.flush();
        drop(out);
        match flushed {
            Flushed::All | Flushed::Cut => false,
            Flushed::Full(socket) => {
                let until = Instant::now() + WRITE_SLICE;
                wait_ready(&*socket.socket, PollFlags::OUT, until);
                true
            }
            Flushed::Broken(nth, why) => {
                self.cut(nth, why);
                false
            }
        }
    }
}
