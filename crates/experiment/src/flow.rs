//! Flows of demands (requests to transfer data), and the events that recorders count for a demand.

use std::borrow::Cow;

/// A flow: a group of demands (requests to transfer data) whose backlog is tested for saturation as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowInfo {
    /// Name of the flow in the result, for example `messages`.
    pub name: Cow<'static, str>,
    /// Number of demands between two samples of the flow's backlog.
    pub sample_every: u64,
    /// Whether the demands come from a periodic process, such as a checkpoint. All demands of a period then
    /// arrive at once, and each sample is the backlog that earlier periods have left.
    pub periodic: bool,
}

/// An event that is counted for a demand (a request to transfer data). `Carried` counts bytes, all others
/// count demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// A demand (a request to transfer data) was offered to the machine.
    Offered,
    /// A demand (a request to transfer data) was completed.
    Done,
    /// A demand (a request to transfer data) was abandoned before its transfer began.
    Dropped,
    /// A demand (a request to transfer data) was retransmitted.
    Retried,
    /// Bytes of the data of a demand (a request to transfer data) arrived.
    Carried,
}
