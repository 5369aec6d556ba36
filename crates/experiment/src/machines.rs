//! The distinct machines of a sweep, built once each.

use crate::envelope;
use crate::kind::{Built, Flaw, Row};
use crate::result::MachineSummary;
use isthmus_scenario::Described;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The machines in order of first use.
#[derive(Debug)]
pub(crate) struct Machines {
    kind: &'static Row,
    /// By digest of what describes them.
    positions: HashMap<String, usize>,
    machines: Vec<Machine>,
}

#[derive(Debug)]
struct Machine {
    described: Described,
    built: OnceLock<Built>,
}

impl Machines {
    /// No machines yet, all to be of this kind.
    pub fn new(kind: &'static Row) -> Self {
        Self {
            kind,
            positions: HashMap::new(),
            machines: Vec::new(),
        }
    }

    /// The position of `machine`, a new one if it is new, and the digest of its description.
    pub fn position(&mut self, machine: &Described) -> (usize, String) {
        let digest = envelope::described(machine);
        let next = self.machines.len();
        let position = *self.positions.entry(digest.clone()).or_insert(next);
        if position == next {
            self.machines.push(Machine {
                described: machine.clone(),
                built: OnceLock::new(),
            });
        }
        (position, digest)
    }

    /// The machine at this position, built now if it is not yet.
    pub fn build(&self, position: usize) -> Result<&Built, Flaw> {
        let machine = &self.machines[position];
        if let Some(built) = machine.built.get() {
            return Ok(built);
        }
        let built = self.kind.build(&machine.described)?;
        // Of two that were built at once, one is kept.
        Ok(machine.built.get_or_init(|| built))
    }

    /// A machine that was built before.
    pub fn get(&self, position: usize) -> &Built {
        let built = self.machines[position].built.get();
        built.expect("machines are built before they are asked for")
    }

    /// All machines.
    pub fn all(&self) -> impl Iterator<Item = &Built> {
        (0..self.machines.len()).map(|position| self.get(position))
    }

    /// All machines in figures.
    pub fn summaries(&self) -> Vec<MachineSummary> {
        self.all().map(Built::summary).collect()
    }
}
