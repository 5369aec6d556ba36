//! What drivers tell.

use isthmus_stream::{ConnectionId, LinkId, StreamId};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// What the manager tells.
    Stream(isthmus_stream::Event),
    /// The other end of a link is gone. With a time of grace the link is cut, without one its
    /// streams fail. Told as well where no stream needs it: then it can be attached anew.
    LinkGone {
        /// The link.
        link: LinkId,
        /// Which of those that had this number, by
        /// [`incarnation`](crate::Driver::incarnation): another may have its place by now.
        incarnation: u64,
        /// Why, in words.
        reason: String,
    },
    /// The socket of a lasting link is gone. Nothing of its streams is lost: they wait.
    LinkCut {
        /// The link.
        link: LinkId,
        /// Which of those that had this number.
        incarnation: u64,
        /// The number of the socket.
        nth: u32,
        /// Why, in words.
        reason: String,
    },
    /// A lasting link has another socket.
    LinkRestored {
        /// The link.
        link: LinkId,
        /// Which of those that had this number.
        incarnation: u64,
        /// The number of the socket.
        nth: u32,
        /// Bytes that are written again.
        again: u64,
    },
    /// Of what ranks wrote to a lasting link, all bytes before this one were read: they are to be
    /// told.
    LinkTaken {
        /// The link.
        link: LinkId,
        /// Which of those that had this number.
        incarnation: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// A rank sent an SU that is not the next one of its stream on its link. The stream fails.
    OutOfStep {
        /// The link.
        link: LinkId,
        /// The stream.
        stream: StreamId,
        /// What came, and what was next.
        reason: String,
    },
    /// A file is there, whole and synced.
    Kept {
        /// The connection that wrote it.
        connection: ConnectionId,
        /// Where.
        path: PathBuf,
        /// Its bytes.
        bytes: u64,
    },
    /// A connection to a file was closed without a stream: what was there before is there still.
    Unused {
        /// The connection.
        connection: ConnectionId,
        /// Where it would have written.
        path: PathBuf,
    },
    /// A file was not kept: what was there before is there still.
    NotKept {
        /// The connection that wrote it.
        connection: ConnectionId,
        /// Where.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// Counts of a driver, of all its life, and what there is now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Orders carried out, of those that are reported.
    pub orders: u64,
    /// Stores that changed a number and moved no byte.
    pub handed_over: u64,
    /// Stores that copied a packet, because its TU has several.
    pub copied: u64,
    /// Stores whose sum was not put together from those of SUs.
    pub summed_again: u64,
    /// Stores that left the bytes in rings of links.
    pub left_in_rings: u64,
    /// Bytes that were to stay in rings and were copied after all, as ranks wanted to write on.
    pub spilled_bytes: u64,
    /// Loads that changed a number and moved no byte.
    pub handed_back: u64,
    /// Loads that copied.
    pub loaded: u64,
    /// Times it slept.
    pub sleeps: u64,
    /// Frames of streams that had ended or never were.
    pub stray_frames: u64,
    /// Bytes of memory that it has for data, in use and free.
    pub memory_bytes: u64,
    /// Blocks of memory ever made.
    pub blocks_made: u64,
    /// The congestion control of each connection over TCP.
    pub congestion: BTreeMap<ConnectionId, String>,
}
