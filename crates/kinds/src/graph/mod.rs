//! `machine.kind = "graph"`: networks of switches in any topology, and the jobs that run on their nodes.

mod fabric;
mod figures;
mod format;
mod no_effect;
mod table;

pub use figures::GraphSummary;
pub use table::SWITCHES_MAX;

/// The kind of machine `graph`.
#[derive(Debug)]
pub struct Graph;
