//! Errors in rules and networks.

use crate::limits::CHANNELS_MAX;

/// An error, with the permitted values in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A number that must be 1 or more is 0.
    #[error("{what} is 0; it must be 1 or more")]
    Zero {
        /// Its name in [`Rules`](crate::Rules).
        what: &'static str,
    },
    /// A number is too large.
    #[error("{what} is {value}; it may be {most} at most")]
    TooMany {
        /// Its name in [`Rules`](crate::Rules).
        what: &'static str,
        /// The number.
        value: u32,
        /// Its maximum.
        most: u32,
    },
    /// A read request does not fit into a packet.
    #[error("a read request has {bytes} bytes of payload; a packet has {payload} at most")]
    LongRequest {
        /// Its payload.
        bytes: u32,
        /// The largest payload.
        payload: u32,
    },
    /// A packet takes a link for too long.
    #[error(
        "the longest packet takes a link for {ticks} ticks; it may take 1 to {}",
        u32::MAX
    )]
    LongestPacket {
        /// Its ticks.
        ticks: u64,
    },
    /// A buffer cannot hold a packet.
    #[error("{of} has a buffer of {buffer} bytes; it must hold a packet of {packet}")]
    SmallBuffer {
        /// The kind of buffer.
        of: &'static str,
        /// Its size in bytes.
        buffer: u32,
        /// Bytes of the longest packet.
        packet: u64,
    },
    /// More virtual channels than a link may have.
    #[error(
        "{classes} classes of {channels} channels; a link may have {CHANNELS_MAX} channels at most"
    )]
    Channels {
        /// Number of classes.
        classes: u32,
        /// Number of channels per class.
        channels: u32,
    },
    /// A network that the engine cannot run on.
    #[error("{what}: {link}")]
    Network {
        /// The inconsistent item.
        what: &'static str,
        /// The link, or the number of links.
        link: u64,
    },
    /// Output buffers, in which packets of all classes of channels would wait behind one another.
    #[error(
        "packets of {classes} classes of channels would share output buffers, and could wait for \
         one another for ever; leave the buffers out"
    )]
    SharedOutputs {
        /// Number of classes.
        classes: u32,
    },
}
