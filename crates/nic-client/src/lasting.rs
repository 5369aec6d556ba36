//! Links over TCP and TLS that are made anew when their socket is cut.
//!
//! Who sends and who receives share a [`Lasting`]: each half has its socket, none while the link is
//! cut, and counts its bytes over all sockets. Whoever finds the socket broken, or hears it from the
//! daemon, has it renewed ([`Renews`]); those who wait for the link go on with that.

use crate::error::{Error, Result};
use crate::lock::{locked, waited};
use crate::pipe::CLOSED;
use isthmus_nic_protocol::LinkNews;
use isthmus_stream_net::unconfirmed::{CONFIRM_BYTES, UNCONFIRMED_BYTES, Unconfirmed};
use isthmus_wire::{Moved, Socket, Transport, random_key, wait_ready};
use rustix::event::PollFlags;
use std::fmt::Debug;
use std::io::{self, IoSlice};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::{Duration, Instant};

/// How long the thread that writes again sleeps at a time.
const SLICE: Duration = Duration::from_millis(100);

/// What keeps a link up with the daemon.
pub(crate) trait Renews: Debug + Send + Sync {
    /// Has a thread make another socket for a link that was cut for this reason.
    ///
    /// # Errors
    /// There is no thread.
    fn renew(self: Arc<Self>, link: Weak<Lasting>, why: String) -> io::Result<()>;

    /// Tells the daemon that so many bytes of a link have come.
    fn confirm(&self, link: &Lasting, received: u64);
}

/// A link that outlasts its sockets.
#[derive(Debug)]
pub(crate) struct Lasting {
    pub number: u16,
    /// What shows that the link is this process's.
    pub key: String,
    renews: Arc<dyn Renews>,
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
                Ok(Moved::Some(written)) => {
                    self.kept.wrote(written);
                    continue;
                }
                Ok(Moved::None) => return Flushed::Full(numbered.clone()),
                Ok(Moved::End) => CLOSED.into(),
                Err(error) => error.to_string(),
            };
            let nth = numbered.nth;
            self.socket = None;
            return Flushed::Broken(nth, why);
        }
        Flushed::All
    }
}

/// Why an attempt to make a socket came to nothing.
pub(crate) enum Failed {
    /// Another one may go better.
    Now(String),
    /// The same: no answer came in the time that it had.
    Late(String),
    /// None will.
    Ever(String),
}

impl Lasting {
    /// A link without a socket.
    ///
    /// # Errors
    /// A system without random bits.
    pub fn new(number: u16, renews: Arc<dyn Renews>) -> Result<Arc<Self>> {
        let key = random_key().map_err(|_| {
            let why = "the system gives no random bits for its key: try again";
            Error::Link(number, why.into())
        })?;
        Ok(Arc::new(Self {
            number,
            key,
            renews,
            fate: Mutex::default(),
            out: Mutex::new(Outgoing {
                socket: None,
                kept: Unconfirmed::new(UNCONFIRMED_BYTES),
            }),
            out_changed: Condvar::new(),
            into: Mutex::default(),
            into_changed: Condvar::new(),
        }))
    }

    /// The number of another socket that is asked for.
    pub fn next(&self) -> u32 {
        let mut fate = locked(&self.fate);
        fate.asked += 1;
        fate.asked
    }

    /// Lets go of the socket; how many bytes came over all of them.
    pub fn let_go(&self) -> u64 {
        locked(&self.out).socket = None;
        let mut into = locked(&self.into);
        into.socket = None;
        into.received
    }

    /// Takes the socket of this number, over which the daemon has answered that it has received so
    /// many bytes.
    pub fn take(
        &self,
        nth: u32,
        wire: Transport,
        received: u64,
    ) -> std::result::Result<(), Failed> {
        let socket = wire.into_socket();
        let socket = socket.map_err(|error| Failed::Now(error.to_string()))?;
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
        Ok(())
    }

    fn notify(&self) {
        self.out_changed.notify_all();
        self.into_changed.notify_all();
    }

    fn lost(&self) -> Option<String> {
        locked(&self.fate).lost.clone()
    }

    /// Whether the link cannot be used any more.
    pub fn is_lost(&self) -> bool {
        locked(&self.fate).lost.is_some()
    }

    /// The link cannot be used any more.
    pub fn lose(&self, why: String) {
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
                    wait_ready(&*numbered.socket, PollFlags::OUT, until);
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
                        self.renews.confirm(self, received);
                    }
                    return Ok(read);
                }
                Ok(Moved::None) => {
                    drop(into);
                    if !wait_ready(&*numbered.socket, PollFlags::IN, until) {
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

    /// The socket of this number is broken: another one is made, if that is not done already.
    fn cut(self: &Arc<Self>, nth: u32, why: String) {
        let mut fate = locked(&self.fate);
        if fate.lost.is_some() || fate.mending || fate.nth != nth {
            return;
        }
        fate.mending = true;
        drop(fate);
        let renews = Arc::clone(&self.renews);
        if let Err(error) = renews.renew(Arc::downgrade(self), why.clone()) {
            self.lose(format!(
                "{why}, and there is no thread to make it anew: {error}"
            ));
        }
    }

    /// Writes again what is kept, for a while, if the socket is still the one of this number.
    ///
    /// # Returns
    /// Whether there is more to write.
    pub fn write_again(self: &Arc<Self>, nth: u32) -> bool {
        let mut out = locked(&self.out);
        if out
            .socket
            .as_ref()
            .is_none_or(|numbered| numbered.nth != nth)
        {
            return false;
        }
        let flushed = out.flush();
        drop(out);
        match flushed {
            Flushed::All | Flushed::Cut => false,
            Flushed::Full(numbered) => {
                let until = Instant::now() + SLICE;
                wait_ready(&*numbered.socket, PollFlags::OUT, until);
                true
            }
            Flushed::Broken(nth, why) => {
                self.cut(nth, why);
                false
            }
        }
    }
}
