//! SCI fabrics on which jobs run: files with `[workload.jobs.NAME]`.

mod capacity;
// Format of the scenario files of this machine.
mod format;
// Simulations of SCI fabrics with jobs, for experiments.
mod subject;
// Fields of the scenario tables of this machine.
mod table;
// Reads the jobs of a scenario file.
mod workload;

/// Marker type for scenarios of jobs on `machine.kind = "sci"`.
#[derive(Debug)]
pub struct SciJobs;
