//! Binary hypercubes with I/O nodes and, if wanted, an I/O network of their own.
//!
//! [`Machine`] is what was built from a [`spec::HypercubeSpec`]: placement, routes, channels. A
//! [`Simulation`] lets a workload run on it, one message at a time, and reports events to an
//! [`Observer`]; a [`JobsSimulation`] lets jobs run on it ([`crate::jobs`]).

mod build;
mod faulted;
mod gate;
mod jobs;
mod layout;
mod observe;
mod operation;
mod paths;
mod protocol;
mod simulation;
pub mod spec;

pub use build::{DeadlockProof, Machine, MachineError};
pub use jobs::JobsSimulation;
pub use layout::{ChannelKind, ChannelName, Layout};
pub use observe::{Class, Completed, Flow, Leg, Observer, Operation, Started};
pub use simulation::{DiskCount, Held, Simulation};
