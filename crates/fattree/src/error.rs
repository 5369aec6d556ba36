//! What can be wrong with a fabric and its rules.

use std::fmt;

/// What is wrong, and what would be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// A tree without levels, or a level without down links, or with too many nodes.
    Shape {
        /// Number of nodes that was asked for.
        nodes: u64,
        /// Number of nodes at most.
        most: u64,
    },
    /// A switch is at a level or over a block of nodes that the tree does not have.
    Place {
        /// The switch.
        switch: u32,
    },
    /// A node has none or several leaf switches.
    Leaves {
        /// The first node of the block.
        node: u32,
        /// Its leaf switches.
        leaves: u32,
    },
    /// A switch below the top has no up link.
    NoAscent {
        /// The switch.
        switch: u32,
    },
    /// An up link ends where no switch one level higher over the same nodes is.
    UpLink {
        /// The switch that it begins at.
        switch: u32,
        /// Its number there.
        port: u32,
    },
    /// A switch has no way, or several, down to a part of its nodes.
    DownLinks {
        /// The switch.
        switch: u32,
        /// The part.
        port: u32,
        /// Links to it.
        links: u32,
    },
    /// A number that must be 1 or more is 0.
    Zero {
        /// Its name in [`Rules`](crate::Rules).
        what: &'static str,
    },
    /// A number is too large.
    TooMany {
        /// Its name in [`Rules`](crate::Rules).
        what: &'static str,
        /// The number.
        value: u32,
        /// What it may be.
        most: u32,
    },
    /// A read request does not fit into a packet.
    LongRequest {
        /// Its payload.
        bytes: u32,
        /// The largest payload.
        payload: u32,
    },
    /// A packet takes a link for too long.
    LongestPacket {
        /// For how long.
        ticks: u64,
    },
    /// A buffer cannot hold a packet.
    SmallBuffer {
        /// Its bytes.
        buffer: u32,
        /// Bytes of the longest packet.
        packet: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Shape { nodes, most } => write!(
                f,
                "the tree has {nodes} nodes; it must have 1 to {most}, and 1 or more down links \
                 at every level"
            ),
            Self::Place { switch } => write!(
                f,
                "switch {switch} is at a level or over a block of nodes that the tree does not have"
            ),
            Self::Leaves { node, leaves } => write!(
                f,
                "node {node} has {leaves} leaf switches; a node has one link, to one switch of \
                 level 1"
            ),
            Self::NoAscent { switch } => write!(
                f,
                "switch {switch} has no up link; only those of the top level have none"
            ),
            Self::UpLink { switch, port } => write!(
                f,
                "up link {port} of switch {switch} must end at a switch one level higher whose \
                 nodes include those of switch {switch}"
            ),
            Self::DownLinks {
                switch,
                port,
                links,
            } => write!(
                f,
                "switch {switch} has {links} links to part {port} of its nodes; it must have one \
                 to each part"
            ),
            Self::Zero { what } => write!(f, "{what} is 0; it must be 1 or more"),
            Self::TooMany { what, value, most } => {
                write!(f, "{what} is {value}; it may be {most} at most")
            }
            Self::LongRequest { bytes, payload } => write!(
                f,
                "a read request has {bytes} bytes of payload; a packet has {payload} at most"
            ),
            Self::LongestPacket { ticks } => write!(
                f,
                "the longest packet takes a link for {ticks} ticks; it may take 1 to {}",
                u32::MAX
            ),
            Self::SmallBuffer { buffer, packet } => write!(
                f,
                "a virtual channel has a buffer of {buffer} bytes; it must hold a packet of \
                 {packet}"
            ),
        }
    }
}

impl std::error::Error for Error {}
