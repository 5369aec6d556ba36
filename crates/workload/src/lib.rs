//! Demands out, completions in: traffic classes, locality, arrivals, jobs.
//!
//! Knows nothing of engines, devices and machines. A source returns which process asks for which
//! message and when; the caller reports when a demand is complete. The devices behind the I/O servers
//! of jobs are only described here.

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
