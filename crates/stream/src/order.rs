//! What the manager tells its driver: orders to carry out, and events to pass on.

use crate::format::{Su, Tu};
use crate::ids::{BufferId, ConnectionId, Direction, LinkId, OrderId, PacketId, StreamId};
use crate::stall::Wait;
use crate::wire::Header;
use std::fmt;

/// An order to the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// Its number, to report by.
    pub id: OrderId,
    /// What to do.
    pub work: Work,
}

/// What to do. Those marked *reported* are reported by `handle_completed` once, at any later time;
/// the others are done when they are polled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Work {
    /// Make the connection, and report by `handle_connected` or `handle_disconnected`.
    Connect {
        /// Which.
        connection: ConnectionId,
        /// Where to.
        destination: String,
    },
    /// Let go of the connection: the manager is through with it.
    Disconnect {
        /// Which.
        connection: ConnectionId,
    },
    /// Move an SU from its link into a buffer. Of one stream and link, SUs come in the order of
    /// these orders. *Reported.*
    Fetch {
        /// The stream.
        stream: StreamId,
        /// The TU that it is of.
        tu: Tu,
        /// The SU, with its link.
        su: Su,
        /// Where to; its bytes go at `su.offset` of the data in the buffer.
        buffer: BufferId,
    },
    /// While data flows into the buffer: make the header of one of its packets, in place if the
    /// driver likes. Sequence number, checksum and window come with `Send`.
    Prepare {
        /// The stream.
        stream: StreamId,
        /// The buffer whose data the packet is.
        buffer: BufferId,
        /// What is known of it.
        header: Header,
    },
    /// Move a packet's data from a buffer into network memory, summing what passes. A driver whose
    /// staging and network memory are one may give the memory of the buffer to the packet and take
    /// other for the buffer, if the packet is all of the TU. *Reported*, with the sum.
    Store {
        /// The stream.
        stream: StreamId,
        /// The place in network memory.
        packet: PacketId,
        /// The buffer.
        buffer: BufferId,
        /// The packet's first byte, counted in the data of the buffer.
        offset: u64,
        /// How many.
        bytes: u32,
    },
    /// Send a packet from network memory: header and data. *Reported* when the memory may be used
    /// again or, on an unconfirmed connection, when the packet may be called done.
    Send {
        /// The connection.
        connection: ConnectionId,
        /// The packet; a mark without data has none.
        packet: PacketId,
        /// Its header.
        header: Header,
    },
    /// Send a header without data: an acknowledgement or a probe. It may be dropped on a connection
    /// that drops packets.
    Control {
        /// The connection.
        connection: ConnectionId,
        /// The header.
        header: Header,
    },
    /// Move a part of a received packet into a buffer. A driver whose memories are one may refer to
    /// the packet's memory instead, and keep it after `Free` until the buffer is loaded anew.
    /// *Reported.*
    Load {
        /// The stream.
        stream: StreamId,
        /// The packet.
        packet: PacketId,
        /// The first byte, counted in the packet.
        from: u64,
        /// Where to.
        buffer: BufferId,
        /// The first byte, counted in the data of the buffer.
        to: u64,
        /// How many.
        bytes: u64,
    },
    /// Move an SU from a buffer to its link. *Reported* when the ranks have it.
    Deliver {
        /// The stream.
        stream: StreamId,
        /// The TU that it is of.
        tu: Tu,
        /// The SU, with its link.
        su: Su,
        /// The buffer; the bytes are at `su.offset` of its data.
        buffer: BufferId,
        /// Whether all of the TU came. If not, as many bytes go over the link, marked as void:
        /// ranks stay in step and take none for good.
        good: bool,
    },
    /// The place in network memory is free.
    Free {
        /// Which.
        packet: PacketId,
    },
    /// The order is not wanted any more: end it if that can be done, and report it as withdrawn, or
    /// as completed.
    Withdraw {
        /// Which order.
        order: OrderId,
    },
}

/// Why a stream failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The connection is gone: its words.
    ConnectionLost(ConnectionId, String),
    /// A rank on this link is gone.
    RankLost(LinkId),
    /// The sender cut it short: in this ADU, after so many bytes of it were held here.
    CutShort {
        /// The ADU.
        adu: u64,
        /// Bytes of it that came.
        bytes: u64,
    },
    /// A stream that it comes after, or behind which it stands, failed or was cancelled.
    After(StreamId),
    /// A stream in step with it failed or was cancelled.
    Step(StreamId),
    /// The receiver threw packets of it away.
    Discarded,
    /// What the peer sends is not what was asked for.
    Mismatch(String),
    /// Packets of a later stream came, and its end had not: it was lost, on a connection that
    /// repairs nothing. Whether ADUs came after the last that is known nobody can say.
    EndLost,
}

