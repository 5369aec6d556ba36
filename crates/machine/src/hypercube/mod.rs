//! Binary hypercubes with I/O nodes and an optional I/O network.
//!
//! A [`Machine`] is built from a [`spec::HypercubeSpec`]. It holds placement, routes and channels. A
//! [`Simulation`] runs a workload on it, message by message, and reports events to an
//! [`Observer`]. A [`JobsSimulation`] runs jobs on it ([`crate::jobs`]).

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
