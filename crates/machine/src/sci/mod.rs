//! Fabrics of SCI rings joined by switch nodes.
//!
//! A [`Machine`] is built from a [`spec::SciSpec`]. It contains the rings, the routes and the
//! parameters of the engine. A [`Simulation`] runs packet traffic on it and reports events to an
//! [`Observer`]. A [`JobsSimulation`] runs jobs on it ([`crate::jobs`]).

// Construction of the machine from its description.
mod build;
// Limit on the transactions of each node that are under way.
mod gate;
mod jobs;
// Events that a simulation reports.
mod observe;
// SCI engine that also reports a collapse: the fabric delivers no packets any more.
mod rings;
// Choice of the route of each packet.
mod routing;
mod simulation;
pub mod spec;

pub use build::{Lengths, Machine, MachineError};
pub use jobs::JobsSimulation;
pub use observe::{Arrival, Observer};
pub use rings::LinkUse;
pub use simulation::{NodeCount, Simulation};

pub use isthmus_sci::{Stall, StallKind};
