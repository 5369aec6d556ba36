//! What the manager has, and what is asked of it: resources, applications, connections, streams.

use crate::checksum::Checksum;
use crate::error::{Error, Result};
use crate::format::Format;
use crate::ids::{ConnectionId, Direction, StreamId};
use crate::wire::Header;
use serde::{Deserialize, Serialize};

/// What a manager has. Memory and engines are per direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Staging memory, in bytes of data. Headers lie beside: two TUs of 64 KB fill the 128 KB of
    /// the iWarp interface.
    pub staging_bytes: u64,
    /// Link engines: a stream holds one for each of its links while it is active.
    pub engines: u32,
    /// Network memory, in bytes of data.
    pub network_bytes: u64,
    /// Time without progress after which a stream is told to be stalled, in nanoseconds.
    pub stall_ns: u64,
    /// Ended streams and connections of which the status is kept, the newest.
    pub ended_kept: usize,
}

impl Config {
    /// The interface of iWarp: 128 KB of staging memory and 6 engines in each direction (paper,
    /// 4.2 and 5.3.2). The size of network memory is not in the paper: 2 MB here.
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
    fn default() -> Self {
        Self::iwarp()
    }
}

/// What one application may have at a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Connections.
    pub connections: u32,
    /// Streams that have not ended; and streams that stand in line on one connection and direction,
    /// those among them that ended before their turn.
    pub streams: u32,
    /// Staging memory of its active streams, in bytes, in each direction.
    pub staging_bytes: u64,
    /// Network memory of its connections, in bytes, in each direction: data that is sent and not
    /// done, and receive windows.
    pub network_bytes: u64,
}

impl Limits {
    /// No limits but those of the manager.
    pub const NONE: Self = Self {
        connections: u32::MAX,
        streams: u32::MAX,
        staging_bytes: u64::MAX,
        network_bytes: u64::MAX,
    };
}

/// When a packet is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Protocol {
    /// Unreliable and unconfirmed, as raw HIPPI and plain UDP are, or where what lies below is
    /// trusted, as a file: a packet is done when it is sent.
    Unconfirmed {
        /// Packets that may overtake one before it is taken for lost by the receiver.
        #[serde(default)]
        reorder: u32,
    },
    /// Packets stay in network memory until they are acknowledged.
    Confirmed {
        /// Whether lost packets are sent again, or given up and reported.
        repair: bool,
    },
    /// Reliable and in order by itself, as TCP is: packets leave network memory when they are sent,
    /// and are done when the peer's manager confirms them.
    Stream,
}

impl Protocol {
    /// Whether the peer acknowledges and grants.
    pub(crate) fn confirms(self) -> bool {
        !matches!(self, Self::Unconfirmed { .. })
    }

    /// Whether packets stay until they are acknowledged.
    pub(crate) fn keeps(self) -> bool {
        matches!(self, Self::Confirmed { .. })
    }

    /// Whether nothing is ever missing between packets that came.
    pub(crate) fn repairs(self) -> bool {
        matches!(self, Self::Stream | Self::Confirmed { repair: true })
    }
}

/// What of the peer confirms a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Confirm {
    /// Its network memory holds it.
    Held,
    /// It went over the peer's links, and their driver said so.
    #[default]
    Delivered,
}

/// Times of the transmit half, in nanoseconds, and when it gives up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// The time-out before a round trip was measured.
    pub first_ns: u64,
    /// The least time that a time-out adds to the mean round trip: `G` of RFC 6298.
    pub least_ns: u64,
    /// The longest time-out that back-off makes.
    pub most_ns: u64,
    /// Consecutive time-outs at most, without a header from the peer or without progress while
    /// packets are unacknowledged. After these the connection is lost.
    pub tries: u32,
}

impl Default for Timeouts {
    /// First 10 ms, least 1 ms, most 5 s, 16 tries.
    fn default() -> Self {
        Self {
            first_ns: 10_000_000,
            least_ns: 1_000_000,
            most_ns: 5_000_000_000,
            tries: 16,
        }
    }
}

/// A connection to open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionSpec {
    /// Where to; the driver's words, which the manager does not read.
    pub destination: String,
    /// The number that packets carry. Both ends give the same.
    pub channel: u32,
    /// When a packet is done.
    pub protocol: Protocol,
    /// The checksum of data.
    pub checksum: Checksum,
    /// What confirms a packet, where the protocol confirms.
    pub confirm: Confirm,
    /// Network memory of the transmit direction that it may have at a time, in bytes of data.
    pub share_bytes: u64,
    /// Network memory of the receive direction, in bytes with headers, that is set aside for it.
    /// What a peer may send before its receiver takes it; 0 for a connection that only transmits.
    pub window_bytes: u64,
    /// Times of the transmit half.
    pub timeouts: Timeouts,
}

impl ConnectionSpec {
    /// A connection of this protocol, CRC32C, all of the transmit memory, a window of
    /// `window_bytes`.
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

    /// Data bytes of the largest packet that the window takes.
    pub(crate) fn window_takes(&self) -> u64 {
        self.window_bytes.saturating_sub(Header::BYTES as u64)
    }
}

/// When an ADU is finished for the others of its lock step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Finished {
    /// It is in network memory (transmit) or has gone over the links (receive).
    Moved,
    /// It is done, as the protocol says; the same as moved on receive.
    #[default]
    Done,
}

/// A stream that another comes after or goes in step with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Other {
    /// One that was submitted before.
    Stream(StreamId),
    /// One of the same submission, by its place there.
    Here(usize),
}

/// A stream to register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamSpec {
    /// The connection. Streams of one connection and direction go in the order of registration; the
    /// `n`-th transmitted is the `n`-th that the peer receives.
    pub connection: ConnectionId,
    /// Which way.
    pub direction: Direction,
    /// How the data is cut. A receiver's ADUs are those of the sender; its TUs, SUs and links are
    /// its own.
    pub format: Format,
    /// How many ADUs; none, if that is told later by `finish` (transmit) or the peer (receive).
    pub adus: Option<u64>,
    /// ADUs that it may move before it is swapped out for another that waits.
    pub quantum: u32,
    /// Whether it keeps its resources until it ends, and gets them before others.
    pub permanent: bool,
    /// Stream sequencing: it begins when these are done, and fails if one fails.
    pub after: Vec<Other>,
    /// Stream synchronisation: it goes in lock step with these, and all those with which they go.
    pub in_step_with: Vec<Other>,
    /// When an ADU of it is finished for the others in step.
    pub finished: Finished,
    /// Transmit: packets of a TU are stored as soon as all of their own bytes are there, while the
    /// rest of the TU is fetched still. Without it a TU is stored when it is whole, as the paper's
    /// execution module does (5.3.2). What is promised is the same: a stream that fails in the
    /// middle of an ADU has sent what it had of it either way, and says where it was cut short.
    pub cut_through: bool,
}

impl StreamSpec {
    /// A stream of `adus` ADUs, a quantum of 1, with no others to mind.
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
