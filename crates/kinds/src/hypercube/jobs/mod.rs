//! Hypercubes on which jobs run: files with `[workload.jobs.NAME]`.

mod capacity;
// Scenario format of this kind of machine.
mod format;
// Hypercubes with jobs as subjects of experiments.
mod subject;
// Fields of the scenario tables of this kind of machine.
mod table;
// Reader of the workload.
mod workload;

/// The kind of machine `hypercube` with a workload of jobs.
#[derive(Debug)]
pub struct HypercubeJobs;
