//! Events and counters of drivers.

use isthmus_stream::{ConnectionId, LinkId, StreamId};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Something that happened in a driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// An event of the manager.
    Stream(isthmus_stream::Event),
    /// The other end of a link is gone. With a grace period the link is cut, without one its
    /// streams fail. Also reported if no stream needs the link, since it can then be attached
    /// again.
    LinkGone {
        /// The link.
        link: LinkId,
        /// The [`incarnation`](crate::Driver::incarnation) of the link. A newer link may have the
        /// same number by now.
        incarnation: u64,
        /// The reason, for a message.
        reason: String,
    },
    /// The socket of a resumable link is gone. No data is lost: its streams wait.
    LinkCut {
        /// The link.
        link: LinkId,
        /// The incarnation of the link.
        incarnation: u64,
        /// The number of the socket.
        nth: u32,
        /// The reason, for a message.
        reason: String,
    },
    /// A resumable link has a new socket.
    LinkRestored {
        /// The link.
        link: LinkId,
        /// The incarnation of the link.
        incarnation: u64,
        /// The number of the socket.
        nth: u32,
        /// Bytes that are written again.
        again: u64,
    },
    /// All bytes before this one that ranks wrote to a resumable link were received. The receiver
    /// of the event must confirm them to the ranks.
    LinkReceived {
        /// The link.
        link: LinkId,
        /// The incarnation of the link.
        incarnation: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// A rank sent an SU that is not the next one of its stream on its link. The stream fails.
    OutOfStep {
        /// The link.
        link: LinkId,
        /// The stream.
        stream: StreamId,
        /// The SU that came and the SU that was expected.
        reason: String,
    },
    /// A file was completed and synced.
    Kept {
        /// The connection that wrote it.
        connection: ConnectionId,
        /// Path of the file.
        path: PathBuf,
        /// Size of the file in bytes.
        bytes: u64,
    },
    /// A connection to a file was closed without a stream. The previous file is unchanged.
    Unused {
        /// The connection.
        connection: ConnectionId,
        /// Path of the file.
        path: PathBuf,
    },
    /// A file was not completed. The previous file is unchanged.
    NotKept {
        /// The connection that wrote it.
        connection: ConnectionId,
        /// Path of the file.
        path: PathBuf,
        /// The reason, for a message.
        reason: String,
    },
}

/// Counters of a driver since its start, and its current state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Orders carried out, among those that are reported.
    pub orders: u64,
    /// Stores that renumbered a block without copying.
    pub handed_over: u64,
    /// Stores that copied a packet because its TU has several packets.
    pub copied: u64,
    /// Stores whose checksum could not be combined from those of SUs.
    pub summed_again: u64,
    /// Stores that left the data in rings of links.
    pub left_in_rings: u64,
    /// Bytes that were copied out of rings because ranks needed the room.
    pub spilled_bytes: u64,
    /// Loads that renumbered a block without copying.
    pub handed_back: u64,
    /// Loads that copied.
    pub loaded: u64,
    /// Number of sleeps.
    pub sleeps: u64,
    /// Frames of streams that had ended or never existed.
    pub stray_frames: u64,
    /// Bytes of memory for data, in use and free.
    pub memory_bytes: u64,
    /// Number of memory blocks allocated since the start.
    pub blocks_made: u64,
    /// The congestion control of each TCP connection.
    pub congestion: BTreeMap<ConnectionId, String>,
}
