//! Messages of the daemon.

use crate::request::Direction;
use serde::{Deserialize, Serialize};

/// A message of the daemon, one line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// A request is done.
    Answer {
        /// The number of the request.
        id: u64,
        /// The result.
        answer: Answer,
    },
    /// A request is refused and had no effect.
    Refused {
        /// The number of the request; none if it could not be read.
        id: Option<u64>,
        /// The reason and the remedy.
        refusal: Refusal,
    },
    /// An event.
    Event {
        /// What.
        event: Event,
    },
    /// News of a lasting link, for the session of its process only.
    Link {
        /// The link.
        link: u16,
        /// Its key, as another link may have the number by now.
        key: String,
        /// What.
        news: LinkNews,
    },
}

/// News of a lasting link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkNews {
    /// The daemon has received all bytes before this one.
    Taken {
        /// The number of bytes, over all of its sockets.
        bytes: u64,
    },
    /// Its socket is gone, and the link waits for a new one.
    Cut {
        /// The number of the socket that is gone.
        nth: u32,
    },
}

/// The reason of a refusal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind of the reason, for programs.
    pub kind: RefusalKind,
    /// One line with the problem, its location and the remedy.
    pub text: String,
}

/// Kinds of reasons of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// The request is invalid.
    Garbled,
    /// Another version of the protocol.
    Version,
    /// A token or a ticket that is invalid, or does not grant the right.
    Denied,
    /// An object that does not exist.
    Unknown,
    /// The request exceeds the available amount or a limit.
    Limit,
    /// The request conflicts with the current state.
    Conflict,
    /// The daemon or the application ends.
    Ending,
    /// The operation started and failed: a closed file was not kept.
    Failed,
}

/// The answer to the first request of a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Welcome {
    /// The application's number.
    pub application: u32,
    /// The application's ticket, for further processes and links.
    pub ticket: String,
    /// The number of this session, for lasting links.
    pub session: u32,
    /// How long a link over TCP or TLS may be without a socket; 0: it ends with its socket.
    pub link_grace_ns: u64,
    /// The daemon's version of isthmus.
    pub isthmus: String,
    /// Bytes of staging memory of the application's active streams, in each direction.
    pub staging_bytes: u64,
    /// Bytes of network memory of the application's connections, in each direction.
    pub network_bytes: u64,
}

/// The result of a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The request is done.
    Done,
    /// The client is admitted.
    Welcome(Welcome),
    /// The socket is a link now, or the descriptors of its rings follow.
    Linked,
    /// The socket is a lasting link now.
    Lasts {
        /// Bytes that the daemon has received over the link. The rank must write the bytes after
        /// them.
        received: u64,
        /// How long the link may be without a socket.
        grace_ns: u64,
    },
    /// A connection's number.
    Connection {
        /// The number.
        connection: u32,
    },
    /// The numbers of streams, in the order of their submission.
    Streams {
        /// The numbers.
        streams: Vec<u32>,
    },
    /// The status of a stream.
    Stream {
        /// The value.
        stream: Stream,
    },
    /// The status of a connection.
    ConnectionStatus {
        /// The value.
        connection: Connection,
    },
    /// Everything that the client may see.
    Overview {
        /// The value.
        overview: Overview,
    },
}

/// The status of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stream {
    /// Its number.
    pub stream: u32,
    /// Its application's number.
    pub application: u32,
    /// Its connection.
    pub connection: u32,
    /// Its direction.
    pub direction: Direction,
    /// `inactive`, `pending`, `active`, `draining`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// Whether the stream has ended completely.
    pub over: bool,
    /// The reason why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of ADUs, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adus: Option<u64>,
    /// ADUs moved: to network memory (transmit) or to the ranks (receive).
    pub moved: u64,
    /// ADUs done, in the sense of the protocol.
    pub done: u64,
    /// Moved or done ADUs with missing data.
    pub incomplete: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// The reasons why it waits, one text each.
    pub waits: Vec<String>,
}

/// The status of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Connection {
    /// Its number.
    pub connection: u32,
    /// Its application's number.
    pub application: u32,
    /// Its destination.
    pub destination: String,
    /// Whether it is open.
    pub open: bool,
    /// The reason why it is gone, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<String>,
    /// Streams that have not ended.
    pub streams: u32,
    /// Data bytes in network memory, transmit.
    pub transmit_bytes: u64,
    /// Data bytes in network memory, receive.
    pub receive_bytes: u64,
    /// Data bytes that its streams moved, transmit and receive.
    pub moved_bytes: [u64; 2],
    /// The congestion control of its socket, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
}

