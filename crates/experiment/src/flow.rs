//! Flows of demands and what becomes of demands.

use std::borrow::Cow;

/// A flow of demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowInfo {
    /// Its name in verdicts.
    pub name: Cow<'static, str>,
    /// Number of demands between two samples of its backlog.
    pub sample_every: u64,
    /// Whether these are the demands of a period, such as a checkpoint. All demands of a period arrive at
    /// once, and each sample is the backlog that earlier periods have left.
    pub periodic: bool,
}

/// An event in the life of a demand. Counts are in demands, except for `Carried`, which counts bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Demand offered.
    Offered,
    /// Demand completed.
    Done,
    /// Demand given up before it began.
    Dropped,
    /// Demand sent again.
    Retried,
    /// Bytes that arrived for demands.
    Carried,
}
