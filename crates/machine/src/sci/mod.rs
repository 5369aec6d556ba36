//! Fabrics of SCI rings joined by switch nodes.
//!
//! [`Machine`] is what was built from a [`spec::SciSpec`]: rings, routes, the rules of the engine.
//! A [`Simulation`] lets packets run on it and tells an [`Observer`] what happens.

mod build;
mod gate;
mod observe;
mod simulation;
pub mod spec;

pub use build::{Lengths, Machine, MachineError};
pub use observe::{Arrival, Observer};
pub use simulation::{LinkUse, NodeCount, Simulation};

pub use isthmus_sci::{Stall, StallKind};
