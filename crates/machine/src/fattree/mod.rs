//! Fat trees of circuit-switched or cut-through links, such as QsNET, with the jobs that run on
//! them.
//!
//! [`Machine`] is what was built from a [`spec::FatTreeSpec`]: the tree and the rules of the engine.
//! A [`Simulation`] lets jobs run on it and tells an [`Observer`] what happens.

mod build;
mod observe;
mod simulation;
pub mod spec;

pub use build::{Machine, MachineError};
pub use isthmus_packet::Counters;
pub use isthmus_workload::jobs::Phase;
pub use observe::{Completed, Observer, Packet};
pub use simulation::Simulation;
