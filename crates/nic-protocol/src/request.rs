//! Requests that clients send to the daemon.

pub use isthmus_stream::checksum::Checksum;
pub use isthmus_stream::{Direction, Protocol};
use serde::{Deserialize, Serialize};

/// A line of the protocol that a client sends: a request and the number that the client gives it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(expecting = "struct Asked")]
pub struct RequestLine {
    /// The number that the client chose for the request, which the answer repeats.
    pub id: u64,
    /// The request to the daemon.
    #[serde(flatten)]
    pub request: Request,
}

/// Settings of a lasting link, which continues to exist when its socket is lost.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lasting {
    /// The number of the session of the requesting process, from
    /// [`Answer::Welcome`](crate::Answer).
    pub session: u32,
    /// A secret of 16 to 64 characters that the rank chooses. The daemon treats a client that sends
    /// this key as the owner of the link.
    pub key: String,
    /// Time for which the link may be without a socket, in nanoseconds; None selects the daemon's
    /// maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ns: Option<u64>,
    /// The number of this socket within the link, from 1. It must be greater than every earlier
    /// number of this link, so that late data of an abandoned socket is recognised.
    pub nth: u32,
    /// Number of bytes that the rank has received over the earlier sockets of the link, if the link
    /// exists already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
}

/// A request of a client to the daemon.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Create an application. This is the first request that a client sends in a session.
    Hello {
        /// The [`VERSION`](crate::VERSION) of the protocol that the client uses.
        version: u32,
        /// The token, if the daemon requires one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// The name of the application, for logs and tables.
        name: String,
        /// Whether the client requests an operator's rights: to list all applications and to cancel
        /// streams of all. The token must then be the operator's. If the daemon has no operator's
        /// token, its own user has these rights over a Unix socket.
        #[serde(default)]
        operator: bool,
        /// Whether the session receives events of the application.
        #[serde(default)]
        watch: bool,
    },
    /// Join an existing application as a further process. This is the first request that the
    /// process sends in its session.
    Join {
        /// The [`VERSION`](crate::VERSION) of the protocol that the client uses.
        version: u32,
        /// The application's ticket, which admits this process.
        ticket: String,
        /// Whether the session receives events of the application.
        #[serde(default)]
        watch: bool,
    },
    /// Turn this socket into a link of an application, over which a rank's data moves.
    Link {
        /// The [`VERSION`](crate::VERSION) of the protocol that the client uses.
        version: u32,
        /// The application's ticket, which admits this process.
        ticket: String,
        /// The application's number of the link. A link that already has ends is refused, unless it
        /// lasts and the key matches.
        link: u16,
        /// The carrier of the link's data.
        carrier: Carrier,
        /// Settings of a lasting link, which survives the loss of its socket. Without them, the
        /// link ends with its socket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lasting: Option<Lasting>,
    },
    /// Confirm the bytes that a rank has received over a lasting link. The daemon does not answer.
    Taken {
        /// The application's number of the link.
        link: u16,
        /// The key of the link: another link may have its number now.
        key: String,
        /// The number of bytes that the rank received over all sockets of the link.
        bytes: u64,
    },
    /// Release a lasting link. After the answer, the link is gone with its socket, so closing the
    /// socket is not reported as a cut.
    Unlink {
        /// The application's number of the link.
        link: u16,
        /// The key of the link. A request for a missing link or with another key has no effect.
        key: String,
    },
    /// Open a connection.
    Open {
        /// The destination, for example `raw:tcp:127.0.0.1:5000` or `file:/data/image`.
        /// `raw:accept:ADDRESS` waits there for a peer whose first packet shows the channel,
        /// `tcp:accept:ADDRESS` for any peer with plain bytes, and `udp:accept:ADDRESS` for a
        /// datagram that shows the channel. Port 0 selects a free port; the status of the
        /// connection shows the actual one.
        destination: String,
        /// The channel number in the packets of the connection, the same at both ends.
        #[serde(default)]
        channel: u32,
        /// The protocol of the connection, which decides when a packet is done; None selects the
        /// default of the destination.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        protocol: Option<Protocol>,
        /// The kind of checksum of the connection's data.
        #[serde(default)]
        checksum: Checksum,
        /// Maximum network memory of the connection in the transmit direction, in bytes; None
        /// selects the daemon's limit of a connection.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share_bytes: Option<u64>,
        /// Network memory of the connection reserved for received data, in bytes; 0 if the
        /// connection only transmits.
        #[serde(default)]
        window_bytes: u64,
    },
    /// Close a connection whose streams have ended. For a connection that writes a file, the answer
    /// follows when the file is completed; if the file is discarded, the request is refused. For
    /// other connections, the answer follows at once.
    Close {
        /// The number of the connection to close.
        connection: u32,
    },
    /// Register streams, either all or none.
    Submit {
        /// The specifications of the streams. They may refer to each other.
        streams: Vec<Spec>,
    },
    /// Announce the next application data unit (ADU) of a stream with ADUs of variable size.
    Announce {
        /// The number of the stream of the application data unit (ADU).
        stream: u32,
        /// Size of the announced application data unit (ADU) in bytes.
        adu_bytes: u64,
    },
    /// Set the number of application data units (ADUs) of a stream that was submitted without it.
    Finish {
        /// The number of the stream whose number of application data units (ADUs) is set.
        stream: u32,
        /// The number of application data units (ADUs) of the stream.
        adus: u64,
    },
    /// Cancel a stream.
    Cancel {
        /// The number of the stream to cancel.
        stream: u32,
    },
    /// Wait until the stream has ended, or until `adus` of its application data units (ADUs) are
    /// done.
    Wait {
        /// The number of the stream to wait for.
        stream: u32,
        /// The number of application data units (ADUs) to wait for; None to wait for the end of the
        /// stream.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        adus: Option<u64>,
        /// Whether to wait until the application data units (ADUs) are moved instead of done. The
        /// ranks may reuse their memory when an ADU is moved.
        #[serde(default)]
        moved: bool,
    },
    /// Request the status of a stream, with the reasons for which it waits.
    Stream {
        /// The number of the stream whose status is requested.
        stream: u32,
    },
    /// Request the status of a connection.
    Connection {
        /// The number of the connection whose status is requested.
        connection: u32,
    },
    /// Request the overview of the application or, for an operator, of all applications.
    Overview {
        /// Whether to include all applications, for an operator.
        #[serde(default)]
        all: bool,
    },
    /// Set the geometry of a frame buffer and clear it.
    Geometry {
        /// The name of the frame buffer, as in the destination `framebuffer:NAME`.
        screen: String,
        /// The new geometry of the frame buffer.
        geometry: Geometry,
    },
    /// Reset a frame buffer: clear it and set its counts to 0.
    Reset {
        /// The name of the frame buffer to clear, as in the destination `framebuffer:NAME`.
        screen: String,
    },
}

