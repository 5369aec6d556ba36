//! Errors in a fabric, its rules and its packets.

use crate::limits::{RING_NODES_MAX, RINGS_MAX, SYMBOLS_LIMIT};
use isthmus_topology::rings::Segment;

/// An error, with the permitted values in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A ring has too few or too many nodes.
    #[error(
        "ring {ring} has {nodes} node{}; a ring has 2 to {RING_NODES_MAX}",
        if *.nodes == 1 { "" } else { "s" }
    )]
    RingSize {
        /// The ring.
        ring: u32,
        /// The number of its nodes.
        nodes: usize,
    },
    /// A ring names a node that does not exist.
    #[error("ring {ring} names node {node}; the nodes are 0 to {}", .nodes.saturating_sub(1))]
    NoSuchNode {
        /// The ring.
        ring: u32,
        /// The node.
        node: u32,
        /// Number of nodes.
        nodes: u32,
    },
    /// A ring passes a node twice.
    #[error("ring {ring} names node {node} twice")]
    NodeTwice {
        /// The ring.
        ring: u32,
        /// The node.
        node: u32,
    },
    /// A node is on more rings than it can have interfaces.
    #[error("node {node} is on more than {RINGS_MAX} rings")]
    TooManyRings {
        /// The node.
        node: u32,
    },
    /// A length or a depth that must be 1 or more is 0.
    #[error("{what} is 0; it must be 1 or more")]
    Zero {
        /// Its name in [`Rules`](crate::Rules).
        what: &'static str,
    },
    /// The longest send does not fit its bounds.
    #[error(
        "the longest send has {symbols} symbols; it must have {echo} (an echo) to {SYMBOLS_LIMIT}"
    )]
    LongestSend {
        /// Its symbols.
        symbols: u32,
        /// Symbols of an echo, its lower bound.
        echo: u32,
    },
    /// The event-driven engine was asked for go bits.
    #[error("the event-driven engine has no go bits; the symbol engine has them")]
    GoBits,
    /// A route has no segment.
    #[error("a packet of node {node} has no route")]
    EmptyRoute {
        /// The node at which the packet starts.
        node: u32,
    },
    /// A segment of a route is not possible.
    #[error(
        "a route goes {} links along ring {} from node {node}; it must go 1 or more, less than once \
         around, along a ring of that node, change ring between stretches, and end at another node",
        .segment.hops, .segment.ring
    )]
    Route {
        /// The node at which the segment starts.
        node: u32,
        /// The segment.
        segment: Segment,
    },
}
