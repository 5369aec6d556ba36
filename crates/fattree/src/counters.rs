//! What the engine counts.

use isthmus_topology::trees::Tree;

/// Counts since the beginning, or since [`Counters::reset`].
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

impl Counters {
    pub(crate) fn new(tree: &Tree) -> Self {
        let links = vec![0; tree.link_count() as usize];
        let nodes = vec![0; tree.node_count() as usize];
        Self {
            busy: links.clone(),
            packets: links.clone(),
            held: links,
            dma: nodes.clone(),
            sent: nodes.clone(),
            bytes: nodes.clone(),
            received: nodes,
        }
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        for counts in [
            &mut self.busy,
            &mut self.packets,
            &mut self.held,
            &mut self.dma,
            &mut self.sent,
            &mut self.bytes,
            &mut self.received,
        ] {
            counts.fill(0);
        }
    }
}
