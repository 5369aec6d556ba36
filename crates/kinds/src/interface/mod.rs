//! `machine.kind = "interface"`: a network interface, its stream manager, and the cells of a torus
//! that send through it.

// Facts about the machine for results: its summary, and the utilisation of its parts.
mod figures;
// Format of the scenario files of this machine.
mod format;
// Simulation of a network interface, as the subject of an experiment.
mod subject;
// Fields of the scenario tables of this machine.
mod table;

pub use figures::InterfaceSummary;

/// Marker type for scenarios with `machine.kind = "interface"`: a torus of cells with a network interface.
#[derive(Debug)]
pub struct Interface;
