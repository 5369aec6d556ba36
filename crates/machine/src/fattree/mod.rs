//! Fat trees of circuit-switched or cut-through links, such as QsNET.
//!
//! A [`Machine`] is built from a [`spec::FatTreeSpec`]. It contains the tree, the routes of packets, and
//! its links, switches and interfaces. [Jobs](crate::packets::Simulation) run on it.

// Construction of the machine from its description.
mod build;
pub mod spec;

pub use build::{Machine, MachineError};
