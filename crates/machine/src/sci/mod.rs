//! Fabrics of SCI rings joined by switch nodes.
//!
//! [`Machine`] is what was built from a [`spec::SciSpec`]: rings, routes, the rules of the engine.
//! A [`Simulation`] lets packets run on it and reports events to an [`Observer`]; a
//! [`JobsSimulation`] lets jobs run on it ([`crate::jobs`]).

mod build;
mod gate;
mod jobs;
mod observe;
mod rings;
mod routing;
mod simulation;
pub mod spec;

pub use build::{Lengths, Machine, MachineError};
pub use jobs::JobsSimulation;
pub use observe::{Arrival, Observer};
pub use rings::LinkUse;
pub use simulation::{NodeCount, Simulation};

pub use isthmus_sci::{Stall, StallKind};
