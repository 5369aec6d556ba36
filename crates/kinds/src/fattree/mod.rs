//! `machine.kind = "fat-tree"`: nodes below levels of switches, and the jobs that run on them.

// Reads `[machine]` of a scenario file.
mod build;
// Fat trees as packet networks.
mod fabric;
// Summary in results.
mod figures;
// Format of the scenario files of this kind of machine.
mod format;
// Fields of the scenario tables of this kind of machine.
mod table;

pub use figures::FatTreeSummary;

/// Type that represents the kind of machine `fat-tree`: fat trees.
#[derive(Debug)]
pub struct FatTree;
