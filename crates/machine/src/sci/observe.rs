//! The events that a simulation reports to its observer.

use isthmus_kernel::Cycles;

/// A request (a move is one) that was accepted at its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The node that sent it.
    pub source: u32,
    /// From generation to the arrival of the tail, waiting at the source included, in cycles.
    pub latency: Cycles,
    /// From the first time its header left the source to the arrival of the tail, in cycles.
    pub network: Cycles,
    /// Links crossed.
    pub links: u32,
    /// Changes of ring.
    pub ring_changes: u32,
    /// Times that it was refused on its way and sent again.
    pub retries: u32,
}

/// Receives what happens. The methods are called very often.
pub trait Observer {
    /// A node has generated a transaction.
    fn offered(&mut self, node: u32);

    /// A request has arrived.
    fn arrived(&mut self, arrival: &Arrival);

    /// The transaction of `node` is complete: a move with its arrival, others with the tail of the
    /// response, so many cycles after they were generated.
    fn completed(&mut self, node: u32, response: Option<Cycles>);

    /// A transaction found no slot at its source and was given up.
    fn dropped(&mut self, node: u32);

    /// Whether the run may end.
    fn finished(&self) -> bool;
}
