//! Types of the numbers that identify applications, connections, streams and orders, and of points
//! in time.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            /// Formats the number without the name of its type.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// Number of an application that shares the manager with others.
    AppId(u32)
}
id! {
    /// A logical connection (paper, 5.1), numbered by the manager in the order of opening.
    ConnectionId(u32)
}
id! {
    /// Number of a stream (one data transfer over a connection), in the order of registration.
    StreamId(u32)
}
id! {
    /// A link between ranks and the interface, numbered by the driver.
    LinkId(u16)
}
id! {
    /// A buffer of staging memory, which has room for one transfer unit (TU) and the headers of its
    /// packets.
    BufferId(u32)
}
id! {
    /// Number of a packet's slot in network memory. Numbers are reused after `Free`.
    PacketId(u32)
}
id! {
    /// Number of an order that the manager gives to the driver. Numbers are never reused.
    OrderId(u64)
}

/// A point in time, in nanoseconds since an origin chosen by the driver. The manager never reads a
/// clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(pub u64);

impl Instant {
    /// Returns the time `ns` nanoseconds later, or the latest possible one.
    #[must_use]
    pub fn after_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// Returns the nanoseconds since `earlier`, or 0 if that is in the future.
    #[must_use]
    pub fn since_ns(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The direction of data. Each has its own staging memory, engines and network memory, like each
/// pipe of the interface board (paper, Figure 4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From ranks over links to the network.
    Transmit,
    /// From the network over links to ranks.
    Receive,
}

impl Direction {
    /// Returns 0 for `Transmit` and 1 for `Receive`, as the index in arrays by direction.
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Direction {
    /// Formats the direction as `transmit` or `receive`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
        })
    }
}
