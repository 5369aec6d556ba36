//! `machine.kind = "interface"`: a network interface, its stream manager, and the cells of a torus
//! that send through it.

// Summary and utilisation in results.
mod figures;
// Scenario format of this kind of machine.
mod format;
// Simulations of network interfaces, for experiments.
mod subject;
// Fields of the scenario tables of this kind of machine.
mod table;

pub use figures::InterfaceSummary;

/// The kind of machine `interface`.
#[derive(Debug)]
pub struct Interface;
