//! The events that a simulation reports to its observer.

use isthmus_kernel::Cycles;

/// Report of a request packet that its target has accepted. A move (write without response) counts as a
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Node that sent the request.
    pub source: u32,
    /// Time from generation to the arrival of the request's tail, including the wait at the source, in
    /// cycles.
    pub latency: Cycles,
    /// Time from the first departure of the request's header to the arrival of its tail, in cycles.
    pub network: Cycles,
    /// Number of links that the request crossed on its way.
    pub links: u32,
    /// Number of times that the request changed rings.
    pub ring_changes: u32,
    /// Number of times that the request was sent again because a queue on its route was full.
    pub retries: u32,
}

/// Receiver of the events that a simulation reports. Its methods are called very often.
pub trait Observer {
    /// Handle the generation of a transaction by a node.
    fn offered(&mut self, node: u32);

    /// Handle the arrival of a request.
    fn arrived(&mut self, arrival: &Arrival);

    /// Handle the completion of a transaction of `node`. A move is complete when it arrives. Other transactions are
    /// complete when the last symbol of the response arrives, `response` cycles after generation.
    fn completed(&mut self, node: u32, response: Option<Cycles>);

    /// Handle the drop of a transaction that found no free slot at its source.
    fn dropped(&mut self, node: u32);

    /// Return whether the observer has seen enough, so that the run may end.
    fn finished(&self) -> bool;
}
