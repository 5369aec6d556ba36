//! Demands out, completions in: traffic classes, locality, arrivals, jobs.
//!
//! Knows nothing of engines, devices and machines: it says who asks for what and when, and is
//! told when a demand is complete. What stands behind the I/O servers of jobs it describes only.

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
