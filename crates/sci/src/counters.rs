//! Counters of packets and symbols in a fabric of SCI rings.

use crate::Fabric;

/// Counters of the links, interfaces and nodes since the start of the engine, or since their last
/// reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// For each link (by the number of the interface that it leaves): number of symbols of send
    /// packets, with the idle symbol after each packet, that were decoded at the end of the link.
    /// It cannot exceed the number of cycles.
    pub send_symbols: Vec<u64>,
    /// For each link: number of symbols of echoes (acknowledgements), with the idle symbol after
    /// each echo, that were decoded at the end of the link.
    pub echo_symbols: Vec<u64>,
    /// For each interface: number of packets that it started to send, retransmissions included.
    pub sends: Vec<u64>,
    /// For each interface: number of busy echoes that it received. Each refuses a packet, which the
    /// interface must send again.
    pub retries: Vec<u64>,
    /// For each node: number of packets delivered to it.
    pub delivered: Vec<u64>,
    /// For each node: number of packets of its client that were dropped because their output queue
    /// was full.
    pub dropped: Vec<u64>,
}

impl Counters {
    /// Return counters at 0 for a fabric.
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let interfaces = vec![0; fabric.interfaces().values().len()];
        let nodes = vec![0; fabric.node_count() as usize];
        Self {
            send_symbols: interfaces.clone(),
            echo_symbols: interfaces.clone(),
            sends: interfaces.clone(),
            retries: interfaces,
            delivered: nodes.clone(),
            dropped: nodes,
        }
    }

    /// Sets all counters to 0.
    pub(crate) fn reset(&mut self) {
        for counts in [
            &mut self.send_symbols,
            &mut self.echo_symbols,
            &mut self.sends,
            &mut self.retries,
            &mut self.delivered,
            &mut self.dropped,
        ] {
            counts.fill(0);
        }
    }
}
