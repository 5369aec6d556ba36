//! Networks of packets, whatever their form, with the jobs that run on them.
//!
//! A [`Network`] is what links, switches and interfaces are like. With the routes of a machine
//! ([`isthmus_packet::routes`]) a [`Simulation`] lets jobs run on it and reports events to an [`Observer`].
//! [`Routed`] is all of that but the jobs, for machines without another form of their own.

mod network;
mod routed;
mod simulation;
pub mod spec;

pub use crate::jobs::{Completed, Observer, Packet, Phase, Stored};
pub use crate::storage::StationCount;
pub use isthmus_packet::{Counters, Error as EngineError, routes};
pub use network::{Network, NetworkError};
pub use routed::{Routed, RoutedError, follow, follow_all};
pub use simulation::Simulation;
