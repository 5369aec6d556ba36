//! Networks of switches in any form.
//!
//! A [`Machine`] is built from a [`spec::GraphSpec`]. It contains the routes of packets, whose type depends
//! on the form, and links, switches and interfaces. [Jobs](crate::packets::Simulation) run on it.

// Builds the simulated machine from its description.
mod build;
pub mod spec;

pub use build::{Built, Machine, MachineError};
