//! SCI fabrics on which jobs run: files with `[workload.jobs.NAME]`.

mod capacity;
mod format;
mod subject;
mod table;
mod workload;

/// The kind of machine `sci` with a workload of jobs.
#[derive(Debug)]
pub struct SciJobs;
