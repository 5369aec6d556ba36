//! What is asked.

pub use isthmus_stream::checksum::Checksum;
pub use isthmus_stream::{Direction, Protocol};
use serde::{Deserialize, Serialize};

/// A request and its number.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// The client's number; the answer has it too.
    pub id: u64,
    /// What.
    #[serde(flatten)]
    pub request: Request,
}

/// What makes a link last when its socket is cut.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lasting {
    /// The session of the process that asks, by its number in [`Answer::Welcome`](crate::Answer).
    pub session: u32,
    /// A secret of the rank's choice: whoever shows it is the owner of the link. 16 to 64
    /// characters.
    pub key: String,
    /// How long it may be without a socket; as long as the daemon lets it, if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ns: Option<u64>,
    /// The number of this socket: greater than of any that was asked for before, so that what
    /// comes late from one that was given up is known. From 1.
    pub nth: u32,
    /// If the link was made before: bytes that have come over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
}

/// What can be asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// A new application.
    Hello {
        /// [`VERSION`](crate::VERSION) of the client.
        version: u32,
        /// The secret that lets in; none where the daemon asks for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// What the application calls itself, for logs and tables.
        name: String,
        /// Whether an operator's rights are asked for: to see all applications and to cancel
        /// streams of all. The token is the operator's then; where there is none, they are the
        /// daemon's own user's, over a Unix socket.
        #[serde(default)]
        operator: bool,
        /// Whether events are told.
        #[serde(default)]
        watch: bool,
    },
    /// A further process of an application.
    Join {
        /// [`VERSION`](crate::VERSION) of the client.
        version: u32,
        /// The application's ticket.
        ticket: String,
        /// Whether events are told.
        #[serde(default)]
        watch: bool,
    },
    /// Makes a link of this socket.
    Link {
        /// [`VERSION`](crate::VERSION) of the client.
        version: u32,
        /// The application's ticket.
        ticket: String,
        /// The application's number for the link. One that has ends already is refused, unless it
        /// lasts and the key is that of its rank.
        link: u16,
        /// What carries it.
        carrier: Carrier,
        /// If it is to outlast its socket. Without, the link is gone with that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lasting: Option<Lasting>,
    },
    /// All of a lasting link's bytes before this one have come. Not answered.
    Taken {
        /// The link.
        link: u16,
        /// Its key: another link may have its number by now.
        key: String,
        /// How many bytes, over all of its sockets.
        bytes: u64,
    },
    /// A lasting link is given up by its rank: once this is answered it is gone with its socket, and
    /// that it is closed is no cut.
    Unlink {
        /// The link.
        link: u16,
        /// Its key. A link that is not there, or has another, is left as it is.
        key: String,
    },
    /// Opens a connection.
    Open {
        /// Where to, as `raw:tcp:127.0.0.1:5000`, `file:/data/image`; or `raw:accept:ADDRESS`,
        /// which waits there for a peer whose first packet shows the channel, or
        /// `tcp:accept:ADDRESS`, for whoever comes first, with plain bytes, or `udp:accept:ADDRESS`,
        /// for a datagram that shows the channel. Port 0 is any free one;
        /// where the connection is told, it has the one that was taken.
        destination: String,
        /// The number that packets carry. Both ends give the same.
        #[serde(default)]
        channel: u32,
        /// When a packet is done; what is natural for the destination, if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        protocol: Option<Protocol>,
        /// The checksum of data.
        #[serde(default)]
        checksum: Checksum,
        /// Network memory of the transmit direction that it may have; what the daemon lets a
        /// connection have, if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share_bytes: Option<u64>,
        /// Network memory that is set aside for what comes; 0 if it only transmits.
        #[serde(default)]
        window_bytes: u64,
    },
    /// Closes a connection, once its streams have ended. Answered at once; if it goes to a file,
    /// when that is kept, and refused if it is not.
    Close {
        /// Which.
        connection: u32,
    },
    /// Registers streams, all or none.
    Submit {
        /// Which. Those of one submission may name each other.
        streams: Vec<Spec>,
    },
    /// The next ADU of a stream of variable ADUs.
    Announce {
        /// Which stream.
        stream: u32,
        /// Bytes of the ADU.
        adu_bytes: u64,
    },
    /// How many ADUs a stream has, told late.
    Finish {
        /// Which stream.
        stream: u32,
        /// How many.
        adus: u64,
    },
    /// Cancels a stream.
    Cancel {
        /// Which.
        stream: u32,
    },
    /// Answered when the stream has ended, or so many of its ADUs are done.
    Wait {
        /// Which stream.
        stream: u32,
        /// How many ADUs; the end, if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        adus: Option<u64>,
        /// Whether ADUs that are moved count: the ranks' memory is theirs then.
        #[serde(default)]
        moved: bool,
    },
    /// Where a stream is, and what it waits for.
    Stream {
        /// Which.
        stream: u32,
    },
    /// Where a connection is.
    Connection {
        /// Which.
        connection: u32,
    },
    /// All that there is of the application or, to an operator, of all.
    Overview {
        /// Whether all applications are meant.
        #[serde(default)]
        all: bool,
    },
    /// Sets a frame buffer's geometry, and clears it.
    Geometry {
        /// The screen's name, as in `framebuffer:NAME`.
        screen: String,
        /// Its form.
        geometry: Geometry,
    },
    /// Resets a device: a frame buffer is cleared, and its counts are 0.
    Reset {
        /// Its name.
        screen: String,
    },
}

