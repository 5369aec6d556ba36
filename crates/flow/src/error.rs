//! Errors in the links of a network and in the transfers offered to an engine.

use crate::rate::{BYTES_MAX, Rate};
use isthmus_kernel::Cycles;

/// An error in a network of links or in an offered transfer. Its message contains the permitted
/// values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A rate is too small or too large for the engine.
    #[error(
        "{bytes} bytes in {ticks} ticks is no rate that can be counted; it must be 2^-24 bytes per tick \
         or more, and below 2^38"
    )]
    NoRate {
        /// Number of bytes that move in `ticks` ticks at this rate.
        bytes: u64,
        /// Number of ticks in which `bytes` bytes move at this rate.
        ticks: u64,
    },
    /// The network has more links than the numbers of links can express.
    #[error("there are {links} links; there may be {}", u32::MAX)]
    TooManyLinks {
        /// Number of links of the network.
        links: usize,
    },
    /// A path has a link that does not exist.
    #[error("a path names link {link}; the links are 0 to {}", .links.saturating_sub(1))]
    NoSuchLink {
        /// The number of the link that does not exist.
        link: u32,
        /// Number of links of the network.
        links: u32,
    },
    /// A path crosses a link twice.
    #[error("a path crosses link {link} twice; once is all it may")]
    LinkTwice {
        /// The number of the link that the path crosses twice.
        link: u32,
    },
    /// A path has too many links.
    #[error("a path has {links} links; it may have {}", u16::MAX)]
    LongPath {
        /// Number of links of the path.
        links: usize,
    },
    /// A transfer has too many bytes for the engine.
    #[error("a transfer has {bytes} bytes; it may have {BYTES_MAX}: cut it in parts")]
    TooLarge {
        /// Number of bytes of the transfer.
        bytes: u64,
    },
    /// The maximum rate of a transfer is below its reserved rate.
    #[error(
        "a transfer is bound to {rate_max}, with {reserved} reserved for it; the bound must be no less"
    )]
    BelowReserved {
        /// The maximum rate of the transfer.
        rate_max: Rate,
        /// The reserved rate of the transfer.
        reserved: Rate,
    },
    /// A link has less unreserved capacity than requested.
    #[error(
        "{reserved} cannot be reserved on link {link}: {} of it are left",
        .left.map_or(0.0, Rate::bytes_per_tick)
    )]
    Booked {
        /// The number of the link with too little unreserved capacity.
        link: u32,
        /// The rate that the transfer would reserve.
        reserved: Rate,
        /// The rate of the link that is not reserved yet; `None` if nothing is left.
        left: Option<Rate>,
    },
    /// The time of an offer is in the past.
    #[error("a transfer was offered for tick {time}; it is {now} already")]
    Past {
        /// The time for which the transfer was offered.
        time: Cycles,
        /// The time of the engine.
        now: Cycles,
    },
}
