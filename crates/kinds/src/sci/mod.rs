//! `machine.kind = "sci"`: a fabric of SCI rings joined by switch nodes.

mod analysis;
mod build;
mod capacity;
mod failures;
mod figures;
mod format;
mod jobs;
mod study;
mod subject;
mod table;
mod workload;

pub use figures::SciSummary;
pub use jobs::SciJobs;
pub use study::{Case, Site, Study, StudyError, study};
pub use subject::Built;

/// The kind of machine `sci`.
#[derive(Debug)]
pub struct Sci;
