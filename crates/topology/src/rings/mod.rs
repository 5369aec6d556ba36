//! Fabrics of directed rings joined by switch nodes: what SCI and other register-insertion
//! networks are built of.

mod shape;

pub use shape::{Faults, Routing, Segment, Shape};
