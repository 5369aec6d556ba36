//! Binary hypercubes with I/O nodes and an optional I/O network.
//!
//! A [`Machine`] is built from a [`spec::HypercubeSpec`]. It contains the placement of I/O
//! nodes, the routes and the channels. A [`Simulation`] runs a workload on it, message by message, and
//! reports events to an [`Observer`]. A [`JobsSimulation`] runs jobs on it ([`crate::jobs`]).

// Construction of the machine from its description.
mod build;
// Effects of faults on routes and on the assignment of PEs to I/O nodes.
mod faulted;
// Limit on the demands of each PE that are under way.
mod gate;
// Simulation of jobs.
mod jobs;
// Numbering of the channels.
mod layout;
// Events that a simulation reports.
mod observe;
// I/O demands under way and their messages.
mod operation;
// Paths: the channels that each kind of message crosses.
mod paths;
// Protocol of I/O demands: the messages that carry out a read or a write.
mod protocol;
mod simulation;
pub mod spec;

pub use build::{DeadlockProof, Machine, MachineError};
pub use jobs::JobsSimulation;
pub use layout::{ChannelKind, ChannelName, Layout};
pub use observe::{Class, Completed, Flow, Leg, Observer, Operation, Started};
pub use simulation::{DiskCount, Held, Simulation};
