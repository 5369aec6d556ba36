//! Errors in a fabric of rings, its faults and its routes.

use thiserror::Error;

/// Maximum number of nodes of a fabric: SCI addresses 64 K nodes (section 1 of the SCI paper).
pub const MAX_NODES: u32 = 65_536;

/// An error in the description of a fabric of rings.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RingsError {
    /// The list of rings is empty.
    #[error("no ring; a fabric has at least one")]
    NoRings,
    /// A torus has no dimension.
    #[error("no size; a torus needs the number of nodes in each dimension")]
    NoSizes,
    /// A ring has fewer than two nodes.
    #[error("ring {ring} has {}; a ring joins at least 2", count_nodes(*.nodes))]
    ShortRing {
        /// Number of the ring with this error, from 0.
        ring: u32,
        /// Number of nodes of the ring, 0 or 1.
        nodes: u32,
    },
    /// A dimension of a torus has too few nodes.
    #[error("{size} nodes in dimension {dimension}; {fabric} needs at least {least} in each")]
    SmallSize {
        /// Text that names the kind of fabric, for the message of the error.
        fabric: &'static str,
        /// Number of the dimension, from 0 (x).
        dimension: u32,
        /// Requested number of nodes in this dimension.
        size: u32,
        /// Minimum number of nodes in a dimension.
        least: u32,
    },
    /// A dimension of a Manhattan street network has an odd size, so its streets cannot alternate.
    #[error(
        "{size} nodes in dimension {dimension}; the streets of a Manhattan street network \
         alternate in direction all the way round, which takes an even number"
    )]
    OddSize {
        /// Number of the dimension: 0 (x) or 1 (y).
        dimension: u32,
        /// Requested number of nodes in this dimension.
        size: u32,
    },
    /// The fabric has more nodes than can be addressed.
    #[error("{nodes} nodes; SCI addresses {MAX_NODES} at most")]
    TooManyNodes {
        /// The requested number of nodes, or the highest node number plus one; `u64::MAX` if it is larger.
        nodes: u64,
    },
    /// A ring passes a node twice.
    #[error("ring {ring} passes node {node} twice; a node has one interface on a ring")]
    RepeatedNode {
        /// Number of the ring with this error, from 0.
        ring: u32,
        /// Number of the node that the ring passes twice.
        node: u32,
    },
    /// A node number between 0 and the highest node is on no ring.
    #[error(
        "node {node} is on no ring; the rings name nodes up to {highest}, so there must be all of 0 to {highest}"
    )]
    NodeOnNoRing {
        /// Lowest node number that is on no ring.
        node: u32,
        /// Highest node number on any ring.
        highest: u32,
    },
    /// The fabric is not connected: some rings have no node in common with the others.
    #[error(
        "no path from node {from} to node {to}: no chain of rings with common nodes joins them"
    )]
    Unreachable {
        /// Source of the first pair of nodes without a path.
        from: u32,
        /// Destination of the first pair of nodes without a path.
        to: u32,
    },
    /// A listed failed node does not exist.
    #[error("failed node {node}, but the nodes are 0 to {highest}")]
    MissingNode {
        /// Number of the nonexistent node in the list of failed nodes.
        node: u32,
        /// Highest node number of the fabric.
        highest: u32,
    },
    /// A listed failed link does not exist.
    #[error("failed link {from}-{to}, but no ring leads from node {from} to node {to} next")]
    MissingLink {
        /// Node at which the link starts.
        from: u32,
        /// Node at which the link ends.
        to: u32,
    },
}

/// Return the text `no node` or `one node`, for the numbers 0 and 1.
fn count_nodes(nodes: u32) -> &'static str {
    match nodes {
        0 => "no node",
        _ => "one node",
    }
}

/// A reason why routes for the packets on a fabric cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoutesError {
    /// Routing by dimension order was requested in a fabric whose links do not follow dimensions.
    #[error(
        "{fabric}: packets cannot be routed dimension by dimension, as its links do not lead both \
         or always the same way along dimensions; the rules fixed, random and fewest changes work"
    )]
    NoDimensions {
        /// Name of the fabric, such as "6 x 6 torus".
        fabric: String,
    },
    /// The fabric has too many nodes for a table of routes.
    #[error(
        "{fabric}: this routing takes a table of all pairs of nodes, which is made for {limit} \
         nodes at most; routing by arithmetic, without a table, is there for rings and tori \
         without faults"
    )]
    TooManyNodes {
        /// Name of the fabric, such as "6 x 6 torus".
        fabric: String,
        /// Maximum number of nodes of a fabric with a table.
        limit: u32,
    },
    /// A pair of nodes has more equal paths than can be counted in 64 bits.
    #[error(
        "2^64 or more equal paths from node {from} to node {to}, too many to draw one of them; \
         the rules fixed and fewest changes leave fewer"
    )]
    TooManyPaths {
        /// Source of the first pair of nodes with too many equal paths.
        from: u32,
        /// Destination of the first pair of nodes with too many equal paths.
        to: u32,
    },
    /// No two nodes are connected after the faults.
    #[error("{fabric}: with these faults no node can reach another")]
    NothingLeft {
        /// Name of the fabric, such as "6 x 6 torus".
        fabric: String,
    },
}
