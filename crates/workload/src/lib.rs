//! Demands out, completions in: traffic classes, locality, arrivals, jobs.
//!
//! Knows nothing of engines, devices and machines: it says who asks for what and when, and is
//! told when a demand is complete.

mod arrival;
mod demand;
mod gaps;
pub mod jobs;
mod others;
mod outstanding;
pub mod packets;
pub mod spec;

pub use arrival::Arrivals;
pub use demand::{Demand, Location, Traffic};
pub use outstanding::Outstanding;
