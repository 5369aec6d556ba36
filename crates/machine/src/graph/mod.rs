//! Networks of switches in any form.
//!
//! A [`Machine`] is what was built from a [`spec::GraphSpec`]: where packets may go, of one of several
//! types, and its links, switches and interfaces. [Jobs](crate::packets::Simulation) run on it.

mod build;
pub mod spec;

pub use build::{Built, Machine, MachineError};
