//! Fat trees of circuit-switched or cut-through links, such as QsNET.
//!
//! [`Machine`] is what was built from a [`spec::FatTreeSpec`]: the tree, where packets may go on it, and
//! its links, switches and interfaces. [Jobs](crate::packets::Simulation) run on it.

mod build;
pub mod spec;

pub use build::{Machine, MachineError};
