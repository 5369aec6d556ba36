//! Networks of packets, whatever their form, with the jobs that run on them.
//!
//! A [`Network`] is what links, switches and interfaces are like. With the ways of a machine
//! ([`isthmus_packet::ways`]) a [`Simulation`] lets jobs run on it and tells an [`Observer`] what happens.

mod network;
mod simulation;
pub mod spec;

pub use crate::jobs::{Completed, Observer, Packet, Phase};
pub use isthmus_packet::{Counters, Error as EngineError, ways};
pub use network::{Network, NetworkError};
pub use simulation::Simulation;
