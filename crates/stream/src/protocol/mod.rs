//! The protocol of a connection: a transmit and a receive half that share its state (paper, 4.3).
//!
//! The receive half accepts headers, and passes their acknowledgements and credit to the transmit
//! half. Only the transmit half has timeouts. Both handle descriptors of packets in network memory.
//!
//! There is no congestion control: the window is limited by the peer's credit and the room in
//! network memory. The driver does the pacing.

mod incoming;
pub(crate) mod receive;
mod sending;
pub(crate) mod transmit;

pub(crate) use receive::Receive;
pub(crate) use transmit::Transmit;

use crate::config::{ConnectionSpec, Protocol};
use crate::ids::{AppId, Instant, StreamId};
use crate::wire::{Header, Kind};
use std::collections::VecDeque;

/// The manager's answer to an arriving packet whose header the driver offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// Store the packet's data in this slot of network memory and compute its checksum. Then report
    /// this with `handle_arrived`.
    Take(crate::ids::PacketId),
    /// The packet has no data, and was accepted.
    Taken,
    /// There is no room, or the connection is not open yet. Hold the packet back if possible, and
    /// offer it again after the manager's next orders; otherwise drop it.
    Later,
    /// Drop the packet.
    Drop(Drop),
}

/// The reason why an arriving packet is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drop {
    /// The packet is a duplicate, or so late that it counts as lost.
    Duplicate,
    /// The connection is lost, or the packet belongs to another channel.
    Stray,
    /// The sequence number, the credit or the acknowledgement of the packet is impossible.
    Impossible,
}

/// The manager's state of one logical connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub app: AppId,
    pub spec: ConnectionSpec,
    pub open: bool,
    /// Whether the application has called `close`.
    pub closing: bool,
    /// The reason for which the driver has dropped the connection, or will drop it.
    pub gone: Option<String>,
    pub transmit: Transmit,
    pub receive: Receive,
    /// Streams of the connection by direction, in the order of registration, from the first one
    /// that has not completed.
    pub order: [VecDeque<StreamId>; 2],
    /// Number of streams registered on the connection so far, by direction: the ordinal of the next
    /// one.
    pub ordinals: [u32; 2],
    /// Number of the connection's streams that have not ended.
    pub live: u32,
    /// For a closing connection whose streams have ended: the time at which the manager gives it
    /// up, and the counts of sent and received packets when that time was set.
    pub given_up_at: Option<(Instant, [u64; 4])>,
    /// Whether the connection has returned its receive window to the memory for other connections.
    pub window_returned: bool,
}

impl Connection {
    /// Creates the state of a connection that an application opens.
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

    /// Returns the protocol of the connection.
    pub fn protocol(&self) -> Protocol {
        self.spec.protocol
    }

    /// Returns the header with the connection's acknowledgements and credit filled in, which every
    /// header carries.
    pub fn fill_in(&self, mut header: Header) -> Header {
        if self.protocol().confirms() {
            header.acknowledged = self.receive.expected;
            header.beyond = self.receive.beyond();
            header.granted = self.receive.granted();
            header.delivered = self.receive.delivered;
            header.discarded = self.receive.discarded;
        }
        let marks = header.kind == Kind::Probe && !self.protocol().confirms();
        if self.protocol().keeps() || marks {
            header.floor = self.transmit.floor();
        }
        header
    }
}
