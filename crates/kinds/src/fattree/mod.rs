//! `machine.kind = "fat-tree"`: nodes below levels of switches, and the jobs that run on them.

mod build;
mod fabric;
mod figures;
mod format;
mod table;

pub use figures::FatTreeSummary;

/// The kind of machine `fat-tree`.
#[derive(Debug)]
pub struct FatTree;
