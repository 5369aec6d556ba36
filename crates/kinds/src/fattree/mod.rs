//! `machine.kind = "fat-tree"`: nodes below levels of switches, and the jobs that run on them.

mod analysis;
mod build;
mod capacity;
mod figures;
mod format;
mod jobs;
mod jobs_table;
mod message;
mod misfit;
mod outstanding;
mod presets;
mod subject;
mod table;
mod vain;

pub use figures::FatTreeSummary;
pub use subject::Built;

/// The kind.
#[derive(Debug)]
pub struct FatTree;
