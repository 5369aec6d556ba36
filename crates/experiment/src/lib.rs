//! Points, replications, stopping rules, provenance.
//!
//! An [`Experiment`] is a scenario with its machines built. It runs points and searches over
//! threads, decides when each has seen enough, keeps what is finished in a journal, and returns a
//! [`result::RunResult`]. No physics here, no printing, no plots.

pub mod capacity;
mod fattree;
mod hypercube;
mod journal;
mod machines;
mod measurement;
mod progress;
mod recorders;
mod replication;
pub mod result;
mod rules;
mod run;
mod sci;
mod search;
mod subject;
mod summary;

pub use hypercube::Queueing;
pub use journal::JournalError;
pub use machines::measure_names;
pub use progress::Progress;
pub use run::{Experiment, Options, RunError, SetupError};
pub use sci::Failures;
