//! Hypercubes on which jobs run: files with `[workload.jobs.NAME]`.

mod capacity;
mod format;
mod subject;
mod table;
mod workload;

/// The kind with jobs for its work.
#[derive(Debug)]
pub struct HypercubeJobs;
