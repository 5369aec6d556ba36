//! `machine.kind = "fat-tree"`: nodes below levels of switches, and the jobs that run on them.

// Reads `[machine]` of a scenario file.
mod build;
// Fat trees as packet networks.
mod fabric;
// Summary in results.
mod figures;
// Scenario format of this kind of machine.
mod format;
// Fields of the scenario tables of this kind of machine.
mod table;

pub use figures::FatTreeSummary;

/// The kind of machine `fat-tree`.
#[derive(Debug)]
pub struct FatTree;
