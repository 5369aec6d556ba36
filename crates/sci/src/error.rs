//! What can be wrong with a fabric, its rules and its packets.

use crate::limits::{RING_NODES_MAX, RINGS_MAX, SYMBOLS_LIMIT};
use isthmus_topology::rings::Segment;
use std::fmt;

/// What is wrong, and what would be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// A ring has too few or too many nodes.
    RingSize {
        /// The ring.
        ring: u32,
        /// Its nodes.
        nodes: usize,
    },
    /// A ring names a node that does not exist.
    NoSuchNode {
        /// The ring.
        ring: u32,
        /// The node that it names.
        node: u32,
        /// Number of nodes.
        nodes: u32,
    },
    /// A ring passes a node twice.
    NodeTwice {
        /// The ring.
        ring: u32,
        /// The node.
        node: u32,
    },
    /// A node is on more rings than it can have interfaces.
    TooManyRings {
        /// The node.
        node: u32,
    },
    /// A length or a depth that must be 1 or more is 0.
    Zero {
        /// Its name in [`Rules`](crate::Rules).
        what: &'static str,
    },
    /// The longest send does not fit its bounds.
    LongestSend {
        /// Its symbols.
        symbols: u32,
        /// Symbols of an echo, its lower bound.
        echo: u32,
    },
    /// The event-driven engine was asked for go bits.
    GoBits,
    /// A route has no stretch.
    EmptyRoute {
        /// Where it begins.
        node: u32,
    },
    /// A stretch of a route cannot be gone.
    Route {
        /// The node that it begins at.
        node: u32,
        /// The stretch.
        segment: Segment,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::RingSize { ring, nodes } => {
                let s = if nodes == 1 { "" } else { "s" };
                write!(
                    f,
                    "ring {ring} has {nodes} node{s}; a ring has 2 to {RING_NODES_MAX}"
                )
            }
            Self::NoSuchNode { ring, node, nodes } => write!(
                f,
                "ring {ring} names node {node}; the nodes are 0 to {}",
                nodes.saturating_sub(1)
            ),
            Self::NodeTwice { ring, node } => write!(f, "ring {ring} names node {node} twice"),
            Self::TooManyRings { node } => {
                write!(f, "node {node} is on more than {RINGS_MAX} rings")
            }
            Self::Zero { what } => write!(f, "{what} is 0; it must be 1 or more"),
            Self::LongestSend { symbols, echo } => write!(
                f,
                "the longest send has {symbols} symbols; it must have {echo} (an echo) to \
                 {SYMBOLS_LIMIT}"
            ),
            Self::GoBits => write!(
                f,
                "the event-driven engine has no go bits; the symbol engine has them"
            ),
            Self::EmptyRoute { node } => write!(f, "a packet of node {node} has no route"),
            Self::Route { node, segment } => write!(
                f,
                "a route goes {} links along ring {} from node {node}; it must go 1 or more, less \
                 than once around, along a ring of that node, change ring between stretches, and \
                 end at another node",
                segment.hops, segment.ring
            ),
        }
    }
}

impl std::error::Error for Error {}
