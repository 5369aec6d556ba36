//! Jobs on any kind of machine: their tables in scenario files, their latencies and rates, and estimates.

// Devices behind I/O servers: use, capacity and utilisation.
pub(crate) mod behind;
pub(crate) mod capacity;
// Accepted bandwidth of each node in results.
mod figures;
// Scenario tables that all kinds of machine with jobs share.
mod format;
// Latencies and rates of jobs.
mod measured;
// Lengths and rates of messages.
mod message;
// Error messages for jobs that do not fit on the machine.
mod misfit;
// Reports of scenario fields that have no effect.
mod no_effect;
// Reads `[workload]` with jobs of a scenario file.
mod read;
// Check that memory suffices for the messages with which jobs start.
mod start;
// Simulations of jobs on any machine, for experiments.
mod subject;
// Scenario fields of a workload with jobs.
mod table;

use figures::nodes;
pub(crate) use format::{tables, workload};
pub use measured::names;
pub(crate) use measured::{Measured, ObserverState, is_io, stores};
pub(crate) use message::{Message, ns};
pub(crate) use no_effect::watch;
pub(crate) use read::{Nodes, check_live, jobs};
pub(crate) use start::{Parts, check_start};
pub(crate) use subject::{Running, Runs, never, subject};
pub(crate) use table::{CommonTable, WorkloadTable};
