//! Errors in networks and offers.

use crate::rate::{BYTES_MAX, Rate};
use isthmus_kernel::Cycles;
use std::fmt;

/// An error, with the permitted values in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// A rate is too small or too large to be counted in steps.
    NoRate {
        /// Its number of bytes,
        bytes: u64,
        /// in this number of ticks.
        ticks: u64,
    },
    /// There are more links than link numbers.
    TooManyLinks {
        /// Number of links.
        links: usize,
    },
    /// A path names a link that does not exist.
    NoSuchLink {
        /// The number in the path.
        link: u32,
        /// Number of links.
        links: u32,
    },
    /// A path crosses a link twice.
    LinkTwice {
        /// The link.
        link: u32,
    },
    /// A path is too long.
    LongPath {
        /// Number of its links.
        links: usize,
    },
    /// A transfer has more bytes than the engine can count.
    TooLarge {
        /// Its bytes.
        bytes: u64,
    },
    /// The bound of a transfer is below its reservation.
    BelowReserved {
        /// The bound on its rate.
        rate_max: Rate,
        /// The reserved rate.
        reserved: Rate,
    },
    /// A link has less unreserved capacity than requested.
    Booked {
        /// The link.
        link: u32,
        /// The requested rate.
        reserved: Rate,
        /// The unreserved rate, if there is any.
        left: Option<Rate>,
    },
    /// The time of an offer is in the past.
    Past {
        /// The time of the offer.
        time: Cycles,
        /// The current time.
        now: Cycles,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoRate { bytes, ticks } => write!(
                f,
                "{bytes} bytes in {ticks} ticks is no rate that can be counted; it must be 2^-24 \
                 bytes per tick or more, and below 2^38"
            ),
            Self::TooManyLinks { links } => {
                write!(f, "there are {links} links; there may be {}", u32::MAX)
            }
            Self::NoSuchLink { link, links } => write!(
                f,
                "a path names link {link}; the links are 0 to {}",
                links.saturating_sub(1)
            ),
            Self::LinkTwice { link } => {
                write!(f, "a path crosses link {link} twice; once is all it may")
            }
            Self::LongPath { links } => {
                write!(f, "a path has {links} links; it may have {}", u16::MAX)
            }
            Self::TooLarge { bytes } => write!(
                f,
                "a transfer has {bytes} bytes; it may have {BYTES_MAX}: cut it in parts"
            ),
            Self::BelowReserved { rate_max, reserved } => write!(
                f,
                "a transfer is bound to {rate_max}, with {reserved} reserved for it; the bound \
                 must be no less"
            ),
            Self::Booked {
                link,
                reserved,
                left,
            } => {
                let left = left.map_or(0.0, Rate::bytes_per_tick);
                write!(
                    f,
                    "{reserved} cannot be reserved on link {link}: {left} of it are left"
                )
            }
            Self::Past { time, now } => write!(
                f,
                "a transfer was offered for tick {time}; it is {now} already"
            ),
        }
    }
}

impl std::error::Error for Error {}
