//! How large fabrics and packets may be.

/// Rings that a node may be on.
pub const RINGS_MAX: usize = 32;

/// Nodes on a ring at most.
pub const RING_NODES_MAX: usize = 1 << 14;

/// Symbols of a send at most.
pub const SYMBOLS_LIMIT: u32 = (1 << 14) - 1;
