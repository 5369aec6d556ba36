//! `machine.kind = "sci"`: a fabric of SCI rings joined by switch nodes.

// Analytic estimates.
mod analysis;
// Reader of the description of the fabric.
mod build;
mod capacity;
mod failures;
// Summary and utilisation in results.
mod figures;
// Scenario format of this kind of machine.
mod format;
mod jobs;
// Dependability study: all failures of several fabrics.
mod study;
// SCI fabrics as subjects of experiments.
mod subject;
// Fields of the scenario tables of this kind of machine.
mod table;
// Reader of the workload.
mod workload;

pub use figures::SciSummary;
pub use jobs::SciJobs;
pub use study::{Case, Site, Study, StudyError, study};
pub use subject::Built;

/// The kind of machine `sci`.
#[derive(Debug)]
pub struct Sci;
