//! `machine.kind = "interface"`: a network interface, its stream manager, and the cells of a torus
//! that send through it.

// Summary of the machine, and utilisation of its parts, in results.
mod figures;
// Format of the scenario files of this machine.
mod format;
// Simulations of network interfaces, for experiments.
mod subject;
// Fields of the scenario tables of this machine.
mod table;

pub use figures::InterfaceSummary;

/// Marker type for scenarios with `machine.kind = "interface"`: a torus of cells with a network interface.
#[derive(Debug)]
pub struct Interface;
