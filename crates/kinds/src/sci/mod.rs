//! `machine.kind = "sci"`: a fabric of SCI rings joined by switch nodes.

// Analytic estimates of latencies and saturation.
mod analysis;
// Reads `[machine]` of a scenario file.
mod build;
mod capacity;
mod failures;
// Summary of the machine, and utilisation of its parts, in results.
mod figures;
// Format of the scenario files of this machine.
mod format;
mod jobs;
// Dependability study: all failures of several fabrics.
mod study;
// Simulations of SCI fabrics, for experiments.
mod subject;
// Fields of the scenario tables of this machine.
mod table;
// Reads `[workload]` of a scenario file.
mod workload;

pub use figures::SciSummary;
pub use jobs::SciJobs;
pub use study::{Case, Site, Study, StudyError, study};
pub use subject::Built;

/// Marker type for scenarios with `machine.kind = "sci"`: fabrics of SCI rings.
#[derive(Debug)]
pub struct Sci;
