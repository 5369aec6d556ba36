//! What the engine counts.

/// Counts since the beginning, or since [`Engine::reset_counters`](crate::Engine::reset_counters).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// For each link: ticks for which its transmitter is taken. Counted as a whole when a packet
    /// gets the link.
    pub busy: Vec<u64>,
    /// For each link: packets that got it.
    pub packets: Vec<u64>,
    /// For each node: bytes of data that have arrived, without padding.
    pub bytes: Vec<u64>,
    /// For each node: packets that have arrived, read requests included.
    pub received: Vec<u64>,
}
