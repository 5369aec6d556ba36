//! `machine.kind = "graph"`: switches joined in any form, and the jobs that run on the nodes at them.

mod fabric;
mod figures;
mod format;
mod no_effect;
mod table;

pub use figures::GraphSummary;
pub use table::SWITCHES_MAX;

/// The kind.
#[derive(Debug)]
pub struct Graph;
