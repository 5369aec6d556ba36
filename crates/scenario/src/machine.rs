//! The kinds of machine that a file may describe.
//!
//! A new kind is a module with a table of fields and a function that builds its description, one
//! row in [`MACHINE_KINDS`] and one variant of [`Machine`].

use crate::error::Problem;
use crate::field::Field;
use crate::hypercube;
use crate::settings::Settings;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_units::{Bytes, Clock};

/// A machine as plain values.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Machine {
    /// A binary hypercube with I/O nodes, `kind = "hypercube"`.
    Hypercube(HypercubeSpec),
}

impl Machine {
    /// Number of PEs.
    pub fn pe_count(&self) -> u32 {
        match self {
            Self::Hypercube(spec) => 1 << spec.dimension,
        }
    }

    /// Number of I/O nodes, where it follows from the description; `None` for placements that
    /// have to be searched for.
    pub fn io_node_count(&self) -> Option<u32> {
        match self {
            Self::Hypercube(spec) => hypercube::io_node_count(spec),
        }
    }

    /// Length of one flit.
    pub(crate) fn flit(&self) -> Bytes {
        match self {
            Self::Hypercube(spec) => spec.flit,
        }
    }

    /// Microseconds in one cycle, the time that a flit needs to cross a lane.
    pub(crate) fn cycle_us(&self) -> f64 {
        let clock = match self {
            Self::Hypercube(spec) => Clock::new(spec.flit, spec.bandwidth),
        };
        clock.map_or(f64::INFINITY, Clock::cycle_us)
    }

    /// The description of a hypercube; `None` for other kinds.
    pub fn as_hypercube(&self) -> Option<&HypercubeSpec> {
        match self {
            Self::Hypercube(spec) => Some(spec),
        }
    }
}

/// One kind of machine.
#[derive(Debug)]
pub(crate) struct MachineKind {
    /// The word after `machine.kind =`.
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [Field],
    pub(crate) build: fn(&Settings) -> Result<Machine, Problem>,
}

pub(crate) const MACHINE_KINDS: &[MachineKind] = &[hypercube::KIND];

/// The names of all kinds.
pub(crate) fn kind_names() -> Vec<&'static str> {
    MACHINE_KINDS.iter().map(|kind| kind.name).collect()
}