/// How a stream ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// All of it is done.
    Done,
    /// It failed.
    Failed(Reason),
    /// The application cancelled it.
    Cancelled,
}

/// What the driver may want to pass on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The connection is open.
    Opened(ConnectionId),
    /// The connection is closed, after `close`, with all its streams ended.
    Closed(ConnectionId),
    /// The connection is gone: why, and bytes that it held for streams that nobody asked for.
    Lost {
        /// Which.
        connection: ConnectionId,
        /// Why.
        reason: String,
    },
    /// The stream has its resources for the first time or again.
    Activated(StreamId),
    /// The stream was swapped out.
    SwappedOut(StreamId),
    /// An ADU begins to move.
    AduBegun {
        /// The stream.
        stream: StreamId,
        /// The ADU.
        adu: u64,
    },
    /// An ADU is in network memory, so that the ranks' memory is theirs (transmit), or went over
    /// the links (receive).
    AduMoved {
        /// The stream.
        stream: StreamId,
        /// The ADU.
        adu: u64,
        /// Whether all of it came. Always, on transmit.
        good: bool,
    },
    /// An ADU is done as the protocol says.
    AduDone {
        /// The stream.
        stream: StreamId,
        /// The ADU.
        adu: u64,
        /// Whether no packet of it is known to be lost.
        good: bool,
    },
    /// The stream ended, and nothing of it is under way between links and network memory any more:
    /// its buffers on the ranks' side are theirs.
    Ended {
        /// The stream.
        stream: StreamId,
        /// How.
        end: End,
    },
    /// A packet came whose data is not what was sent. It was thrown away.
    Corrupted {
        /// The connection.
        connection: ConnectionId,
        /// The stream that receives it, if it is registered.
        stream: Option<StreamId>,
        /// The ADU.
        adu: u64,
        /// The TU in which the bytes begin, as the receiving stream cuts it.
        tu: Option<u64>,
        /// First byte, counted in the ADU, and number of bytes.
        range: (u64, u32),
    },
    /// Bytes are missing that nobody will send again.
    Missing {
        /// The stream.
        stream: StreamId,
        /// The ADU.
        adu: u64,
        /// First byte, counted in the ADU, and number of bytes.
        range: (u64, u64),
    },
    /// A link was cut, and these streams use it.
    LinkCut {
        /// The link.
        link: LinkId,
        /// The streams, ascending.
        streams: Vec<StreamId>,
    },
    /// The stream has made no progress for the stated time, and this is what it waits for.
    Stalled {
        /// The stream.
        stream: StreamId,
        /// For how long, in nanoseconds.
        idle_ns: u64,
        /// What for.
        waits: Vec<Wait>,
    },
}

/// Where a stream is (paper, 5.3.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// With the dependence resolver.
    Inactive,
    /// With the resource scheduler.
    Pending,
    /// With the execution module.
    Active,
    /// All of it is in network memory, with the transmit half of the protocol.
    Draining,
    /// All of it is done.
    Done,
    /// It failed; the end says why.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl State {
    /// How many there are.
    pub const COUNT: usize = 7;
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectionLost(connection, why) => {
                write!(f, "connection {connection} is lost: {why}")
            }
            Self::RankLost(link) => write!(f, "a rank on link {link} is gone"),
            Self::CutShort { adu, bytes } => {
                write!(
                    f,
                    "the sender cut it short in ADU {adu}, of which {bytes} bytes came"
                )
            }
            Self::After(stream) => {
                write!(f, "stream {stream}, which it comes after, did not end well")
            }
            Self::Step(stream) => write!(f, "stream {stream}, in step with it, did not end well"),
            Self::Discarded => f.write_str("the receiver threw packets of it away"),
            Self::Mismatch(what) => f.write_str(what),
            Self::EndLost => f.write_str("its end was lost on a connection that repairs nothing"),
        }
    }
}

impl Event {
    /// The direction-free name of a stream's own events, for logs: the stream it is about.
    #[must_use]
    pub fn stream(&self) -> Option<StreamId> {
        match self {
            Self::Activated(stream)
            | Self::SwappedOut(stream)
            | Self::AduBegun { stream, .. }
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

/// What a stream may ask of the driver, by direction; for drivers that route orders.
impl Work {
    /// The direction whose pipe carries it out, if it is a matter of one.
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
