//! Counters of the engine.

/// Counters from the start, or from [`Engine::count_from_now`](crate::Engine::count_from_now), to
/// [`Engine::counted`](crate::Engine::counted). A resource that is in use across either time counts
/// with the ticks between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// For each link: ticks in which its transmitter was busy.
    pub busy: Vec<u64>,
    /// For each link: number of packets.
    pub packets: Vec<u64>,
    /// For each link: ticks in which its lanes were held, summed over the lanes; with cut-through
    /// those of its transmitter. A lane counts from its grant until it is free again.
    pub held: Vec<u64>,
    /// For each node: ticks in which its DMA engine was busy.
    pub dma: Vec<u64>,
    /// For each node: packets sent by its DMA engine.
    pub sent: Vec<u64>,
    /// For each node: bytes of data that have arrived, without padding.
    pub bytes: Vec<u64>,
    /// For each node: packets that have arrived, read requests included.
    pub received: Vec<u64>,
}
