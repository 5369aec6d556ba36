//! The connection of a link and its requests in flight, without threads.

use super::Done;
use isthmus_forward::Buffer;
use isthmus_forward::message::{NO_TAG, Request, set_tag};
use isthmus_wire::{Moved, Socket, Transport};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Maximum number of requests in flight. The connection itself may have a few more.
const IN_FLIGHT: usize = 60_000;

/// Maximum number of requests in flight that may wait for the store: a daemon refuses more than 64.
const SLOW_IN_FLIGHT: usize = 60;

/// The types of requests that may wait for the store.
const SLOW: [u8; 8] = [50, 116, 118, 204, 206, 208, 214, 216];

/// A request in flight, or one that waits until there are fewer.
pub(super) struct Pending {
    /// The order in which requests were made.
    pub serial: u64,
    /// Its bytes.
    pub frame: Arc<Buffer>,
    pub code: u8,
    pub fids: Fids,
    pub done: Done,
    /// Whether it was sent over this connection, and over one that is gone.
    pub is_sent: bool,
    pub was_sent_before: bool,
    /// Whether it belongs to this connection alone, and is not sent on another.
    pub is_of_connection: bool,
}

/// The connection and the requests in flight.
pub(super) struct State {
    pub transport: Option<Transport>,
    /// Its descriptor, for waiting without the lock.
    pub socket: Option<Arc<Socket>>,
    /// The requests that are not sent yet, and the number of bytes of the first that are.
    pub out: VecDeque<Arc<Buffer>>,
    pub sent: usize,
    pub pending: HashMap<u16, Pending>,
    /// The requests that wait until there are fewer in flight, in order.
    pub waiting: VecDeque<Pending>,
    /// Number of requests in flight that may wait for the store.
    slow: usize,
    pub free: Vec<u16>,
    pub next_tag: u16,
    pub next_serial: u64,
    /// The fids that the daemon knows, once there was more than one connection.
    pub known: Option<HashSet<u32>>,
    /// When bytes of the daemon last arrived, or a request began to wait for it.
    pub last_arrival: Instant,
    /// Whether the daemon was asked for a heartbeat since.
    pub is_asked: bool,
    /// When the connection was lost.
    pub gone: Option<Instant>,
    /// Whether requests fail at once, because the daemon has been gone for too long.
    pub is_failing: bool,
    pub is_ended: bool,
}

/// The fids of a request: those that it uses, and the one that it creates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fids {
    pub used: [Option<u32>; 2],
    pub created: Option<u32>,
    pub forgotten: Option<u32>,
}

impl Fids {
    /// Return the fids of a request.
    pub fn of(request: &Request<'_>) -> Self {
        let used = |fid| Self {
            used: [Some(fid), None],
            ..Self::default()
        };
        let both = |one, other| Self {
            used: [Some(one), Some(other)],
            ..Self::default()
        };
        match *request {
            Request::Walk { fid, newfid, .. } | Request::WalkXattr { fid, newfid, .. } => Self {
                created: (fid != newfid).then_some(newfid),
                ..used(fid)
            },
            Request::Restore { newfid, .. } => Self {
                created: Some(newfid),
                ..Self::default()
            },
            Request::Clunk { fid } => Self {
                forgotten: Some(fid),
                ..used(fid)
            },
            Request::Read { fid, .. }
            | Request::Write { fid, .. }
            | Request::StatFs { fid }
            | Request::Open { fid, .. }
            | Request::Create { fid, .. }
            | Request::Symlink { fid, .. }
            | Request::MakeNode { fid, .. }
            | Request::ReadLink { fid }
            | Request::GetAttributes { fid, .. }
            | Request::SetAttributes { fid, .. }
            | Request::CreateXattr { fid, .. }
            | Request::ReadDirectory { fid, .. }
            | Request::Fsync { fid, .. }
            | Request::Commit { fid, .. }
            | Request::Lock { fid, .. }
            | Request::GetLock { fid, .. }
            | Request::MakeDirectory { fid, .. } => used(fid),
            Request::Link { directory, fid, .. } => both(directory, fid),
            Request::RenameAt { from, to, .. } => both(from, to),
            Request::UnlinkAt { directory, .. } => used(directory),
            _ => Self::default(),
        }
    }
}

impl State {
    /// Create the state of a new connection.
    pub fn new((transport, socket): (Transport, Socket)) -> Self {
        Self {
            transport: Some(transport),
            socket: Some(Arc::new(socket)),
            out: VecDeque::new(),
            sent: 0,
            pending: HashMap::new(),
            waiting: VecDeque::new(),
            slow: 0,
            free: Vec::new(),
            next_tag: 0,
            next_serial: 0,
            known: None,
            last_arrival: Instant::now(),
            is_asked: false,
            gone: None,
            is_failing: false,
            is_ended: false,
        }
    }

