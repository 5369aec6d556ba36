//! Links between ranks and the interface: a ring in shared memory each way, a Unix socket, or TCP.
//!
//! A link is first in, first out: data of a stream that waits behind another's waits with it. What
//! a rank offers is known from the first frame that has not been taken, so that a stream gets its
//! resources when data is there, and not before (paper, 5.3.2).

mod input;
mod lasting;
mod output;

pub(crate) use input::{Input, PATIENCE};
pub(crate) use lasting::{Lasting, LastingDrain, LastingSource};
pub(crate) use output::Output;

use crate::frame::Frame;
use isthmus_ring::{Consumer, Producer};
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{BufferId, OrderId, StreamId, Su, Tu};
use isthmus_wire::Socket;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The ends of a link that are given to a driver.
#[derive(Debug)]
pub struct Ends {
    pub(crate) source: Option<Source>,
    pub(crate) drain: Option<Drain>,
    pub(crate) grace: Duration,
}

/// Where SUs come from.
#[derive(Debug)]
pub(crate) enum Source {
    Ring(Consumer),
    Socket(Arc<Socket>),
    Lasting(LastingSource),
}

/// Where SUs go.
#[derive(Debug)]
pub(crate) enum Drain {
    Ring(Producer),
    Socket(Arc<Socket>),
    Lasting(LastingDrain),
}

impl Ends {
    /// Rings in shared memory, of which one may be missing: ranks write to the one that is read
    /// here, and read from the one that is written here.
    #[must_use]
    pub fn rings(from_ranks: Option<Consumer>, to_ranks: Option<Producer>) -> Self {
        Self {
            source: from_ranks.map(Source::Ring),
            drain: to_ranks.map(Drain::Ring),
            grace: Duration::ZERO,
        }
    }

    /// A socket, Unix or TCP, for both ways.
    #[must_use]
    pub fn socket(socket: Socket) -> Self {
        let socket = Arc::new(socket);
        Self {
            source: Some(Source::Socket(Arc::clone(&socket))),
            drain: Some(Drain::Socket(socket)),
            grace: Duration::ZERO,
        }
    }

    /// How long the link may be cut before its rank is taken for gone. Without it, at once: in
    /// memory and on Unix sockets a link ends with the process at its other end.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}

/// What came of an attempt to move something over a link.
#[derive(Debug)]
pub(crate) enum Told {
    /// The order is carried out.
    Over(OrderId),
    /// The first frame is one of this stream, and all that was offered of it is so much.
    Offered(StreamId, u64),
    /// The rank gives the stream up.
    GivenUp(StreamId),
    /// The rank is out of step with the stream: how.
    OutOfStep(StreamId, String),
    /// The other side is gone: its words.
    Gone(String),
    /// What comes from it is no frame: how.
    Garbled(String),
}

/// What links must know of a stream that goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Live {
    pub checksum: Checksum,
    /// If its data may stay in a ring until it is sent: bytes of one ring that may have to be there
    /// before the first of them can be sent.
    pub in_ring: Option<u64>,
}

/// A fetch that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    pub order: OrderId,
    pub stream: StreamId,
    pub tu: Tu,
    pub su: Su,
    pub buffer: BufferId,
}

/// What of a stream went over a link: SUs that were taken from ranks, or given to them, whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    pub bytes: u64,
    /// The ADU of the last of them, and bytes of that.
    pub of_adu: (u64, u64),
}

impl Passed {
    pub fn add(&mut self, adu: u64, bytes: u64) {
        self.bytes += bytes;
        if self.of_adu.0 != adu {
            self.of_adu = (adu, 0);
        }
        self.of_adu.1 += bytes;
    }
}

/// A link, with or without ends.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub input: Option<Input>,
    pub output: Option<Output>,
    /// Which of those that had this number it is, among all links of the driver.
    pub incarnation: u64,
    /// Fetches in the order in which they were polled.
    pub wants: VecDeque<Want>,
    /// SUs for ranks that are not there yet: order, frame, buffer, first byte there.
    pub homeless: Vec<(OrderId, Frame, BufferId, u64)>,
    /// What of each stream went over it.
    pub passed: BTreeMap<StreamId, Passed>,
    pub grace: Duration,
    /// If it may be given another socket.
    pub lasting: Option<Lasting>,
    /// While it is cut: until when it may be.
    pub cut_until: Option<Instant>,
    pub cut: bool,
}

impl Link {
    /// Whether nothing can move on the link before an order arrives: no stream fetches its first unit.
    pub fn rests(&self) -> bool {
        let input = self.input.as_ref().is_some_and(Input::rests);
        let output = self.output.as_ref();
        input
            && self.wants.is_empty()
            && output.is_none_or(|output| !output.heard && !output.waits_for_room())
            && self.lasting.is_none()
            && self.cut_until.is_none()
    }

    /// Forgets a stream that has ended.
    pub fn forget(&mut self, stream: StreamId) {
        self.passed.remove(&stream);
        if let Some(input) = &mut self.input {
            input.forget(stream);
        }
    }

    /// Takes a fetch back; false if it is none of this link.
    pub fn withdraw_fetch(&mut self, order: OrderId) -> bool {
        if let Some(place) = self.wants.iter().position(|want| want.order == order) {
            self.wants.remove(place);
            return true;
        }
        let input = self.input.as_mut();
        input.is_some_and(|input| input.withdraw(order))
    }
}
