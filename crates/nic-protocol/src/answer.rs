//! Messages from the daemon of the stream manager to its clients.

use crate::request::Direction;
use serde::{Deserialize, Serialize};

/// A message from the daemon to a client, one line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The answer to a request that was carried out.
    Answer {
        /// The number of the request, which its client chose.
        id: u64,
        /// The result of the request that was carried out.
        answer: Answer,
    },
    /// The refusal of a request, which had no effect.
    Refused {
        /// The number of the request; None if the number could not be read.
        id: Option<u64>,
        /// The reason for the refusal, and the remedy.
        refusal: Refusal,
    },
    /// An event of the application's streams, connections or links.
    Event {
        /// The event to report.
        event: Event,
    },
    /// An event of a lasting link, which the daemon reports only to the session of the rank's
    /// process.
    Link {
        /// The application's number of the link.
        link: u16,
        /// The key that identifies the link, because another link may have its number by now.
        key: String,
        /// The event of the link: confirmed bytes or a cut.
        news: LinkNews,
    },
}

/// An event of a lasting link (a link that survives the loss of its socket): received bytes are
/// confirmed, or its socket was cut.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkNews {
    /// The daemon has received this number of bytes of the link.
    Taken {
        /// The number of bytes received over all sockets of the link.
        bytes: u64,
    },
    /// The socket of the link is gone, and the link waits for a new one.
    Cut {
        /// The number of the lost socket within the link, from 1.
        nth: u32,
    },
}

/// The refusal of a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind of the reason for the refusal, for programs.
    pub kind: RefusalKind,
    /// One line with the problem, its location and the remedy.
    pub text: String,
}

/// The kind of reason for which the daemon refused a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// The request is invalid.
    Garbled,
    /// The client has another version of the protocol.
    Version,
    /// The token or ticket is invalid, or does not grant the right.
    Denied,
    /// The request names an object that does not exist.
    Unknown,
    /// The request exceeds the available amount or a limit.
    Limit,
    /// The request conflicts with the current state.
    Conflict,
    /// The daemon or the application is ending.
    Ending,
    /// The request was started and failed: the daemon could not complete the file of a closed
    /// connection.
    Failed,
}

/// The answer to the first request of a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Welcome {
    /// The number of the application.
    pub application: u32,
    /// The ticket of the application, with which further processes join and links are created.
    pub ticket: String,
    /// The number of this session. A client repeats it when it requests a lasting link (a link that
    /// survives the loss of its socket).
    pub session: u32,
    /// Time in nanoseconds for which a link over TCP or TLS may be without a socket; 0: a link ends
    /// with its socket.
    pub link_grace_ns: u64,
    /// The daemon's version of isthmus.
    pub isthmus: String,
    /// Bytes of staging memory of the application's active streams, in each direction.
    pub staging_bytes: u64,
    /// Bytes of network memory of the application's connections, in each direction.
    pub network_bytes: u64,
}

/// The result of a request that was carried out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The daemon has carried out the request, which has no result.
    Done,
    /// The daemon has opened a session for the client.
    Welcome(Welcome),
    /// The client's socket is a link now, or the file descriptors of the link's shared-memory rings
    /// follow.
    Linked,
    /// The client's socket now carries a lasting link, which survives the loss of the socket.
    Lasts {
        /// Number of bytes that the daemon has received over the link. The rank must write the
        /// bytes after these.
        received: u64,
        /// Time in nanoseconds for which the link may be without a socket.
        grace_ns: u64,
    },
    /// A connection was opened. This is its number.
    Connection {
        /// The number of the opened connection.
        connection: u32,
    },
    /// The streams were submitted. These are their numbers, in the order of submission.
    Streams {
        /// The numbers of the submitted streams.
        streams: Vec<u32>,
    },
    /// The status of a stream.
    Stream {
        /// The status of the stream.
        stream: Stream,
    },
    /// The status of a connection.
    ConnectionStatus {
        /// The status of the connection.
        connection: Connection,
    },
    /// All applications, connections, streams and links that the client may see.
    Overview {
        /// The applications, connections, streams and links that the client may see.
        overview: Overview,
    },
}

