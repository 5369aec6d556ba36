//! Settings of the manager, of applications, connections and streams.

use crate::checksum::Checksum;
use crate::error::{Error, Result};
use crate::format::Format;
use crate::ids::{ConnectionId, Direction, StreamId};
use crate::wire::Header;
use serde::{Deserialize, Serialize};

/// The resources of a stream manager. The memory sizes and the number of engines apply to each
/// direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Maximum staging memory in bytes of data. Headers are stored separately: two transfer units
    /// (TUs) of 64 KB fill the 128 KB of the iWarp interface.
    pub staging_bytes: u64,
    /// Number of link engines, which move data between ranks and staging memory. An active stream
    /// holds one engine for each of its links.
    pub engines: u32,
    /// Maximum network memory in bytes of data: packets that wait for an acknowledgement or for a
    /// receiving stream.
    pub network_bytes: u64,
    /// Time without progress after which a stream is reported as stalled, in nanoseconds.
    pub stall_ns: u64,
    /// Number of ended streams and connections whose status can still be queried.
    pub ended_kept: usize,
}

impl Config {
    /// Returns the configuration of the iWarp interface: 128 KB of staging memory and 6 engines in
    /// each direction (paper, 4.2 and 5.3.2). The paper does not give the size of network memory;
    /// it is 2 MB here.
    #[must_use]
    pub fn iwarp() -> Self {
        Self {
            staging_bytes: 128 << 10,
            engines: 6,
            network_bytes: 2 << 20,
            stall_ns: 5_000_000_000,
            ended_kept: 1024,
        }
    }

    /// Checks that no size in the configuration is 0.
    pub(crate) fn check(&self) -> Result<()> {
        let sizes = [self.staging_bytes, self.network_bytes, self.stall_ns];
        if sizes.contains(&0) || self.engines == 0 {
            let what = "memory, engines or stall time of 0: each is at least 1";
            return Err(Error::Config(what.into()));
        }
        Ok(())
    }
}

impl Default for Config {
    /// Returns the configuration of the iWarp interface.
    fn default() -> Self {
        Self::iwarp()
    }
}

/// The limits of one application on the resources that it uses at any time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of connections of the application.
    pub connections: u32,
    /// Maximum number of streams of the application that have not ended. The limit also applies to
    /// the queue of each connection and direction, which includes streams that ended before their
    /// turn.
    pub streams: u32,
    /// Maximum staging memory of the application's active streams in bytes, per direction.
    pub staging_bytes: u64,
    /// Maximum network memory of the application's connections in bytes, per direction: sent data
    /// that is not done, and receive windows.
    pub network_bytes: u64,
}

impl Limits {
    /// No limits except those of the manager.
    pub const NONE: Self = Self {
        connections: u32::MAX,
        streams: u32::MAX,
        staging_bytes: u64::MAX,
        network_bytes: u64::MAX,
    };
}

/// The protocol of a connection, which decides when a packet is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Protocol {
    /// Unreliable and unconfirmed, like raw HIPPI and plain UDP, or over a trusted layer, such as a
    /// file. A packet is done when it is sent.
    Unconfirmed {
        /// Number of packets that may overtake a packet before the receiver counts it as lost.
        #[serde(default)]
        reorder: u32,
    },
    /// Packets stay in network memory until they are acknowledged.
    Confirmed {
        /// Whether lost packets are sent again. Otherwise the manager gives up lost packets and
        /// reports them as missing.
        repair: bool,
    },
    /// Over a reliable and ordered layer, such as TCP. Packets leave network memory when they are
    /// sent, and are done when the peer's manager confirms them.
    Stream,
}

impl Protocol {
    /// Returns whether the peer acknowledges packets and grants credit under this protocol.
    pub(crate) fn confirms(self) -> bool {
        !matches!(self, Self::Unconfirmed { .. })
    }

    /// Returns whether the protocol keeps sent packets in network memory until they are
    /// acknowledged.
    pub(crate) fn keeps(self) -> bool {
        matches!(self, Self::Confirmed { .. })
    }

    /// Returns whether the protocol delivers every packet, so that a receiver finds no gaps in the
    /// data.
    pub(crate) fn repairs(self) -> bool {
        matches!(self, Self::Stream | Self::Confirmed { repair: true })
    }
}

/// The event at the peer after which the peer confirms a packet to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Confirm {
    /// Confirm on the arrival of the packet in the peer's network memory.
    Held,
    /// Confirm on the delivery of the packet over the peer's links, which the peer's driver
    /// reports.
    #[default]
    Delivered,
}

/// Retransmission timeouts of a connection in nanoseconds, and the number of timeouts after which
/// the connection is lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// The timeout in nanoseconds until a first round trip time is measured.
    pub first_ns: u64,
    /// The minimum in nanoseconds that a timeout adds to the mean round trip: `G` of RFC 6298.
    pub least_ns: u64,
    /// The maximum timeout in nanoseconds after back-off.
    pub most_ns: u64,
    /// Maximum number of consecutive timeouts without a header from the peer, or without progress
    /// while packets are unacknowledged. After these the connection is lost.
    pub tries: u32,
}

