//! `machine.kind = "graph"`: networks of switches in any topology, and the jobs that run on their nodes.

// Packet network (wiring, routes and analysis) of the switches.
mod fabric;
// Summary of the machine in results.
mod figures;
// Format of the scenario files of this machine.
mod format;
// Reports of scenario fields that have no effect.
mod no_effect;
// Fields of the scenario tables of this machine.
mod table;

pub use figures::GraphSummary;
pub use table::SWITCHES_MAX;

/// Marker type for scenarios with `machine.kind = "graph"`: networks of switches in any topology.
#[derive(Debug)]
pub struct Graph;
