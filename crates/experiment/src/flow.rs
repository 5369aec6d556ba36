//! Flows of demands, and events in the life of a demand.

use std::borrow::Cow;

/// A flow: demands for data transfer that are counted and judged together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowInfo {
    /// Name of the flow in verdicts.
    pub name: Cow<'static, str>,
    /// Number of demands between two samples of the flow's backlog.
    pub sample_every: u64,
    /// Whether the demands come from a periodic process, such as a checkpoint. All demands of a period then
    /// arrive at once, and each sample is the backlog that earlier periods have left.
    pub periodic: bool,
}

/// An event in the life of a demand. Counts are in demands, except for `Carried`, which counts bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// A demand was offered to the machine.
    Offered,
    /// A demand was completed.
    Done,
    /// A demand was abandoned before it began.
    Dropped,
    /// A demand was sent again.
    Retried,
    /// Bytes that arrived for demands.
    Carried,
}