impl Default for Timeouts {
    /// Returns the default timeouts: first timeout 10 ms, minimum 1 ms, maximum 5 s, 16 attempts.
    fn default() -> Self {
        Self {
            first_ns: 10_000_000,
            least_ns: 1_000_000,
            most_ns: 5_000_000_000,
            tries: 16,
        }
    }
}

/// The settings of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionSpec {
    /// The destination of the connection, as text for the driver. The manager does not parse it.
    pub destination: String,
    /// The channel number in the headers of the connection's packets. Both ends must use the same.
    pub channel: u32,
    /// The protocol of the connection, which decides when a packet is done.
    pub protocol: Protocol,
    /// The kind of checksum of the connection's data.
    pub checksum: Checksum,
    /// The event at the peer that confirms a packet, for protocols with confirmation.
    pub confirm: Confirm,
    /// Maximum transmit network memory of the connection, in bytes of data.
    pub share_bytes: u64,
    /// Receive network memory reserved for the connection, in bytes with headers. The peer may send
    /// this much before the receiving stream consumes it. 0 for a connection that only transmits.
    pub window_bytes: u64,
    /// Retransmission timeouts of the connection.
    pub timeouts: Timeouts,
}

impl ConnectionSpec {
    /// Creates the settings of a connection with this protocol, CRC32C, a share of all the transmit
    /// memory, and a window of `window_bytes`.
    #[must_use]
    pub fn new(destination: &str, protocol: Protocol, window_bytes: u64) -> Self {
        Self {
            destination: destination.into(),
            channel: 0,
            protocol,
            checksum: Checksum::default(),
            confirm: Confirm::default(),
            share_bytes: u64::MAX,
            window_bytes,
            timeouts: Timeouts::default(),
        }
    }

    /// Checks that the timeouts and the receive window of the connection are valid.
    pub(crate) fn check(&self) -> Result<()> {
        let times = &self.timeouts;
        let ordered = 0 < times.least_ns && times.least_ns <= times.most_ns;
        if !ordered || times.first_ns == 0 || times.tries == 0 {
            let what = "time-outs of a connection: above 0, the least not above the most";
            return Err(Error::Conflict(what.into()));
        }
        if self.window_bytes >= 1 << 62 {
            let what = "a window above 2^62 bytes: take the memory there is";
            return Err(Error::Conflict(what.into()));
        }
        Ok(())
    }

    /// Returns the number of data bytes in the largest packet that fits in the connection's receive
    /// window.
    pub(crate) fn window_takes(&self) -> u64 {
        self.window_bytes.saturating_sub(Header::BYTES as u64)
    }
}

/// The event after which an application data unit (ADU) counts as finished for the other streams in
/// lock step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Finished {
    /// The application data unit (ADU) is in network memory (transmit) or has been sent over the
    /// links to the ranks (receive).
    Moved,
    /// The application data unit (ADU) is done, according to the protocol of the connection. Equal
    /// to `Moved` on receive.
    #[default]
    Done,
}

/// A reference to a stream that the new stream follows or is synchronised with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Other {
    /// A stream that was submitted earlier.
    Stream(StreamId),
    /// A stream of the same submission, by its index in that submission.
    Here(usize),
}

/// The settings of a stream that an application registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamSpec {
    /// The connection of the stream. Streams of one connection and direction keep the order of
    /// registration: the `n`-th transmitted stream is the `n`-th that the peer receives.
    pub connection: ConnectionId,
    /// The direction of the stream's data.
    pub direction: Direction,
    /// The data format of the stream. A receiver must use the sender's application data units
    /// (ADUs); its transfer units (TUs), striping units (SUs) and links may differ.
    pub format: Format,
    /// Number of application data units (ADUs) of the stream. None if `finish` (transmit) or the
    /// peer (receive) sets it later.
    pub adus: Option<u64>,
    /// Number of application data units (ADUs) that the stream may move before it is swapped out
    /// for a waiting stream.
    pub quantum: u32,
    /// Whether the stream keeps its resources until it ends, and gets them before other streams.
    pub permanent: bool,
    /// Stream sequencing: the stream begins when all of these streams are done, and fails if one of
    /// them fails.
    pub after: Vec<Other>,
    /// Stream synchronisation: the stream moves in lock step with these streams and their groups.
    pub in_step_with: Vec<Other>,
    /// The event after which an application data unit (ADU) of this stream is finished for the
    /// streams in lock step with it.
    pub finished: Finished,
    /// Transmit only: store each packet of a transfer unit (TU) once all its bytes are in the
    /// buffer, while the rest of the TU is still fetched. Otherwise a TU is stored when it is
    /// complete, as in the paper's execution module (5.3.2). Both modes give the same guarantee: a
    /// stream that fails within an application data unit (ADU) has sent the part that was stored,
    /// and reports the byte at which it was cut short.
    pub cut_through: bool,
}

impl StreamSpec {
    /// Creates the settings of a stream of `adus` application data units (ADUs), with a quantum of
    /// 1 and no dependences.
    #[must_use]
    pub fn new(connection: ConnectionId, direction: Direction, format: Format, adus: u64) -> Self {
        Self {
            connection,
            direction,
            format,
            adus: Some(adus),
            quantum: 1,
            permanent: false,
            after: Vec::new(),
            in_step_with: Vec::new(),
            finished: Finished::default(),
            cut_through: false,
        }
    }
}
