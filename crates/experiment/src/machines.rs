//! The distinct machines of a sweep, built once each.

use crate::result::{Load, MachineSummary};
use crate::subject::Subject;
use crate::{fattree, hypercube, sci};
use isthmus_scenario::{Machine, Workload};
use std::sync::Arc;

/// A machine of any kind.
#[derive(Debug, Clone)]
pub(crate) enum Built {
    Hypercube(hypercube::Built),
    Sci(sci::Built),
    FatTree(fattree::Built),
}

/// Why a machine cannot be built: the field behind it, what is wrong and what would be right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub field: &'static str,
    pub problem: String,
    pub hint: String,
}

impl Built {
    fn new(machine: &Machine) -> Result<Self, Refusal> {
        match machine {
            Machine::Hypercube(spec) => hypercube::Built::new(spec).map(Self::Hypercube),
            Machine::Sci(spec) => sci::Built::new(spec).map(Self::Sci),
            Machine::FatTree(spec) => fattree::Built::new(spec).map(Self::FatTree),
            _ => unreachable!("every kind of machine has an engine"),
        }
    }

    fn is_of(&self, machine: &Machine) -> bool {
        match (self, machine) {
            (Self::Hypercube(built), Machine::Hypercube(spec)) => built.spec() == spec,
            (Self::Sci(built), Machine::Sci(spec)) => built.spec() == spec,
            (Self::FatTree(built), Machine::FatTree(spec)) => built.spec() == spec,
            _ => false,
        }
    }

    /// The machine under `workload`, which is of its kind.
    pub fn subject(&self, workload: &Workload) -> Result<Arc<dyn Subject>, Refusal> {
        match (self, workload) {
            (Self::Hypercube(built), Workload::Hypercube(traffic)) => built.subject(traffic),
            (Self::Sci(built), Workload::Packets(traffic)) => built.subject(traffic),
            (Self::FatTree(built), Workload::Jobs(traffic)) => built.subject(traffic),
            _ => unreachable!("a scenario has the workload of its machine"),
        }
    }

    fn summary(&self) -> MachineSummary {
        match self {
            Self::Hypercube(built) => MachineSummary::Hypercube(built.summary()),
            Self::Sci(built) => MachineSummary::Sci(built.summary()),
            Self::FatTree(built) => MachineSummary::FatTree(built.summary()),
        }
    }
}

/// The names of all latencies of machines of the kind of `machine` under workloads such as
/// `workload`.
pub fn measure_names(machine: &Machine, workload: &Workload) -> Vec<String> {
    match (machine, workload) {
        (Machine::Hypercube(_), _) => hypercube::NAMES.clone(),
        (Machine::Sci(_), _) => sci::NAMES.clone(),
        (Machine::FatTree(_), Workload::Jobs(traffic)) => fattree::names(traffic),
        _ => unreachable!("every kind of machine has an engine"),
    }
}

/// What loads are on machines of the kind of `machine`.
pub(crate) fn load(machine: &Machine) -> Load {
    let load = |key: &str, label: &str, unit: &str| Load {
        key: key.to_owned(),
        label: label.to_owned(),
        unit: unit.to_owned(),
    };
    match machine {
        Machine::Hypercube(_) => load("workload.rate", "offered load per PE", "/ms"),
        Machine::Sci(_) => load("workload.load", "offered load", "GB/s"),
        Machine::FatTree(_) => load("workload.load", "offered load per node", "MB/s"),
        _ => unreachable!("every kind of machine has an engine"),
    }
}

/// The machines in order of first use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machines {
    built: Vec<Built>,
}

impl Machines {
    /// The position of `machine`, built now if it is new.
    pub fn position(&mut self, machine: &Machine) -> Result<usize, Refusal> {
        if let Some(at) = self.built.iter().position(|built| built.is_of(machine)) {
            return Ok(at);
        }
        self.built.push(Built::new(machine)?);
        Ok(self.built.len() - 1)
    }

    pub fn get(&self, position: usize) -> &Built {
        &self.built[position]
    }

    /// All machines.
    pub fn all(&self) -> impl Iterator<Item = &Built> {
        self.built.iter()
    }

    /// All machines in figures.
    pub fn summaries(&self) -> Vec<MachineSummary> {
        self.built.iter().map(Built::summary).collect()
    }
}
