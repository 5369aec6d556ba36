//! What demands are counted as.

use std::borrow::Cow;

/// A flow of demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowInfo {
    /// Its name in verdicts.
    pub name: Cow<'static, str>,
    /// Demands between two samples of its backlog.
    pub sample_every: u64,
    /// Whether these are the demands of a period, such as a checkpoint: all of them come at once, and each
    /// sample is what the periods before have left.
    pub periodic: bool,
}

/// What happened to demands, counted in demands but for bytes carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Asked for.
    Offered,
    /// Completed.
    Done,
    /// Given up before they began.
    Dropped,
    /// Sent again.
    Retried,
    /// Bytes that arrived.
    Carried,
}