/// The carrier of a link's data: the socket, or rings in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Carrier {
    /// The data moves over the socket of the request.
    Socket,
    /// Rings in shared memory, one in each direction; over a Unix socket only. The sizes are
    /// rounded up.
    Rings {
        /// Size in bytes of the ring from the rank; 0: no ring in that direction.
        from_rank_bytes: u64,
        /// Size in bytes of the ring to the rank; 0: no ring in that direction.
        to_rank_bytes: u64,
    },
}

/// The data format of a stream: how its data is divided (paper, 5.2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    /// Size of an application data unit (ADU) in bytes; None if `announce` sets the size of each
    /// ADU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adu_bytes: Option<u64>,
    /// Size of a transfer unit (TU) in bytes.
    pub tu_bytes: u64,
    /// The links of the striping units (SUs) of a transfer unit (TU), in the order of the SUs.
    pub su_order: Vec<u16>,
    /// The size of a striping unit (SU) is a multiple of this number of bytes.
    pub granule_bytes: u64,
    /// Maximum number of data bytes in a packet.
    pub packet_bytes: u64,
}

/// A reference to a stream in the dependences of another stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Other {
    /// The number of an earlier stream.
    Stream(u32),
    /// The stream with this index in the list of streams that the same request submits.
    Here(usize),
}

/// The specification that a client submits for a stream (paper, 5.2 and 5.3).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The number of the connection over which the stream runs.
    pub connection: u32,
    /// The direction of the stream's data.
    pub direction: Direction,
    /// The data format of the stream: how its data is divided.
    pub format: Format,
    /// The number of application data units (ADUs); None if `finish` sets it later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adus: Option<u64>,
    /// Number of application data units (ADUs) that the stream may move before another waiting
    /// stream gets its resources.
    #[serde(default = "one")]
    pub quantum: u32,
    /// Whether the stream keeps its resources until it ends.
    #[serde(default)]
    pub permanent: bool,
    /// Streams that must be done before this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Other>,
    /// Streams that proceed in lock step with this one: none is ahead of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_step_with: Vec<Other>,
    /// Whether an application data unit (ADU) counts as finished for the streams in lock step when
    /// it is moved, instead of when it is done.
    #[serde(default)]
    pub moved_is_finished: bool,
    /// Whether packets are sent as soon as their data is available, before their transfer unit (TU)
    /// is complete. For transmitted streams with several packets per TU.
    #[serde(default)]
    pub cut_through: bool,
    /// The kind of checksums that ranks compute of the data they send, so that the interface need
    /// not compute them (paper, 4.1): the kind of the connection, or none.
    #[serde(default = "no_sums")]
    pub rank_sums: Checksum,
}

/// Return the default of the field `rank_sums`: no checksums.
fn no_sums() -> Checksum {
    Checksum::None
}

/// Return the default of the field `quantum`: 1 application data unit (ADU).
fn one() -> u32 {
    1
}

/// The format of a pixel in a frame buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pixel {
    /// One byte of grey.
    Grey,
    /// Four bytes: red, green, blue, and an ignored one.
    Color,
}

/// The geometry of a frame buffer: frame size in pixels, and pixel format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Number of pixels in a line of the frame.
    pub width: u32,
    /// Number of lines in a frame.
    pub height: u32,
    /// The format of a pixel.
    pub pixel: Pixel,
    /// Whether an application data unit (ADU) is a field of every second line. The field with the
    /// first line comes first.
    #[serde(default)]
    pub interlaced: bool,
}
