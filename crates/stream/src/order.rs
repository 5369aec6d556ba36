//! Orders to the driver, and events for the application.

use crate::format::{Su, Tu};
use crate::ids::{BufferId, ConnectionId, Direction, LinkId, OrderId, PacketId, StreamId};
use crate::stall::Wait;
use crate::wire::Header;

/// An order to the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// The number of the order, which the driver's report repeats.
    pub id: OrderId,
    /// The work to do.
    pub work: Work,
}

/// The work of an order. For work marked *reported*, the driver calls `handle_completed` exactly
/// once, at any later time. Other work counts as done when the driver polls it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Work {
    /// Open the connection, and report with `handle_connected` or `handle_disconnected`.
    Connect {
        /// The connection.
        connection: ConnectionId,
        /// The destination.
        destination: String,
    },
    /// Close the connection, which the manager no longer needs.
    Disconnect {
        /// The connection.
        connection: ConnectionId,
    },
    /// Move an SU from its link into a buffer. SUs of one stream and link arrive in the order of
    /// these orders. *Reported.*
    Fetch {
        /// The stream.
        stream: StreamId,
        /// The TU of the SU.
        tu: Tu,
        /// The SU, with its link.
        su: Su,
        /// The buffer. The data goes to `su.offset` in it.
        buffer: BufferId,
    },
    /// While data flows into the buffer: make the header of one of its packets, possibly in place.
    /// `Send` provides the sequence number, checksum and window.
    Prepare {
        /// The stream.
        stream: StreamId,
        /// The buffer with the data of the packet.
        buffer: BufferId,
        /// The fields of the header that are known already.
        header: Header,
    },
    /// Move a packet's data from a buffer into network memory, and sum it on the way. A driver with
    /// one pool for staging and network memory may turn the buffer's memory into the packet, and
    /// give the buffer new memory, if the packet is the whole TU. *Reported*, with the sum.
    Store {
        /// The stream.
        stream: StreamId,
        /// The slot in network memory.
        packet: PacketId,
        /// The buffer.
        buffer: BufferId,
        /// First byte of the packet, counted in the buffer.
        offset: u64,
        /// Number of data bytes of the packet.
        bytes: u32,
    },
    /// Send a packet from network memory, header and data. *Reported* when the memory may be reused
    /// or, on an unconfirmed connection, when the packet counts as done.
    Send {
        /// The connection.
        connection: ConnectionId,
        /// The packet. A mark without data has none.
        packet: PacketId,
        /// The header of the packet.
        header: Header,
    },
    /// Send a header without data: an acknowledgement or a probe. A lossy connection may drop it.
    Control {
        /// The connection.
        connection: ConnectionId,
        /// The header.
        header: Header,
    },
    /// Move a part of a received packet into a buffer. A driver with one pool for both memories may
    /// reference the packet's memory instead, and keep it after `Free` until the buffer is loaded
    /// again. *Reported.*
    Load {
        /// The stream.
        stream: StreamId,
        /// The packet.
        packet: PacketId,
        /// First byte of the part, counted in the packet.
        from: u64,
        /// The buffer.
        buffer: BufferId,
        /// First byte of the part, counted in the buffer.
        to: u64,
        /// Number of bytes of the part.
        bytes: u64,
    },
    /// Move an SU from a buffer to its link. *Reported* when the ranks have it.
    Deliver {
        /// The stream.
        stream: StreamId,
        /// The TU of the SU.
        tu: Tu,
        /// The SU, with its link.
        su: Su,
        /// The buffer, with the data at `su.offset`.
        buffer: BufferId,
        /// Whether the whole TU came. Otherwise the same number of bytes goes over the link, marked
        /// as void, so that ranks stay in step and discard them.
        good: bool,
    },
    /// Note that this slot of network memory is free.
    Free {
        /// The slot.
        packet: PacketId,
    },
    /// The order is no longer needed. End it if possible and report it as withdrawn, otherwise as
    /// completed.
    Withdraw {
        /// The order to withdraw.
        order: OrderId,
    },
}

/// The reason for which a stream failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    /// The connection is gone, for this reason.
    #[error("connection {0} is lost: {1}")]
    ConnectionLost(ConnectionId, String),
    /// A rank on this link is gone.
    #[error("a rank on link {0} is gone")]
    RankLost(LinkId),
    /// The sender cut the stream short within this ADU, of which part had come.
    #[error("the sender cut it short in ADU {adu}, of which {bytes} bytes came")]
    CutShort {
        /// The ADU.
        adu: u64,
        /// Number of bytes of the ADU that came before the cut.
        bytes: u64,
    },
    /// A stream that this one follows, or behind which it waits, failed or was cancelled.
    #[error("stream {0}, which it comes after, did not end well")]
    After(StreamId),
    /// A stream in lock step with this one failed or was cancelled.
    #[error("stream {0}, in step with it, did not end well")]
    Step(StreamId),
    /// The receiver discarded packets of the stream.
    #[error("the receiver threw packets of it away")]
    Discarded,
    /// The peer's data does not match the stream.
    #[error("{0}")]
    Mismatch(String),
    /// Packets of a later stream came without the end of this one, on a connection without repair.
    /// The end mark is lost, and further ADUs may be missing.
    #[error("its end was lost on a connection that repairs nothing")]
    EndLost,
}

