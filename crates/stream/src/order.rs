//! Orders of the manager to the driver, and events for the application.

use crate::format::{Su, Tu};
use crate::ids::{BufferId, ConnectionId, Direction, LinkId, OrderId, PacketId, StreamId};
use crate::stall::Wait;
use crate::wire::Header;

/// An order of the manager to the driver, which does the work with real data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// The number of the order, which the driver's report repeats.
    pub id: OrderId,
    /// The work that the driver must do.
    pub work: Work,
}

/// The work of an order. For work marked *reported*, the driver calls `handle_completed` exactly
/// once, at any later time. Other work counts as done when the driver polls it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Work {
    /// Open the connection, and report with `handle_connected` or `handle_disconnected`.
    Connect {
        /// The connection to open.
        connection: ConnectionId,
        /// The destination of the connection, as text.
        destination: String,
    },
    /// Close the connection, which the manager no longer needs.
    Disconnect {
        /// The connection to close.
        connection: ConnectionId,
    },
    /// Move a striping unit (SU) from its link into a buffer. SUs of one stream and link arrive in
    /// the order of these orders. *Reported*: the driver calls `handle_completed` afterwards.
    Fetch {
        /// The stream to which the striping unit (SU) belongs.
        stream: StreamId,
        /// The transfer unit (TU) to which the striping unit (SU) belongs.
        tu: Tu,
        /// The striping unit (SU) to fetch, with its link.
        su: Su,
        /// The buffer for the striping unit (SU). The data goes to byte `su.offset` in it.
        buffer: BufferId,
    },
    /// Write the header of one of the buffer's packets while data still arrives in the buffer. The
    /// order `Send` adds sequence number, checksum and window later.
    Prepare {
        /// The stream to which the packet belongs.
        stream: StreamId,
        /// The buffer with the data of the packet.
        buffer: BufferId,
        /// The fields of the packet's header that are known already.
        header: Header,
    },
    /// Copy a packet's data from a buffer into network memory, and compute its checksum on the way.
    /// If the packet is a whole transfer unit (TU), the driver may use the buffer's memory for the
    /// packet in place of a copy, and give the buffer new memory. *Reported*: the driver calls
    /// `handle_completed` with the checksum.
    Store {
        /// The stream to which the packet belongs.
        stream: StreamId,
        /// The slot in network memory for the packet.
        packet: PacketId,
        /// The buffer with the data of the packet.
        buffer: BufferId,
        /// First byte of the packet, counted from the start of the buffer.
        offset: u64,
        /// Number of data bytes of the packet.
        bytes: u32,
    },
    /// Send a packet from network memory, header and data. *Reported*: the driver calls
    /// `handle_completed` when the memory may be reused or, on an unconfirmed connection, when the
    /// packet counts as done.
    Send {
        /// The connection over which to send the packet.
        connection: ConnectionId,
        /// The number of the packet, by which its data is found in network memory. An end mark
        /// without data has no memory there.
        packet: PacketId,
        /// The header of the packet to send.
        header: Header,
    },
    /// Send a header without data: an acknowledgement or a probe. A lossy connection may drop it.
    Control {
        /// The connection over which to send the header.
        connection: ConnectionId,
        /// The header to send.
        header: Header,
    },
    /// Move a part of a received packet into a buffer. A driver with one pool for both memories may
    /// reference the packet's memory instead, and keep it after `Free` until the buffer is loaded
    /// again. *Reported*: the driver calls `handle_completed` afterwards.
    Load {
        /// The stream that receives the packet.
        stream: StreamId,
        /// The slot of the packet in network memory.
        packet: PacketId,
        /// First byte of the part, counted from the start of the packet.
        from: u64,
        /// The buffer into which the part is moved.
        buffer: BufferId,
        /// First byte of the part, counted from the start of the buffer.
        to: u64,
        /// Number of bytes of the part.
        bytes: u64,
    },
    /// Move a striping unit (SU) from a buffer to its link. *Reported*: the driver calls
    /// `handle_completed` when the ranks have it.
    Deliver {
        /// The stream to which the striping unit (SU) belongs.
        stream: StreamId,
        /// The transfer unit (TU) to which the striping unit (SU) belongs.
        tu: Tu,
        /// The striping unit (SU) to deliver, with its link.
        su: Su,
        /// The buffer with the data of the striping unit (SU), at byte `su.offset`.
        buffer: BufferId,
        /// Whether the whole transfer unit (TU) arrived. Otherwise the same number of bytes goes
        /// over the link, marked as void, so that ranks stay in step and discard them.
        good: bool,
    },
    /// This slot of network memory is free now. The driver may reuse its memory.
    Free {
        /// The slot of network memory that is free.
        packet: PacketId,
    },
    /// Withdraw an earlier order, which is no longer needed: end it if possible and report it as
    /// withdrawn, otherwise report it as completed.
    Withdraw {
        /// The order to withdraw.
        order: OrderId,
    },
}