/// The status of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stream {
    /// The number of the stream.
    pub stream: u32,
    /// The number of the stream's application.
    pub application: u32,
    /// The number of the stream's connection.
    pub connection: u32,
    /// The direction of the stream.
    pub direction: Direction,
    /// The state of the stream: `inactive`, `pending`, `active`, `draining`, `done`, `failed` or
    /// `cancelled`.
    pub state: String,
    /// Whether the stream has ended and none of its data is still moving.
    pub over: bool,
    /// The reason for which the stream failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of application data units (ADUs), if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adus: Option<u64>,
    /// Number of application data units (ADUs) moved: to network memory (transmit) or to the ranks
    /// (receive).
    pub moved: u64,
    /// Number of application data units (ADUs) that are done according to the protocol.
    pub done: u64,
    /// Number of moved or done application data units (ADUs) with missing data.
    pub incomplete: u64,
    /// Number of bytes moved.
    pub bytes: u64,
    /// Number of packets sent again.
    pub retransmissions: u64,
    /// The reasons for which the stream waits, one text each.
    pub waits: Vec<String>,
}

/// The status of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Connection {
    /// The number of the connection.
    pub connection: u32,
    /// The number of the connection's application.
    pub application: u32,
    /// The destination of the connection.
    pub destination: String,
    /// Whether the connection is open.
    pub open: bool,
    /// The reason for the loss of the connection, if it is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<String>,
    /// Number of streams of the connection that have not ended.
    pub streams: u32,
    /// Data bytes of the connection in network memory of the transmit direction.
    pub transmit_bytes: u64,
    /// Data bytes of the connection in network memory of the receive direction.
    pub receive_bytes: u64,
    /// Data bytes that the connection's streams moved: transmit and receive.
    pub moved_bytes: [u64; 2],
    /// The congestion control of the connection's socket, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
}

/// The status of a link between a rank and the daemon.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Link {
    /// The application's number of the link.
    pub link: u16,
    /// The number of the link's application.
    pub application: u32,
    /// What carries the data of the link: `rings`, `unix`, `tcp` or `tls`.
    pub carrier: String,
    /// Whether the link has its rings, or a socket that is not cut.
    pub attached: bool,
    /// Whether the socket of the link was cut and the link waits for a new one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// All applications, connections, streams and links that the client may see.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Overview {
    /// Numbers and names of applications.
    pub applications: Vec<(u32, String)>,
    /// The connections of the applications.
    pub connections: Vec<Connection>,
    /// The streams that have not ended, and the most recently ended ones.
    pub streams: Vec<Stream>,
    /// The links of the applications.
    pub links: Vec<Link>,
    /// Traffic counters of the daemon since its start, and its use of memory.
    pub counts: Counts,
    /// Number of entries that were left out because the line was full. Ended streams are left out
    /// first, and among these the oldest first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// Return whether a count is 0, so that it is left out of the JSON.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Traffic counters since the start of the daemon, and its current use of memory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Nanoseconds since the start of the daemon.
    pub up_ns: u64,
    /// Number of data bytes sent for the first time.
    pub sent_bytes: u64,
    /// Number of data bytes delivered to ranks without errors.
    pub delivered_bytes: u64,
    /// Number of packets sent for the first time.
    pub packets: u64,
    /// Number of packets sent again.
    pub retransmissions: u64,
    /// Number of packets with corrupted data.
    pub corrupted: u64,
    /// Staging memory in bytes: used and total, for transmit and receive.
    pub staging_bytes: [(u64, u64); 2],
    /// Network memory in bytes: used and total, for transmit and receive.
    pub network_bytes: [(u64, u64); 2],
}