/// How a stream ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// All ADUs of the stream are done.
    Done,
    /// The stream failed.
    Failed(Reason),
    /// The application cancelled the stream.
    Cancelled,
}

/// An event of the manager, for the application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The connection is open.
    Opened(ConnectionId),
    /// The connection is closed, after `close`, with all its streams ended.
    Closed(ConnectionId),
    /// The connection is lost.
    Lost {
        /// The connection.
        connection: ConnectionId,
        /// The reason for the loss.
        reason: String,
    },
    /// The stream got its resources, for the first time or again.
    Activated(StreamId),
    /// The stream was swapped out.
    SwappedOut(StreamId),
    /// An ADU started to move.
    AduStarted {
        /// The stream.
        stream: StreamId,
        /// The ADU.
        adu: u64,
    },
    /// An ADU is in network memory, so that ranks may reuse their memory (transmit), or went over
    /// the links (receive).
    AduMoved {
        /// The stream.
        stream: StreamId,
        /// The ADU.
        adu: u64,
        /// Whether the whole ADU came. Always true on transmit.
        good: bool,
    },
    /// An ADU is done, according to the protocol.
    AduDone {
        /// The stream.
        stream: StreamId,
        /// The ADU.
        adu: u64,
        /// Whether no packet of the ADU is known to be lost.
        good: bool,
    },
    /// The stream ended, and none of its data is under way between links and network memory. Ranks
    /// may reuse their memory.
    Ended {
        /// The stream.
        stream: StreamId,
        /// The outcome.
        end: End,
    },
    /// A packet came with corrupted data and was discarded.
    Corrupted {
        /// The connection.
        connection: ConnectionId,
        /// The receiving stream, if it is registered.
        stream: Option<StreamId>,
        /// The ADU.
        adu: u64,
        /// The TU of the first corrupted byte, in the receiver's format.
        tu: Option<u64>,
        /// First corrupted byte in the ADU, and number of bytes.
        range: (u64, u32),
    },
    /// Bytes of an ADU are permanently missing: the sender does not send them again.
    Missing {
        /// The stream.
        stream: StreamId,
        /// The ADU.
        adu: u64,
        /// First missing byte in the ADU, and number of bytes.
        range: (u64, u64),
    },
    /// A link that these streams use was cut.
    LinkCut {
        /// The link.
        link: LinkId,
        /// The streams, in ascending order.
        streams: Vec<StreamId>,
    },
    /// The stream made no progress for the configured time.
    Stalled {
        /// The stream.
        stream: StreamId,
        /// Time without progress, in nanoseconds.
        idle_ns: u64,
        /// The reasons for which the stream waits.
        waits: Vec<Wait>,
    },
}

/// The state of a stream (paper, 5.3.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// The stream is in the dependence resolver.
    Inactive,
    /// The stream is in the resource scheduler.
    Pending,
    /// The stream is in the execution module.
    Active,
    /// All data of the stream is in network memory, in the transmit half of the protocol.
    Draining,
    /// All ADUs of the stream are done.
    Done,
    /// The stream failed; `end` has the reason.
    Failed,
    /// The stream was cancelled.
    Cancelled,
}

impl State {
    /// Number of states.
    pub const COUNT: usize = 7;
}

impl Event {
    /// Returns the stream that the event is about, if any.
    #[must_use]
    pub fn stream(&self) -> Option<StreamId> {
        match self {
            Self::Activated(stream)
            | Self::SwappedOut(stream)
            | Self::AduStarted { stream, .. }
            | Self::AduMoved { stream, .. }
            | Self::AduDone { stream, .. }
            | Self::Ended { stream, .. }
            | Self::Missing { stream, .. }
            | Self::Stalled { stream, .. } => Some(*stream),
            Self::Corrupted { stream, .. } => *stream,
            _ => None,
        }
    }
}

/// Classification of orders, for drivers that route them by direction.
impl Work {
    /// Returns the direction of data that the order belongs to. None for orders that belong to no
    /// direction.
    #[must_use]
    pub fn direction(&self) -> Option<Direction> {
        match self {
            Self::Fetch { .. } | Self::Prepare { .. } | Self::Store { .. } | Self::Send { .. } => {
                Some(Direction::Transmit)
            }
            Self::Load { .. } | Self::Deliver { .. } => Some(Direction::Receive),
            _ => None,
        }
    }
}
