//! `machine.kind = "hypercube"`: a binary hypercube of PEs with I/O nodes and an I/O network.

mod analysis;
mod built;
mod capacity;
mod failures;
mod figures;
mod format;
mod jobs;
mod machine;
mod measures;
mod no_effect;
mod routes;
mod subject;
mod table;
mod workload;

pub use analysis::Queueing;
pub use built::Built;
pub use figures::HypercubeSummary;
pub use jobs::HypercubeJobs;

/// The kind of machine `hypercube`.
#[derive(Debug)]
pub struct Hypercube;
