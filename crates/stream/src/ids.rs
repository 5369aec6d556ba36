//! What the manager numbers, and its time.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// An application that shares the manager with others.
    AppId(u32)
}
id! {
    /// A logical connection (paper, 5.1), numbered by the manager in the order of opening.
    ConnectionId(u32)
}
id! {
    /// A stream: one data transfer over a connection, numbered in the order of registration.
    StreamId(u32)
}
id! {
    /// A link between ranks and the interface, numbered by the driver.
    LinkId(u16)
}
id! {
    /// A buffer of staging memory: room for one TU and the headers of its packets.
    BufferId(u32)
}
id! {
    /// A place in network memory for one packet. Numbers are used again after `Free`.
    PacketId(u32)
}
id! {
    /// One order to the driver. Never used again.
    OrderId(u64)
}

/// A moment, in nanoseconds since an origin that the driver chooses. The manager never asks for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(pub u64);

impl Instant {
    /// The moment `ns` nanoseconds later; the last one there is, if that is later than any.
    #[must_use]
    pub fn after_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// Nanoseconds since `earlier`, 0 if that is in the future.
    #[must_use]
    pub fn since_ns(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Which way data goes. Each direction has staging memory, engines and network memory of its own,
/// as each pipe of the interface board has (paper, Figure 4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From ranks over links to the network.
    Transmit,
    /// From the network over links to ranks.
    Receive,
}

impl Direction {
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
        })
    }
}
