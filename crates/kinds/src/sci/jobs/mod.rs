//! SCI fabrics on which jobs run: files with `[workload.jobs.NAME]`.

mod capacity;
// Scenario format of this kind of machine.
mod format;
// SCI fabrics with jobs as subjects of experiments.
mod subject;
// Fields of the scenario tables of this kind of machine.
mod table;
// Reader of the workload.
mod workload;

/// The kind of machine `sci` with a workload of jobs.
#[derive(Debug)]
pub struct SciJobs;
