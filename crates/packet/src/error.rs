//! Errors in the rules and the network with which an engine for packet networks is created.

use crate::limits::CHANNELS_MAX;

/// An invalid rule or network. The message states the permitted values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A rule that must be 1 or more is 0.
    #[error("{what} is 0; it must be 1 or more")]
    Zero {
        /// Name of the rule that is 0, a field of [`Rules`](crate::Rules).
        what: &'static str,
    },
    /// The value of a rule is too large.
    #[error("{what} is {value}; it may be {most} at most")]
    TooMany {
        /// Name of the rule whose value is too large, a field of [`Rules`](crate::Rules).
        what: &'static str,
        /// The value that is too large.
        value: u32,
        /// The largest permitted value of the rule.
        most: u32,
    },
    /// The payload of a read request does not fit into a packet.
    #[error("a read request has {bytes} bytes of payload; a packet has {payload} at most")]
    LongRequest {
        /// Payload of the read request in bytes.
        bytes: u32,
        /// The largest payload of a packet in bytes.
        payload: u32,
    },
    /// The longest packet would occupy a link for 0 ticks of the engine, or for more than 2^32 - 1.
    #[error(
        "the longest packet takes a link for {ticks} ticks; it may take 1 to {}",
        u32::MAX
    )]
    LongestPacket {
        /// Number of ticks for which the longest packet occupies a link.
        ticks: u64,
    },
    /// A buffer is too small for the longest packet.
    #[error("{of} has a buffer of {buffer} bytes; it must hold a packet of {packet}")]
    SmallBuffer {
        /// Text for the part with the buffer, for the error message.
        of: &'static str,
        /// Size of the buffer in bytes.
        buffer: u32,
        /// Size of the longest packet in bytes.
        packet: u64,
    },
    /// Links would have more virtual channels than permitted.
    #[error(
        "{classes} classes of {channels} channels; a link may have {CHANNELS_MAX} channels at most"
    )]
    Channels {
        /// Number of classes of channels in the network.
        classes: u32,
        /// Number of channels per class.
        channels: u32,
    },
    /// The network is inconsistent or too large for the engine.
    #[error("{what}: {link}")]
    Network {
        /// What is inconsistent or too large, as text for the message of the error.
        what: &'static str,
        /// The number of the inconsistent link, or the number of links if there are too many.
        link: u64,
    },
    /// The network has several classes of channels and the rules have output buffers. In these,
    /// packets of all classes would wait behind one another.
    #[error(
        "packets of {classes} classes of channels would share output buffers, and could wait for \
         one another for ever; leave the buffers out"
    )]
    SharedOutputs {
        /// Number of classes of channels in the network.
        classes: u32,
    },
}
