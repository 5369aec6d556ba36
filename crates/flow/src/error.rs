//! Errors in networks and offers.

use crate::rate::{BYTES_MAX, Rate};
use isthmus_kernel::Cycles;

/// An error, with the permitted values in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A rate is too small or too large to be counted in steps.
    #[error(
        "{bytes} bytes in {ticks} ticks is no rate that can be counted; it must be 2^-24 bytes per tick \
         or more, and below 2^38"
    )]
    NoRate {
        /// Its number of bytes,
        bytes: u64,
        /// in this number of ticks.
        ticks: u64,
    },
    /// There are more links than link numbers.
    #[error("there are {links} links; there may be {}", u32::MAX)]
    TooManyLinks {
        /// Number of links.
        links: usize,
    },
    /// A path names a link that does not exist.
    #[error("a path names link {link}; the links are 0 to {}", .links.saturating_sub(1))]
    NoSuchLink {
        /// The number in the path.
        link: u32,
        /// Number of links.
        links: u32,
    },
    /// A path crosses a link twice.
    #[error("a path crosses link {link} twice; once is all it may")]
    LinkTwice {
        /// The link.
        link: u32,
    },
    /// A path is too long.
    #[error("a path has {links} links; it may have {}", u16::MAX)]
    LongPath {
        /// Number of its links.
        links: usize,
    },
    /// A transfer has more bytes than the engine can count.
    #[error("a transfer has {bytes} bytes; it may have {BYTES_MAX}: cut it in parts")]
    TooLarge {
        /// Its bytes.
        bytes: u64,
    },
    /// The bound of a transfer is below its reservation.
    #[error(
        "a transfer is bound to {rate_max}, with {reserved} reserved for it; the bound must be no less"
    )]
    BelowReserved {
        /// The bound on its rate.
        rate_max: Rate,
        /// The reserved rate.
        reserved: Rate,
    },
    /// A link has less unreserved capacity than requested.
    #[error(
        "{reserved} cannot be reserved on link {link}: {} of it are left",
        .left.map_or(0.0, Rate::bytes_per_tick)
    )]
    Booked {
        /// The link.
        link: u32,
        /// The requested rate.
        reserved: Rate,
        /// The unreserved rate, if there is any.
        left: Option<Rate>,
    },
    /// The time of an offer is in the past.
    #[error("a transfer was offered for tick {time}; it is {now} already")]
    Past {
        /// The time of the offer.
        time: Cycles,
        /// The current time.
        now: Cycles,
    },
}
