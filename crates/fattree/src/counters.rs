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
            packets: links,
            bytes: nodes.clone(),
            received: nodes,
        }
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        for counts in [
            &mut self.busy,
            &mut self.packets,
            &mut self.bytes,
            &mut self.received,
        ] {
            counts.fill(0);
        }
    }
}
