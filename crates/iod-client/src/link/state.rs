//! The connection of a link and its requests in flight, without threads.

use super::Done;
use isthmus_forward::Buffer;
use isthmus_forward::message::{NO_TAG, Request};
use isthmus_wire::{Moved, Socket, Transport};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// A request in flight.
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

    /// Add a request in flight. Return its tag, or `done` if all tags are in use.
    pub fn begin(
        &mut self,
        request: &Request<'_>,
        fids: Fids,
        is_of_connection: bool,
        done: Done,
    ) -> std::result::Result<u16, Done> {
        let tag = match self.free.pop() {
            Some(tag) => tag,
            None if self.next_tag == NO_TAG => return Err(done),
            None => {
                self.next_tag += 1;
                self.next_tag - 1
            }
        };
        let mut frame = Buffer::new();
        request.write(tag, &mut frame);
        if self.pending.is_empty() {
            (self.last_arrival, self.is_asked) = (Instant::now(), false);
        }
        let serial = self.next_serial;
        self.next_serial += 1;
        let pending = Pending {
            serial,
            frame: Arc::new(frame),
            code: request.code(),
            fids,
            done,
            is_sent: false,
            was_sent_before: false,
            is_of_connection,
        };
        self.pending.insert(tag, pending);
        Ok(tag)
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

    /// Forget the connection, with the requests that belong to it alone.
    pub fn disconnect(&mut self) {
        (self.transport, self.socket) = (None, None);
        self.out.clear();
        self.sent = 0;
        self.gone.get_or_insert_with(Instant::now);
        let free = &mut self.free;
        self.pending.retain(|tag, each| {
            if each.is_of_connection {
                free.push(*tag);
            }
            !each.is_of_connection
        });
    }
}
