//! What the engine counts.

/// Counts from the beginning, or from [`Engine::count_from_now`](crate::Engine::count_from_now), to
/// the moment of [`Engine::counted`](crate::Engine::counted). Of what is taken across one of the
/// two, the ticks between them count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// For each link: ticks for which its transmitter was taken.
    pub busy: Vec<u64>,
    /// For each link: packets that got it.
    pub packets: Vec<u64>,
    /// For each link: ticks for which its lanes were held, all together; with cut-through those of
    /// its transmitter. A lane counts from when a packet gets it until it is free again.
    pub held: Vec<u64>,
    /// For each node: ticks for which its DMA engine was taken.
    pub dma: Vec<u64>,
    /// For each node: packets that its DMA engine has sent.
    pub sent: Vec<u64>,
    /// For each node: bytes of data that have arrived, without padding.
    pub bytes: Vec<u64>,
    /// For each node: packets that have arrived, read requests included.
    pub received: Vec<u64>,
}
