//! Counters of packets, bytes and busy times in a network.

/// Counters over the interval from the start, or from
/// [`Engine::count_from_now`](crate::Engine::count_from_now), to the call of
/// [`Engine::counted`](crate::Engine::counted). A resource that is in use at either end of the
/// interval counts with its ticks inside the interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// For each link: ticks in which its transmitter was busy.
    pub busy: Vec<u64>,
    /// For each link: number of packets that started on it.
    pub packets: Vec<u64>,
    /// For each link: ticks in which packets occupied its lanes (virtual channels), summed over the
    /// lanes. With circuits, a lane counts from its grant until it is free again. With cut-through,
    /// the value is that of `busy`.
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
