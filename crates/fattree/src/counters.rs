//! What the engine counts.

/// Counts since the beginning, or since [`Engine::count_from_now`](crate::Engine::count_from_now).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// For each link: ticks for which its transmitter is taken. Counted as a whole when a packet
    /// gets the link.
    pub busy: Vec<u64>,
    /// For each link: packets that got it.
    pub packets: Vec<u64>,
    /// For each link: ticks for which its lanes are held, all together; with cut-through those of
    /// its transmitter. A lane counts from when a packet gets it until it is free again: while
    /// packets hold some, the sum of all releases less that of all grants, which wraps.
    pub held: Vec<u64>,
    /// For each node: ticks for which its DMA engine is taken. Counted as a whole when a packet is
    /// sent.
    pub dma: Vec<u64>,
    /// For each node: packets that its DMA engine has sent.
    pub sent: Vec<u64>,
    /// For each node: bytes of data that have arrived, without padding.
    pub bytes: Vec<u64>,
    /// For each node: packets that have arrived, read requests included.
    pub received: Vec<u64>,
}