/// What carries a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Carrier {
    /// The socket of the request.
    Socket,
    /// Rings in shared memory, one each way, of about so many bytes; over a Unix socket only.
    Rings {
        /// Bytes of each; 0: none in that direction.
        from_rank_bytes: u64,
        /// Bytes of the one to the rank.
        to_rank_bytes: u64,
    },
}

/// How the data of a stream is cut (paper, 5.2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    /// Bytes of an ADU; each has its own, told by `announce`, if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adu_bytes: Option<u64>,
    /// Bytes of a TU.
    pub tu_bytes: u64,
    /// The links that the SUs of a TU go over, in their order in the TU.
    pub su_order: Vec<u16>,
    /// SUs are cut at multiples of this many bytes.
    pub granule_bytes: u64,
    /// Bytes of data of a packet at most.
    pub packet_bytes: u64,
}

/// A stream that another comes after or goes in step with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Other {
    /// One that was submitted before.
    Stream(u32),
    /// One of the same submission, by its place there.
    Here(usize),
}

/// A stream to register (paper, 5.2 and 5.3).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Its connection.
    pub connection: u32,
    /// Which way.
    pub direction: Direction,
    /// How its data is cut.
    pub format: Format,
    /// How many ADUs; none, if that is told later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adus: Option<u64>,
    /// ADUs that it may move before another that waits has its turn.
    #[serde(default = "one")]
    pub quantum: u32,
    /// Whether it keeps its resources until it ends.
    #[serde(default)]
    pub permanent: bool,
    /// Streams that are done before it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Other>,
    /// Streams that it goes in lock step with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_step_with: Vec<Other>,
    /// Whether an ADU is finished for these when it is moved, and not only when it is done.
    #[serde(default)]
    pub moved_is_finished: bool,
    /// Whether packets are sent as soon as their data is there, and not when a TU is: for streams
    /// that are sent, of which a TU has several packets.
    #[serde(default)]
    pub cut_through: bool,
    /// The sums that ranks make of what they send, so that the interface need not (paper, 4.1): those
    /// of the connection's checksum, or none.
    #[serde(default = "no_sums")]
    pub rank_sums: Checksum,
}

fn no_sums() -> Checksum {
    Checksum::None
}

fn one() -> u32 {
    1
}

/// What a pixel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pixel {
    /// A byte of grey.
    Grey,
    /// Four bytes: red, green, blue, and one that is not looked at.
    Color,
}

/// The form of a frame buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// What a pixel is.
    pub pixel: Pixel,
    /// Whether an ADU is a field, every second line, the first line's first.
    #[serde(default)]
    pub interlaced: bool,
}
