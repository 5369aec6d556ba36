//! `machine.kind = "interface"`: a network interface, its stream manager, and the cells of a torus
//! that send through it.

mod figures;
mod format;
mod subject;
mod table;

pub use figures::InterfaceSummary;

/// The kind of machine `interface`.
#[derive(Debug)]
pub struct Interface;
