//! `machine.kind = "hypercube"`: a binary hypercube of PEs with I/O nodes and an I/O network.

// Analytic estimates of latencies and saturation.
mod analysis;
// A machine that has been built, with its description.
mod built;
mod capacity;
mod failures;
// Summary of the machine, and utilisation of its parts, in results.
mod figures;
// Format of the scenario files of this machine.
mod format;
mod jobs;
// Reads `[machine]` of a scenario file.
mod machine;
// Names of the latencies.
mod measures;
// Reports of scenario fields that have no effect.
mod no_effect;
// Queueing model that solves each channel on the routes of a machine.
mod routes;
// Simulations of hypercubes, for experiments.
mod subject;
// Fields of the scenario tables of this machine.
mod table;
// Reads `[workload]` of a scenario file.
mod workload;

pub use analysis::Queueing;
pub use built::Built;
pub use figures::HypercubeSummary;
pub use jobs::HypercubeJobs;

/// Marker type for scenarios with `machine.kind = "hypercube"`: binary hypercubes with I/O nodes.
#[derive(Debug)]
pub struct Hypercube;
