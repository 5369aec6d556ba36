//! What a file describes as its machine.

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
