//! What can be wrong with a network and with what is offered to it.

use crate::{BYTES_MAX, Rate};
use isthmus_kernel::Cycles;
use std::fmt;

/// What is wrong, and what would be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// A rate is too small or too large to be counted in steps.
    NoRate {
        /// Bytes of it,
        bytes: u64,
        /// in so many ticks.
        ticks: u64,
    },
    /// There are more links than numbers for them.
    TooManyLinks {
        /// The links.
        links: usize,
    },
    /// A path names a link that does not exist.
    NoSuchLink {
        /// The link that it names.
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
        /// Its links.
        links: usize,
    },
    /// A transfer has more bytes than can be counted.
    TooLarge {
        /// Its bytes.
        bytes: u64,
    },
    /// A transfer is to be slower than what is reserved for it.
    BelowReserved {
        /// The bound on its rate.
        rate_max: Rate,
        /// The rate reserved.
        reserved: Rate,
    },
    /// A link has not as much left as is to be reserved.
    Booked {
        /// The link.
        link: u32,
        /// The rate to be reserved.
        reserved: Rate,
        /// What no reservation has, if anything.
        left: Option<Rate>,
    },
    /// The time of an offer has passed.
    Past {
        /// The time.
        time: Cycles,
        /// The present one.
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
