//! Errors in a fabric of SCI rings, its parameters and its packets.

use crate::limits::{RING_NODES_MAX, RINGS_MAX, SYMBOLS_LIMIT};
use isthmus_topology::rings::Segment;

/// An error in a fabric, its rules or a packet. Its message contains the permitted values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A ring has too few or too many nodes.
    #[error(
        "ring {ring} has {nodes} node{}; a ring has 2 to {RING_NODES_MAX}",
        if *.nodes == 1 { "" } else { "s" }
    )]
    RingSize {
        /// The number of the invalid ring.
        ring: u32,
        /// The number of nodes on the ring.
        nodes: usize,
    },
    /// A ring names a node that does not exist.
    #[error("ring {ring} names node {node}; the nodes are 0 to {}", .nodes.saturating_sub(1))]
    NoSuchNode {
        /// The number of the invalid ring.
        ring: u32,
        /// The number of the node that does not exist.
        node: u32,
        /// The number of nodes of the fabric.
        nodes: u32,
    },
    /// A ring passes a node twice.
    #[error("ring {ring} names node {node} twice")]
    NodeTwice {
        /// The number of the invalid ring.
        ring: u32,
        /// The number of the node.
        node: u32,
    },
    /// A node is on more than [`RINGS_MAX`] rings.
    #[error("node {node} is on more than {RINGS_MAX} rings")]
    TooManyRings {
        /// The number of the node.
        node: u32,
    },
    /// A length or a depth of the rules is 0, but must be 1 or more.
    #[error("{what} is 0; it must be 1 or more")]
    Zero {
        /// Name of the invalid field of [`Rules`](crate::Rules).
        what: &'static str,
    },
    /// The maximum length of a send packet in the rules is out of bounds.
    #[error(
        "the longest send has {symbols} symbols; it must have {echo} (an echo) to {SYMBOLS_LIMIT}"
    )]
    LongestSend {
        /// Maximum number of symbols of a send packet.
        symbols: u32,
        /// Number of symbols of an echo (acknowledgement), the lower bound of the length of a send
        /// packet.
        echo: u32,
    },
    /// The rules request go bits (flow-control bits in idle symbols), which the event-driven engine
    /// does not support.
    #[error("the event-driven engine has no go bits; the symbol engine has them")]
    GoBits,
    /// The route of a packet has no segment.
    #[error("a packet of node {node} has no route")]
    EmptyRoute {
        /// The node at which the packet starts.
        node: u32,
    },
    /// A segment of a route crosses 0 links or the whole ring, is on a ring without its start node,
    /// stays on the ring of the previous segment, or ends where the route starts.
    #[error(
        "a route goes {} links along ring {} from node {node}; it must go 1 or more, less than once \
         around, along a ring of that node, change ring between stretches, and end at another node",
        .segment.hops, .segment.ring
    )]
    Route {
        /// The node at which the segment starts.
        node: u32,
        /// The invalid segment of the route.
        segment: Segment,
    },
}