/// An event that the daemon reports to the sessions of the application that it concerns.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Event {
    /// A connection was opened.
    Opened {
        /// The number of the connection that was opened.
        connection: u32,
    },
    /// A connection was closed by the application.
    Closed {
        /// The number of the connection that was closed.
        connection: u32,
    },
    /// A connection was lost.
    Lost {
        /// The number of the connection that was lost.
        connection: u32,
        /// The reason for the loss of the connection, for a message.
        reason: String,
    },
    /// An application data unit (ADU) was moved: the ranks may reuse their memory.
    Moved {
        /// The number of the stream of the application data unit (ADU).
        stream: u32,
        /// The number of the moved application data unit (ADU) within the stream.
        adu: u64,
        /// Whether no data of the application data unit (ADU) is missing.
        good: bool,
    },
    /// An application data unit (ADU) is done according to the protocol.
    Done {
        /// The number of the stream of the application data unit (ADU).
        stream: u32,
        /// The number of the done application data unit (ADU) within the stream.
        adu: u64,
        /// Whether no data of the application data unit (ADU) is missing.
        good: bool,
    },
    /// A stream ended.
    Ended {
        /// The final status of the stream that ended.
        stream: Stream,
    },
    /// A stream made no progress for the stated time.
    Stalled {
        /// The number of the stream that made no progress.
        stream: u32,
        /// Time in nanoseconds for which the stream made no progress.
        idle_ns: u64,
        /// The reasons for which the stream waits, one text each.
        waits: Vec<String>,
    },
    /// Bytes of an application data unit (ADU) are permanently missing.
    Missing {
        /// The number of the stream of the application data unit (ADU).
        stream: u32,
        /// The number of the incomplete application data unit (ADU) within the stream.
        adu: u64,
        /// The offset of the first missing byte in the application data unit (ADU).
        from: u64,
        /// The number of missing bytes.
        bytes: u64,
    },
    /// A rank sent data out of order over a link, so the stream of the data fails.
    OutOfStep {
        /// The application's number of the link over which the data arrived.
        link: u16,
        /// The number of the stream that fails.
        stream: u32,
        /// The data that was received, and the data that was expected.
        reason: String,
    },
    /// Corrupted data arrived and was discarded.
    Corrupted {
        /// A message that says where the data was corrupted.
        text: String,
        /// The number of the connection over which the data arrived.
        connection: u32,
    },
    /// The socket of a lasting link was cut, and the link waits for a new one.
    LinkCut {
        /// The application's number of the link that was cut.
        link: u16,
        /// The reason for the cut of the link, for a message.
        reason: String,
    },
    /// A lasting link has a new socket and continues.
    LinkRestored {
        /// The application's number of the link that continues.
        link: u16,
        /// Number of bytes that the daemon writes again over the new socket.
        again: u64,
    },
    /// The other end of a link is gone.
    LinkGone {
        /// The application's number of the link whose other end is gone.
        link: u16,
        /// The reason for which the other end is gone, for a message.
        reason: String,
    },
    /// The file of a connection is complete and synced to disk.
    Kept {
        /// The number of the connection that wrote the file.
        connection: u32,
        /// The path of the file.
        path: String,
        /// The size of the completed file in bytes.
        bytes: u64,
    },
    /// The incomplete file of a connection was discarded. An earlier file at the path, if any, is
    /// unchanged.
    NotKept {
        /// The number of the connection that wrote the file.
        connection: u32,
        /// The path of the file that was discarded.
        path: String,
        /// The reason for which the file was discarded.
        reason: String,
    },
    /// The daemon is ending: it refuses new requests, and active streams may continue for the grace
    /// period.
    Ending {
        /// Time in nanoseconds for which active streams may continue.
        grace_ns: u64,
    },
    /// Events were left out because this session read too slowly.
    Missed {
        /// The number of events that were left out.
        events: u64,
    },
}
