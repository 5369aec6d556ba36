//! Workloads: traffic classes, locality, arrivals and jobs.
//!
//! This crate does not depend on engines, devices or machines. A source returns demands, each with
//! its process, message and time. The caller reports completions of demands to the source. The
//! crate only describes the storage devices of I/O servers.

mod arrival;
mod demand;
mod gaps;
pub mod jobs;
mod others;
mod outstanding;
pub mod packets;
pub mod spec;
pub mod storage;

pub use arrival::Arrivals;
pub use demand::{Demand, Location, Traffic};
pub use outstanding::Outstanding;
