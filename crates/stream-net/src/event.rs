//! Events that a driver of the stream manager reports, and the counters of a driver.

use isthmus_stream::{ConnectionId, LinkId, StreamId};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An event of a driver: an event of its stream manager, of a link or of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// An event of the driver's stream manager.
    Stream(isthmus_stream::Event),
    /// The other end of a link is gone. If the link has a grace period, it is cut; otherwise its
    /// streams fail. The driver reports this even if no stream needs the link, since the link can
    /// then be attached again.
    LinkGone {
        /// The link whose other end is gone.
        link: LinkId,
        /// The [`incarnation`](crate::Driver::incarnation) of the link, which distinguishes it from
        /// a later link with the same number.
        incarnation: u64,
        /// Why the connection was lost, as text for people.
        reason: String,
    },
    /// The socket of a resumable link is lost. No data is lost: the link's streams wait.
    LinkCut {
        /// The link that lost its socket.
        link: LinkId,
        /// The [`incarnation`](crate::Driver::incarnation) of the link, which distinguishes it from
        /// a later link with the same number.
        incarnation: u64,
        /// The number of the lost socket within the link, from 1.
        nth: u32,
        /// Why the connection was lost, as text for people.
        reason: String,
    },
    /// A resumable link continues with a new socket.
    LinkRestored {
        /// The link that continues.
        link: LinkId,
        /// The [`incarnation`](crate::Driver::incarnation) of the link, which distinguishes it from
        /// a later link with the same number.
        incarnation: u64,
        /// The number of the new socket within the link, from 1.
        nth: u32,
        /// Number of bytes that the driver writes again over the new socket.
        again: u64,
    },
    /// The driver received this number of bytes that ranks wrote to a resumable link. The receiver
    /// of the event must confirm them to the ranks.
    LinkReceived {
        /// The link over which the bytes arrived.
        link: LinkId,
        /// The [`incarnation`](crate::Driver::incarnation) of the link, which distinguishes it from
        /// a later link with the same number.
        incarnation: u64,
        /// Number of bytes received over all sockets of the link.
        bytes: u64,
    },
    /// A rank sent a striping unit that is not the next one of its stream on its link. The stream
    /// fails.
    OutOfStep {
        /// The link over which the striping unit arrived.
        link: LinkId,
        /// The stream that fails.
        stream: StreamId,
        /// The striping unit (SU) that the rank sent and the SU that was expected.
        reason: String,
    },
    /// A file was completed and synced, and has its final name.
    Kept {
        /// The connection that wrote the file.
        connection: ConnectionId,
        /// Path of the completed file.
        path: PathBuf,
        /// Size of the file in bytes.
        bytes: u64,
    },
    /// A connection to a file was closed without a stream. An older file of the same name is unchanged.
    Unused {
        /// The connection to the file.
        connection: ConnectionId,
        /// Path of the file that was not written.
        path: PathBuf,
    },
    /// The file that a stream wrote was incomplete and was removed. An older file of the same name
    /// is unchanged.
    NotKept {
        /// The connection that wrote the file.
        connection: ConnectionId,
        /// Path of the file that was not completed.
        path: PathBuf,
        /// The reason for which the file was not completed, for a message.
        reason: String,
    },
}

/// Counters of a driver of the stream manager since its start, and the present state of the driver.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Number of orders (tasks from the stream manager) to fetch, store, send, load or deliver
    /// data.
    pub orders: u64,
    /// Number of packets that were stored without copying, because the buffer's memory block became
    /// the packet.
    pub handed_over: u64,
    /// Number of packets that were copied from a buffer because the transfer unit (TU) has several
    /// packets.
    pub copied: u64,
    /// Number of stored packets whose data was read again for the checksum, because the checksums
    /// of its pieces could not be combined.
    pub summed_again: u64,
    /// Number of stored packets whose data stayed in the rings of links until it was sent.
    pub left_in_rings: u64,
    /// Number of bytes that were copied out of rings because ranks needed the room.
    pub spilled_bytes: u64,
    /// Number of received packets whose memory block became the buffer of a stream, without
    /// copying.
    pub handed_back: u64,
    /// Number of received packets whose data was copied to a buffer.
    pub loaded: u64,
    /// Number of times that the driver slept because no data could move.
    pub sleeps: u64,
    /// Number of frames from ranks for streams that had ended or never existed.
    pub stray_frames: u64,
    /// Bytes of memory blocks for data, in use and free.
    pub memory_bytes: u64,
    /// Number of memory blocks allocated since the start.
    pub blocks_made: u64,
    /// The name of the congestion control algorithm of each TCP connection.
    pub congestion: BTreeMap<ConnectionId, String>,
}
