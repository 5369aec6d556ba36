//! Experiments: the machine and the workload of a scenario, simulated at every point of its sweep.
//!
//! An [`Experiment`] is a scenario with its machines built. It runs points and searches on threads, decides
//! when the samples of each suffice, stores each finished point and search in a journal, and returns a
//! [`result::RunResult`]. It contains no physics, printing or plots.

mod bracket;
pub mod capacity;
mod censored;
pub mod claims;
pub mod columns;
pub mod comparison;
mod ends;
mod envelope;
mod error;
mod flow;
mod guard;
mod journal;
mod kept;
mod kind;
mod known;
mod limits;
mod machines;
mod measurement;
mod memory;
mod overlay;
mod processors;
mod progress;
mod rates;
pub mod recorders;
mod replication;
pub mod result;
mod rules;
mod run;
mod run_length;
mod search;
pub mod subject;
mod summary;
mod task;
mod unended;
pub mod uses;

pub use claims::{ClaimState, Name as WorkerName, beat, read_claim_state};
pub use error::{RunError, SetupError};
pub use guard::{Panicked, catch, cover_thread};
pub use journal::{Flaw as EntryFlaw, JournalError, invalid_entries};
pub use kind::{Flaw, Kind, Kinds, Row};
pub use memory::default_bound as memory_bound;
pub use processors::processors;
pub use progress::Progress;
pub use run::{Experiment, Extent, Options, Part, Selection};
pub use task::Task;
