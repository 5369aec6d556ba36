//! `machine.kind = "hypercube"`: a binary hypercube of PEs with I/O nodes and an I/O network.

// Analytic estimates.
mod analysis;
// A machine that has been built, with its description.
mod built;
mod capacity;
mod failures;
// Summary and utilisation in results.
mod figures;
// Scenario format of this kind of machine.
mod format;
mod jobs;
// Reader of the description of the machine.
mod machine;
// Names of the latencies.
mod measures;
// Reports of fields that have no effect.
mod no_effect;
// Queueing model, channel by channel.
mod routes;
// Hypercubes as subjects of experiments.
mod subject;
// Fields of the scenario tables of this kind of machine.
mod table;
// Reader of the workload.
mod workload;

pub use analysis::Queueing;
pub use built::Built;
pub use figures::HypercubeSummary;
pub use jobs::HypercubeJobs;

/// The kind of machine `hypercube`.
#[derive(Debug)]
pub struct Hypercube;
