//! Links between ranks and the interface: a ring in shared memory each way, a Unix socket, or TCP.
//!
//! A link is first in, first out: a stream whose data follows that of another stream waits as
//! long as that stream. The first unread frame shows which stream has data. A stream gets resources
//! only when its data has arrived (paper, 5.3.2).

mod input;
mod output;
mod resumable;

pub(crate) use input::{CLAIM_TIMEOUT, Input};
pub(crate) use output::Output;
pub(crate) use resumable::{Resumable, ResumableDrain, ResumableSource};

use crate::frame::Frame;
use isthmus_ring::{Consumer, Producer};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{BufferId, OrderId, StreamId, Su, Tu};
use isthmus_wire::Socket;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the driver has of a link to the ranks of an application: where it reads their data, and where it writes data
/// for them.
#[derive(Debug)]
pub struct Ends {
    pub(crate) source: Option<Source>,
    pub(crate) drain: Option<Drain>,
    pub(crate) grace: Duration,
}

/// The end of a link from which the driver reads striping units.
#[derive(Debug)]
pub(crate) enum Source {
    Ring(Consumer),
    Socket(Arc<Socket>),
    Resumable(ResumableSource),
}

/// The end of a link to which the driver writes striping units.
#[derive(Debug)]
pub(crate) enum Drain {
    Ring(Producer),
    Socket(Arc<Socket>),
    Resumable(ResumableDrain),
}

impl Ends {
    /// Creates a link of rings in shared memory, of which one may be missing. Ranks write to
    /// `from_ranks` and read from `to_ranks`.
    #[must_use]
    pub fn rings(from_ranks: Option<Consumer>, to_ranks: Option<Producer>) -> Self {
        Self {
            source: from_ranks.map(Source::Ring),
            drain: to_ranks.map(Drain::Ring),
            grace: Duration::ZERO,
        }
    }

    /// Creates a link of a Unix or TCP socket, for both directions.
    #[must_use]
    pub fn socket(socket: Socket) -> Self {
        let socket = Arc::new(socket);
        Self {
            source: Some(Source::Socket(Arc::clone(&socket))),
            drain: Some(Drain::Socket(socket)),
            grace: Duration::ZERO,
        }
    }

    /// Sets the time for which the link may be cut before its rank counts as lost. Without it a cut
    /// means that the rank is lost: shared memory and Unix sockets end with the process at the
    /// other end.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}

/// An event of a link that the driver detects while data moves.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// The link has completed this order of the manager.
    Over(OrderId),
    /// The first unread frame is one of this stream. Its rank has offered this number of bytes of
    /// the stream.
    Offered(StreamId, u64),
    /// The rank abandons the stream.
    Abandoned(StreamId),
    /// The rank is out of step with the stream: its data is not what the stream expects, for this
    /// reason.
    OutOfStep(StreamId, String),
    /// The rank at the other end is gone, for this reason.
    Gone(String),
    /// The rank sent an invalid frame, for this reason.
    Garbled(String),
}

/// The properties of a running stream that a link needs to receive data of the stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LiveStream {
    pub checksum: Checksum,
    /// The number of bytes of the stream that one ring may have to hold before the first of them
    /// can be sent. None if data must not stay in a ring until it is sent.
    pub in_ring: Option<u64>,
}

/// An order of the manager to read a striping unit (SU) from a link, not yet completed.
#[derive(Clone, Debug)]
pub(crate) struct PendingFetch {
    pub order: OrderId,
    pub stream: StreamId,
    pub tu: Tu,
    pub su: Su,
    pub buffer: BufferId,
}

/// Progress of a stream on a link: the bytes of striping units that were read completely from ranks
/// or written completely to them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    pub bytes: u64,
    /// The number of the newest application data unit, and the number of its bytes that moved on
    /// the link.
    pub newest_adu: (u64, u64),
}

impl Progress {
    /// Adds the bytes of a striping unit of this application data unit to the progress.
    pub fn add(&mut self, adu: u64, bytes: u64) {
        self.bytes += bytes;
        if self.newest_adu.0 != adu {
            self.newest_adu = (adu, 0);
        }
        self.newest_adu.1 += bytes;
    }
}

/// The driver's state of a link to ranks, whose ends may be attached or missing.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub input: Option<Input>,
    pub output: Option<Output>,
    /// A number that no other link of the driver has or had. It distinguishes this link from
    /// earlier ones with the same identifier.
    pub incarnation: u64,
    /// Pending orders to fetch striping units, in the order in which the manager issued them.
    pub fetches: VecDeque<PendingFetch>,
    /// Striping units for ranks that are not attached yet: order, frame header, buffer, and
    /// position of the first byte in the buffer.
    pub undelivered: Vec<(OrderId, Frame, BufferId, u64)>,
    /// Progress of each stream on the link.
    pub progress: BTreeMap<StreamId, Progress>,
    pub grace: Duration,
    /// The state of a resumable link. None if the link ends with its socket.
    pub resumable: Option<Resumable>,
    /// If the link is cut: the time at which its rank counts as lost unless the link is restored.
    /// `None` otherwise.
    pub cut_until: Option<Instant>,
    pub cut: bool,
}

impl Link {
    /// Returns whether the link is blocked: its first unread striping unit can only be read after
    /// the manager orders it, and nothing else needs to be done on the link.
    pub fn is_blocked(&self) -> bool {
        let input = self.input.as_ref().is_some_and(Input::is_blocked);
        let output = self.output.as_ref();
        input
            && self.fetches.is_empty()
            && output.is_none_or(|output| !output.peer_active && !output.waits_for_room())
            && self.resumable.is_none()
            && self.cut_until.is_none()
    }

    /// Drops everything that the link stores for a stream that has ended.
    pub fn forget(&mut self, stream: StreamId) {
        self.progress.remove(&stream);
        if let Some(input) = &mut self.input {
            input.forget(stream);
        }
    }

    /// Withdraws the order to fetch a striping unit. Returns false if the order is not on this
    /// link.
    pub fn withdraw_fetch(&mut self, order: OrderId) -> bool {
        if let Some(index) = self.fetches.iter().position(|fetch| fetch.order == order) {
            self.fetches.remove(index);
            return true;
        }
        let input = self.input.as_mut();
        input.is_some_and(|input| input.withdraw(order))
    }
}
