//! The protocol of a connection: a transmit and a receive half that share its state (paper, 4.3).
//!
//! The receive half takes headers that come, and passes what they acknowledge and grant on to the
//! transmit half; only the transmit half has time-outs. Both deal in descriptors; what they hold is
//! in network memory.
//!
//! There is no congestion control: the window is what the peer grants and what network memory
//! holds, and pacing is the driver's.

pub(crate) mod receive;
mod sending;
mod taking;
pub(crate) mod transmit;

pub(crate) use receive::Receive;
pub(crate) use transmit::Transmit;

use crate::config::{ConnectionSpec, Protocol};
use crate::ids::{AppId, Instant, StreamId};
use crate::wire::{Header, Kind};
use std::collections::VecDeque;

/// What becomes of a packet whose header the driver offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// Put its data into this place of network memory, sum it, and report by `handle_arrived`.
    Take(crate::ids::PacketId),
    /// It has no data, and was taken.
    Taken,
    /// There is no room, or the connection is not open yet: keep it back where that can be done and
    /// offer it again after orders were polled, or drop it.
    Later,
    /// Drop it.
    Drop(Drop),
}

/// Why a packet is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drop {
    /// It came before, or so late that it was given up.
    Duplicate,
    /// The connection is gone, or has another channel.
    Stray,
    /// Its number, its grant or its acknowledgement cannot be.
    Impossible,
}

/// One logical connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub app: AppId,
    pub spec: ConnectionSpec,
    pub open: bool,
    /// `close` was called.
    pub closing: bool,
    /// Its driver has let go of it, or will: why.
    pub gone: Option<String>,
    pub transmit: Transmit,
    pub receive: Receive,
    /// Streams by direction, in the order of registration, from the first that is not through.
    pub order: [VecDeque<StreamId>; 2],
    /// The ordinal of the next stream registered, by direction.
    pub ordinals: [u32; 2],
    /// Streams that have not ended.
    pub live: u32,
    /// Closing, with all streams ended: when it is given up, and what had been sent and heard when
    /// that was set.
    pub given_up_at: Option<(Instant, [u64; 4])>,
    /// Its window is free for other connections.
    pub window_returned: bool,
}

impl Connection {
    pub fn new(app: AppId, spec: ConnectionSpec) -> Self {
        let receive = Receive::new(spec.window_bytes);
        Self {
            app,
            spec,
            open: false,
            closing: false,
            gone: None,
            transmit: Transmit::default(),
            receive,
            order: [VecDeque::new(), VecDeque::new()],
            ordinals: [0; 2],
            live: 0,
            given_up_at: None,
            window_returned: false,
        }
    }

    pub fn protocol(&self) -> Protocol {
        self.spec.protocol
    }

    /// Fills in what every header tells of the shared state.
    pub fn tell(&self, mut header: Header) -> Header {
        if self.protocol().confirms() {
            header.acknowledged = self.receive.expected;
            header.beyond = self.receive.beyond();
            header.granted = self.receive.granted();
            header.delivered = self.receive.delivered;
            header.thrown = self.receive.thrown;
        }
        let marks = header.kind == Kind::Probe && !self.protocol().confirms();
        if self.protocol().keeps() || marks {
            header.floor = self.transmit.floor();
        }
        header
    }
}