/// The reason for which a stream failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    /// The connection of the stream is lost, for this reason.
    #[error("connection {0} is lost: {1}")]
    ConnectionLost(ConnectionId, String),
    /// A rank that sends or receives the stream on this link is gone.
    #[error("a rank on link {0} is gone")]
    RankLost(LinkId),
    /// The sender cut the stream short within this application data unit (ADU), of which a part had
    /// arrived.
    #[error("the sender cut it short in ADU {adu}, of which {bytes} bytes came")]
    CutShort {
        /// Number of the application data unit (ADU) that is incomplete.
        adu: u64,
        /// Number of bytes of the application data unit (ADU) that arrived before the cut.
        bytes: u64,
    },
    /// A stream that must precede this one failed or was cancelled.
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
    /// Packets of a later stream arrived without the end mark of this one, on a connection without
    /// repair. The end mark is lost, and further application data units (ADUs) may be missing.
    #[error("its end was lost on a connection that repairs nothing")]
    EndLost,
}

/// The outcome of a stream that ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// All application data units (ADUs) of the stream are done, as the protocol of its connection
    /// defines.
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
    /// The connection is closed, as the application requested. All its streams have ended.
    Closed(ConnectionId),
    /// The connection is lost.
    Lost {
        /// The connection that is lost.
        connection: ConnectionId,
        /// The reason for the loss, for a message.
        reason: String,
    },
    /// The stream received its resources, for the first time or again.
    Activated(StreamId),
    /// The stream was swapped out: it released its resources for a waiting stream.
    SwappedOut(StreamId),
    /// An application data unit (ADU) started to move.
    AduStarted {
        /// The stream of the application data unit (ADU).
        stream: StreamId,
        /// The number of the application data unit (ADU) that started.
        adu: u64,
    },
    /// An application data unit (ADU) is in network memory, so that ranks may reuse their memory
    /// (transmit), or was sent over the links to the ranks (receive).
    AduMoved {
        /// The stream of the application data unit (ADU).
        stream: StreamId,
        /// The number of the application data unit (ADU) that was moved.
        adu: u64,
        /// Whether the whole application data unit (ADU) was moved. Always true on transmit.
        good: bool,
    },
    /// An application data unit (ADU) is done, according to the protocol.
    AduDone {
        /// The stream of the application data unit (ADU).
        stream: StreamId,
        /// The number of the application data unit (ADU) that is done.
        adu: u64,
        /// Whether no packet of the application data unit (ADU) is known to be lost.
        good: bool,
    },
    /// The stream ended, and none of its data is under way between links and network memory. Ranks
    /// may reuse their memory.
    Ended {
        /// The stream that ended.
        stream: StreamId,
        /// The outcome of the stream.
        end: End,
    },
    /// A packet arrived with corrupted data and was discarded.
    Corrupted {
        /// The connection over which the packet arrived.
        connection: ConnectionId,
        /// The receiving stream, if it is registered.
        stream: Option<StreamId>,
        /// The number of the application data unit (ADU) of the corrupted packet.
        adu: u64,
        /// The transfer unit (TU) of the first corrupted byte, in the receiver's format.
        tu: Option<u64>,
        /// First byte of the packet in the application data unit (ADU), and the packet's number of
        /// bytes.
        range: (u64, u32),
    },
    /// Bytes of an application data unit (ADU) are permanently missing: the sender does not send
    /// them again.
    Missing {
        /// The stream of the application data unit (ADU).
        stream: StreamId,
        /// The number of the application data unit (ADU) with missing bytes.
        adu: u64,
        /// First missing byte in the application data unit (ADU), and number of missing bytes.
        range: (u64, u64),
    },
    /// A link between ranks and interface was cut, which stops these streams.
    LinkCut {
        /// The link that was cut.
        link: LinkId,
        /// The streams that use the link, in ascending order.
        streams: Vec<StreamId>,
    },
    /// The stream made no progress for the configured time.
    Stalled {
        /// The stream that made no progress.
        stream: StreamId,
        /// Time in nanoseconds for which the stream made no progress.
        idle_ns: u64,
        /// The reasons for which the stream waits.
        waits: Vec<Wait>,
    },
}

/// The state of a stream, from registration to its end (paper, 5.3.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// The stream is in the dependence resolver: it waits for its connection or for other streams.
    Inactive,
    /// The stream is in the resource scheduler: it waits for staging memory and engines.
    Pending,
    /// The stream is in the execution module: its data moves.
    Active,
    /// All data of the transmit stream is in network memory, and the protocol still sends it.
    Draining,
    /// All application data units (ADUs) of the stream are done, according to the protocol.
    Done,
    /// The stream failed, for the reason that its [`End`] states.
    Failed,
    /// The stream was cancelled.
    Cancelled,
}

impl State {
    /// Number of states of a stream.
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

/// Classification of orders by direction, for drivers that handle the directions separately.
impl Work {
    /// Returns the direction of the data that the order moves. None for orders that belong to no
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
