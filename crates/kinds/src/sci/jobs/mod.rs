//! SCI fabrics on which jobs run: files with `[workload.jobs.NAME]`.

mod capacity;
// Format of the scenario files of this kind of machine.
mod format;
// Simulations of SCI fabrics with jobs, for experiments.
mod subject;
// Fields of the scenario tables of this kind of machine.
mod table;
// Reads the jobs of a scenario file.
mod workload;

/// Type that represents the kind of machine `sci` with a workload of jobs.
#[derive(Debug)]
pub struct SciJobs;