/// A link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Link {
    /// The application's number of the link.
    pub link: u16,
    /// Its application's number.
    pub application: u32,
    /// `rings`, `unix`, `tcp` or `tls`.
    pub carrier: String,
    /// Whether its ends are attached.
    pub attached: bool,
    /// Whether its socket was cut and it waits for a new one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Everything that the client may see.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Overview {
    /// Numbers and names of applications.
    pub applications: Vec<(u32, String)>,
    /// Connections.
    pub connections: Vec<Connection>,
    /// Streams that have not ended, and the latest that have.
    pub streams: Vec<Stream>,
    /// Links.
    pub links: Vec<Link>,
    /// Counts of the daemon.
    pub counts: Counts,
    /// Entries left out because the line was full: of streams, ended ones first, the oldest of them
    /// first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Counts since the start of the daemon, and its current use of memory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Nanoseconds since the start.
    pub up_ns: u64,
    /// Data bytes sent for the first time.
    pub sent_bytes: u64,
    /// Data bytes delivered to ranks as good.
    pub delivered_bytes: u64,
    /// Packets sent for the first time.
    pub packets: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Packets with corrupted data.
    pub corrupted: u64,
    /// Staging memory, used and total, for transmit and receive, in bytes.
    pub staging_bytes: [(u64, u64); 2],
    /// Network memory, used and total, for transmit and receive, in bytes.
    pub network_bytes: [(u64, u64); 2],
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Event {
    /// A connection is open.
    Opened {
        /// The connection.
        connection: u32,
    },
    /// A connection is closed.
    Closed {
        /// The connection.
        connection: u32,
    },
    /// A connection is gone.
    Lost {
        /// The connection.
        connection: u32,
        /// Why.
        reason: String,
    },
    /// An ADU is moved: the ranks may reuse their memory.
    Moved {
        /// The stream.
        stream: u32,
        /// The ADU.
        adu: u64,
        /// Whether it is complete.
        good: bool,
    },
    /// An ADU is done.
    Done {
        /// The stream.
        stream: u32,
        /// The ADU.
        adu: u64,
        /// Whether it is complete.
        good: bool,
    },
    /// A stream ended.
    Ended {
        /// Its final status.
        stream: Stream,
    },
    /// A stream made no progress for the stated time.
    Stalled {
        /// The stream.
        stream: u32,
        /// The duration.
        idle_ns: u64,
        /// The reasons why it waits, one text each.
        waits: Vec<String>,
    },
    /// Bytes are permanently missing.
    Missing {
        /// The stream.
        stream: u32,
        /// The ADU.
        adu: u64,
        /// The offset of the first one in the ADU.
        from: u64,
        /// The number of them.
        bytes: u64,
    },
    /// A rank sent data out of order. Its stream fails.
    OutOfStep {
        /// The link.
        link: u16,
        /// The stream.
        stream: u32,
        /// The received data, and the expected data.
        reason: String,
    },
    /// Corrupted data arrived and was discarded.
    Corrupted {
        /// A text with the location.
        text: String,
        /// The connection.
        connection: u32,
    },
    /// The socket of a lasting link is cut, and the link waits for a new one.
    LinkCut {
        /// The link.
        link: u16,
        /// Why.
        reason: String,
    },
    /// A lasting link has a new socket and continues.
    LinkRestored {
        /// The link.
        link: u16,
        /// Bytes that the daemon writes again.
        again: u64,
    },
    /// The other end of a link is gone.
    LinkGone {
        /// The link.
        link: u16,
        /// Why.
        reason: String,
    },
    /// A file is complete and synced.
    Kept {
        /// The connection that wrote it.
        connection: u32,
        /// Its path.
        path: String,
        /// Its bytes.
        bytes: u64,
    },
    /// A file was not kept. The earlier file, if any, is unchanged.
    NotKept {
        /// The connection that wrote it.
        connection: u32,
        /// Its path.
        path: String,
        /// Why.
        reason: String,
    },
    /// The daemon ends: it refuses new requests, and active streams may continue for the time of
    /// grace.
    Ending {
        /// The duration.
        grace_ns: u64,
    },
    /// Events were left out because this session read too slowly.
    Missed {
        /// The number of them.
        events: u64,
    },
}
