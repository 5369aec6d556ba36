//! What a file describes as its machine.

use crate::{fattree, hypercube, sci};
use isthmus_machine::fattree::spec::FatTreeSpec;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_machine::sci::spec::SciSpec;

/// A machine as plain values.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Machine {
    /// A binary hypercube with I/O nodes, `kind = "hypercube"`.
    Hypercube(HypercubeSpec),
    /// A fabric of SCI rings, `kind = "sci"`.
    Sci(SciSpec),
    /// A fat tree of switches, `kind = "fat-tree"`.
    FatTree(FatTreeSpec),
}

impl Machine {
    /// The word of its kind, as after `machine.kind =`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hypercube(_) => hypercube::KIND.name,
            Self::Sci(_) => sci::KIND.name,
            Self::FatTree(_) => fattree::KIND.name,
        }
    }

    /// Number of PEs; of an SCI fabric or a fat tree, its nodes.
    pub fn pe_count(&self) -> u32 {
        match self {
            Self::Hypercube(spec) => 1 << spec.dimension,
            Self::Sci(spec) => sci::node_count(&spec.shape),
            // The shape has been checked when it was read.
            Self::FatTree(spec) => spec.shape.node_count().unwrap_or(0),
        }
    }

    /// Number of I/O nodes of the machine itself, where it follows from the description; `None` for placements that
    /// have to be searched for.
    pub fn io_node_count(&self) -> Option<u32> {
        match self {
            Self::Hypercube(spec) => hypercube::io_node_count(spec),
            Self::Sci(_) | Self::FatTree(_) => Some(0),
        }
    }

    /// The description of a hypercube; `None` for other kinds.
    pub fn as_hypercube(&self) -> Option<&HypercubeSpec> {
        match self {
            Self::Hypercube(spec) => Some(spec),
            _ => None,
        }
    }

    /// The description of an SCI fabric; `None` for other kinds.
    pub fn as_sci(&self) -> Option<&SciSpec> {
        match self {
            Self::Sci(spec) => Some(spec),
            _ => None,
        }
    }

    /// The description of a fat tree; `None` for other kinds.
    pub fn as_fat_tree(&self) -> Option<&FatTreeSpec> {
        match self {
            Self::FatTree(spec) => Some(spec),
            _ => None,
        }
    }
}