    /// Add a request of a user of the link, which may wait until there are fewer in flight.
    pub fn add(&mut self, request: &Request<'_>, fids: Fids, done: Done) {
        let pending = self.make(request, fids, false, done);
        self.waiting.push_back(pending);
    }

    /// Let the next request that waits be in flight. Return its tag; `None` if there is none, or it has to wait.
    pub fn begin_next(&mut self) -> Option<u16> {
        let first = self.waiting.front()?;
        let is_full = SLOW.contains(&first.code) && self.slow >= SLOW_IN_FLIGHT;
        if is_full || self.pending.len() >= IN_FLIGHT {
            return None;
        }
        let pending = self.waiting.pop_front()?;
        self.begin(pending)
    }

    /// Add a request that belongs to this connection alone. Return its bytes; `None` if all tags are in use.
    pub fn add_of_connection(&mut self, request: &Request<'_>, fids: Fids) -> Option<Arc<Buffer>> {
        let pending = self.make(request, fids, true, Box::new(|_| {}));
        let tag = self.begin(pending)?;
        self.pending.get(&tag).map(|each| Arc::clone(&each.frame))
    }

    /// Remove a request in flight.
    pub fn finish(&mut self, tag: u16) -> Option<Pending> {
        let pending = self.pending.remove(&tag)?;
        self.slow -= usize::from(SLOW.contains(&pending.code));
        self.free.push(tag);
        Some(pending)
    }

    /// Remove all requests.
    pub fn finish_all(&mut self) -> Vec<Pending> {
        let tags = self.pending.keys().copied().collect::<Vec<_>>();
        let mut all = tags
            .into_iter()
            .filter_map(|tag| self.finish(tag))
            .collect::<Vec<_>>();
        all.extend(self.waiting.drain(..));
        all
    }

    /// Make a request, whose tag is set later.
    fn make(
        &mut self,
        request: &Request<'_>,
        fids: Fids,
        is_of_connection: bool,
        done: Done,
    ) -> Pending {
        let mut frame = Buffer::new();
        request.write(NO_TAG, &mut frame);
        let serial = self.next_serial;
        self.next_serial += 1;
        Pending {
            serial,
            frame: Arc::new(frame),
            code: request.code(),
            fids,
            done,
            is_sent: false,
            was_sent_before: false,
            is_of_connection,
        }
    }

    /// Let a request be in flight. Return its tag; `None` if all are in use.
    fn begin(&mut self, mut pending: Pending) -> Option<u16> {
        let tag = match self.free.pop() {
            Some(tag) => tag,
            None if self.next_tag == NO_TAG => return None,
            None => {
                self.next_tag += 1;
                self.next_tag - 1
            }
        };
        if let Some(frame) = Arc::get_mut(&mut pending.frame) {
            set_tag(frame, tag);
        }
        if self.pending.is_empty() {
            (self.last_arrival, self.is_asked) = (Instant::now(), false);
        }
        self.slow += usize::from(SLOW.contains(&pending.code));
        self.pending.insert(tag, pending);
        Some(tag)
    }

    /// Send queued requests until the socket takes no more.
    pub fn flush(&mut self) -> std::result::Result<(), String> {
        let Some(transport) = &mut self.transport else {
            return Ok(());
        };
        transport.flush().map_err(|error| error.to_string())?;
        while let Some(first) = self.out.front() {
            match transport.write(&first.bytes()[self.sent..]) {
                Ok(Moved::Some(count)) => self.sent += count,
                Ok(Moved::None) => return Ok(()),
                Ok(Moved::End) => return Err("its other end was closed".into()),
                Err(error) => return Err(error.to_string()),
            }
            if self.sent == first.len() {
                self.out.pop_front();
                self.sent = 0;
            }
        }
        Ok(())
    }

    /// Drop the connection, and the requests that are not repeated on the next one.
    pub fn disconnect(&mut self) {
        (self.transport, self.socket) = (None, None);
        self.out.clear();
        self.sent = 0;
        self.gone.get_or_insert_with(Instant::now);
        let own = self
            .pending
            .iter()
            .filter(|(_, each)| each.is_of_connection);
        for tag in own.map(|(tag, _)| *tag).collect::<Vec<_>>() {
            self.finish(tag);
        }
    }
}
