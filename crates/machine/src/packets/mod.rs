//! Packet networks of any topology, with the jobs that run on them.
//!
//! A [`Network`] contains the properties of links, switches and interfaces. A [`Simulation`] runs jobs on it
//! with the routes of a machine ([`isthmus_packet::routes`]) and reports events to an [`Observer`].
//! [`Routed`] combines a network with its wiring and routes.

// Conversion of the description to the parameters of the packet engine.
mod network;
// A network with its routes, and the check for deadlock.
mod routed;
mod simulation;
pub mod spec;

pub use crate::jobs::{Completed, Observer, Packet, Phase, Stored};
pub use crate::storage::StationCount;
pub use isthmus_packet::{Counters, Error as EngineError, routes};
pub use network::{Network, NetworkError};
pub use routed::{Routed, RoutedError, follow, follow_all};
pub use simulation::Simulation;
