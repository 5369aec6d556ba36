//! What a file describes as its machine.

use crate::{hypercube, sci};
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
}

impl Machine {
    /// The word of its kind, as after `machine.kind =`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hypercube(_) => hypercube::KIND.name,
            Self::Sci(_) => sci::KIND.name,
        }
    }

    /// Number of PEs; of an SCI fabric, its nodes.
    pub fn pe_count(&self) -> u32 {
        match self {
            Self::Hypercube(spec) => 1 << spec.dimension,
            Self::Sci(spec) => sci::node_count(&spec.shape),
        }
    }

    /// Number of I/O nodes, where it follows from the description; `None` for placements that
    /// have to be searched for.
    pub fn io_node_count(&self) -> Option<u32> {
        match self {
            Self::Hypercube(spec) => hypercube::io_node_count(spec),
            Self::Sci(_) => Some(0),
        }
    }

    /// The description of a hypercube; `None` for other kinds.
    pub fn as_hypercube(&self) -> Option<&HypercubeSpec> {
        match self {
            Self::Hypercube(spec) => Some(spec),
            Self::Sci(_) => None,
        }
    }

    /// The description of an SCI fabric; `None` for other kinds.
    pub fn as_sci(&self) -> Option<&SciSpec> {
        match self {
            Self::Sci(spec) => Some(spec),
            Self::Hypercube(_) => None,
        }
    }
}
