//! Demands out, completions in: traffic classes, locality, arrivals.
//!
//! Knows nothing of engines, devices and machines: it says who asks for what and when, and is
//! told when a demand is complete.

pub mod spec;
