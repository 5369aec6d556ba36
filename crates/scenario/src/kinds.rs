//! The kinds of machine that a file may describe.
//!
//! A new kind is a module with the types of its tables and the functions that build its descriptions,
//! one row in [`MACHINE_KINDS`], and one variant each of [`Machine`] and
//! [`Workload`](crate::Workload).

use crate::field::{Default, Field};
use crate::kind::MachineKind;
use crate::kind_schema::Schema;
use crate::machine::Machine;
use crate::value::Kind;
use crate::{fattree, hypercube, sci};

pub(crate) const MACHINE_KINDS: &[MachineKind] = &[hypercube::KIND, sci::KIND, fattree::KIND];

/// The names of all kinds, in that order.
static NAMES: [&str; MACHINE_KINDS.len()] = {
    let mut names = [""; MACHINE_KINDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = MACHINE_KINDS[at].name;
        at += 1;
    }
    names
};

/// `machine.kind` itself.
pub(crate) fn kind_field() -> Field {
    Field::new(
        "machine.kind",
        Kind::Choice(&NAMES),
        Default::Required,
        "kind of machine",
        "Kind of machine; it decides which other fields of machine and workload there are",
    )
}

/// The names of all kinds.
pub(crate) fn kind_names() -> &'static [&'static str] {
    &NAMES
}

/// The kind of machine of a file.
pub(crate) fn of(schema: &Schema) -> &'static MachineKind {
    let kind = MACHINE_KINDS.iter().find(|kind| kind.name == schema.kind);
    kind.unwrap_or_else(|| unreachable!("{} is a kind of machine", schema.kind))
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
}
