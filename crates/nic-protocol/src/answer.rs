//! What is told.

use crate::request::Direction;
use serde::{Deserialize, Serialize};

/// A line of the daemon.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// What was asked is done.
    Answer {
        /// The number of the request.
        id: u64,
        /// What came of it.
        answer: Answer,
    },
    /// What was asked is refused, and nothing was done.
    Refused {
        /// The number of the request; none, if it could not be read.
        id: Option<u64>,
        /// Why, and what would do.
        refusal: Refusal,
    },
    /// Something happened.
    Event {
        /// What.
        event: Event,
    },
    /// Of a lasting link, to the session of its process alone.
    Link {
        /// The link.
        link: u16,
        /// Its key: another link may have its number by now.
        key: String,
        /// What.
        news: LinkNews,
    },
}

/// What is told of a lasting link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkNews {
    /// All of its bytes before this one have come.
    Taken {
        /// How many, over all of its sockets.
        bytes: u64,
    },
    /// Its socket is gone, and it waits for another one.
    Cut {
        /// The number of the socket that is gone.
        nth: u32,
    },
}

/// Why something is refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// What kind of reason, for programs.
    pub kind: RefusalKind,
    /// In one line: what, where, what would do.
    pub text: String,
}

/// Kinds of reasons why something is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// The request is no request.
    Garbled,
    /// Another version of the language.
    Version,
    /// A token or a ticket that lets nobody in, or not that far.
    Denied,
    /// Something that is not there.
    Unknown,
    /// It asks for more than there is, or than one may have.
    Limit,
    /// It does not go with what is there.
    Conflict,
    /// The daemon ends, or the application.
    Ending,
    /// It was begun, and failed: a file that was closed, and not kept.
    Failed,
}

/// What came of a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Nothing more is to be said.
    Done,
    /// Let in.
    Welcome {
        /// The application's number.
        application: u32,
        /// Its ticket, for further processes and links.
        ticket: String,
        /// The number of this session, for links that last.
        session: u32,
        /// How long a link over TCP or TLS may be without its socket; 0: it is gone with that.
        link_grace_ns: u64,
        /// Version of isthmus that the daemon is of.
        isthmus: String,
        /// Bytes of staging memory that its active streams may have, in each direction.
        staging_bytes: u64,
        /// Bytes of network memory that its connections may have, in each direction.
        network_bytes: u64,
    },
    /// The socket is a link now; or the descriptors of its rings come next.
    Linked,
    /// The same, of a link that lasts.
    Lasts {
        /// Bytes that the daemon has received over it: what follows them is to be written.
        received: u64,
        /// How long it may be without a socket.
        grace_ns: u64,
    },
    /// A connection's number.
    Connection {
        /// The number.
        connection: u32,
    },
    /// Streams' numbers, in the order of their submission.
    Streams {
        /// The numbers.
        streams: Vec<u32>,
    },
    /// Where a stream is.
    Stream {
        /// That.
        stream: Stream,
    },
    /// Where a connection is.
    ConnectionStatus {
        /// That.
        connection: Connection,
    },
    /// All that there is.
    Overview {
        /// That.
        overview: Overview,
    },
}

/// Where a stream is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stream {
    /// Its number.
    pub stream: u32,
    /// Its application's number.
    pub application: u32,
    /// Its connection.
    pub connection: u32,
    /// Which way.
    pub direction: Direction,
    /// `inactive`, `pending`, `active`, `draining`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// Whether nothing of it is under way any more.
    pub over: bool,
    /// Why it failed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// ADUs that it has, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adus: Option<u64>,
    /// ADUs moved: in network memory (transmit), or with the ranks (receive).
    pub moved: u64,
    /// ADUs done as the protocol says.
    pub done: u64,
    /// ADUs of which something is missing, of those that are told above.
    pub incomplete: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Who it waits for, in words, one each.
    pub waits: Vec<String>,
}

/// Where a connection is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Connection {
    /// Its number.
    pub connection: u32,
    /// Its application's number.
    pub application: u32,
    /// Where to.
    pub destination: String,
    /// Whether it is open.
    pub open: bool,
    /// Why it is gone, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<String>,
    /// Streams that have not ended.
    pub streams: u32,
    /// Data bytes in network memory, transmit.
    pub transmit_bytes: u64,
    /// Data bytes in network memory, receive.
    pub receive_bytes: u64,
    /// Data bytes that its streams moved to the outside, and from there.
    pub moved_bytes: [u64; 2],
    /// The congestion control of its socket, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
}

