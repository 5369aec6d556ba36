//! `machine.kind = "fat-tree"`: nodes below levels of switches, and the jobs that run on them.

// Reads `[machine]` of a scenario file.
mod build;
// Fat trees as packet networks.
mod fabric;
// Summary of the machine in results.
mod figures;
// Format of the scenario files of this machine.
mod format;
// Fields of the scenario tables of this machine.
mod table;

pub use figures::FatTreeSummary;

/// Marker type for scenarios with `machine.kind = "fat-tree"`: fat trees.
#[derive(Debug)]
pub struct FatTree;
