//! What a fat tree is made of: plain values, no behaviour.

pub use crate::packets::spec::NetworkSpec;
pub use isthmus_topology::trees::{Ascent, Shape};

/// A fat tree with its nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct FatTreeSpec {
    /// How its switches are joined.
    pub shape: Shape,
    /// Which links up packets take.
    pub ascent: Ascent,
    /// Its links, switches and interfaces.
    pub network: NetworkSpec,
}