/// A link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Link {
    /// The application's number for it.
    pub link: u16,
    /// Its application's number.
    pub application: u32,
    /// `rings`, `unix`, `tcp` or `tls`.
    pub carrier: String,
    /// Whether its ends are there.
    pub attached: bool,
    /// Whether its socket was cut, and it waits for another one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// All that there is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Overview {
    /// Names of applications by their numbers.
    pub applications: Vec<(u32, String)>,
    /// Connections.
    pub connections: Vec<Connection>,
    /// Streams that have not ended, and the last that have.
    pub streams: Vec<Stream>,
    /// Links.
    pub links: Vec<Link>,
    /// Counts of the daemon.
    pub counts: Counts,
    /// Things that found no room in the line: of streams those that are over, the oldest first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Counts of the daemon's life, and what it holds now.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Nanoseconds since it began.
    pub up_ns: u64,
    /// Data bytes sent for the first time.
    pub sent_bytes: u64,
    /// Data bytes that went to ranks as good.
    pub delivered_bytes: u64,
    /// Packets sent for the first time.
    pub packets: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Packets whose data was not what was sent.
    pub corrupted: u64,
    /// Staging memory used and there, transmit and receive, in bytes.
    pub staging_bytes: [(u64, u64); 2],
    /// Network memory used and there, transmit and receive, in bytes.
    pub network_bytes: [(u64, u64); 2],
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Event {
    /// A connection is open.
    Opened {
        /// Which.
        connection: u32,
    },
    /// A connection is closed.
    Closed {
        /// Which.
        connection: u32,
    },
    /// A connection is gone.
    Lost {
        /// Which.
        connection: u32,
        /// Why.
        reason: String,
    },
    /// An ADU is moved: the ranks' memory is theirs.
    Moved {
        /// The stream.
        stream: u32,
        /// The ADU.
        adu: u64,
        /// Whether all of it came.
        good: bool,
    },
    /// An ADU is done.
    Done {
        /// The stream.
        stream: u32,
        /// The ADU.
        adu: u64,
        /// Whether nothing of it is missing.
        good: bool,
    },
    /// A stream ended.
    Ended {
        /// Where it is.
        stream: Stream,
    },
    /// A stream made no progress for the stated time.
    Stalled {
        /// The stream.
        stream: u32,
        /// For how long.
        idle_ns: u64,
        /// Who waits for what, in words.
        waits: Vec<String>,
    },
    /// Bytes are missing that nobody will send again.
    Missing {
        /// The stream.
        stream: u32,
        /// The ADU.
        adu: u64,
        /// The first of them, counted in the ADU.
        from: u64,
        /// How many.
        bytes: u64,
    },
    /// A rank sent what is not next. Its stream fails.
    OutOfStep {
        /// The link.
        link: u16,
        /// The stream.
        stream: u32,
        /// What came, and what was next.
        reason: String,
    },
    /// Data came that was not what was sent. It was thrown away.
    Corrupted {
        /// Where, in words.
        text: String,
        /// The connection.
        connection: u32,
    },
    /// The socket of a lasting link is cut: it waits for another one.
    LinkCut {
        /// The link.
        link: u16,
        /// Why.
        reason: String,
    },
    /// A lasting link has another socket, and goes on.
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
    /// A file is there, whole and synced.
    Kept {
        /// The connection that wrote it.
        connection: u32,
        /// Where.
        path: String,
        /// Its bytes.
        bytes: u64,
    },
    /// A file was not kept: what was there before is there still.
    NotKept {
        /// The connection that wrote it.
        connection: u32,
        /// Where.
        path: String,
        /// Why.
        reason: String,
    },
    /// The daemon ends: it takes nothing new, and what is under way may go on for so long.
    Ending {
        /// For how long.
        grace_ns: u64,
    },
    /// Events were left out, as this session read them too slowly.
    Missed {
        /// How many.
        events: u64,
    },
}
