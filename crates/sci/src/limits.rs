//! Maximum numbers of rings of a node, nodes of a ring and symbols of a packet.

/// Maximum number of rings of a node.
pub const RINGS_MAX: usize = 32;

/// Maximum number of nodes of a ring.
pub const RING_NODES_MAX: usize = 1 << 14;

/// Maximum number of symbols of a send packet.
pub const SYMBOLS_LIMIT: u32 = (1 << 14) - 1;
