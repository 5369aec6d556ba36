//! List of the different machines of a sweep. Points that have equal machines share one, which is built once.

use crate::envelope;
use crate::kind::{Built, Flaw, Row};
use crate::result::MachineSummary;
use isthmus_scenario::Described;
use std::collections::HashMap;
use std::sync::OnceLock;

/// List of the different machines of a sweep, in the order in which its points use them first.
#[derive(Debug)]
pub(crate) struct Machines {
    kind: &'static Row,
    /// Maps the SHA-256 of a machine's description to the position of the machine in the list.
    positions: HashMap<String, usize>,
    machines: Vec<Machine>,
}

/// The description of a machine, and the machine itself once it is built.
#[derive(Debug)]
struct Machine {
    /// Description of the machine.
    described: Described,
    /// The machine built from the description; empty until a simulation first needs it.
    built: OnceLock<Built>,
}

impl Machines {
    /// Create an empty list for machines of this kind.
    pub fn new(kind: &'static Row) -> Self {
        Self {
            kind,
            positions: HashMap::new(),
            machines: Vec::new(),
        }
    }

    /// Return the position of `machine` in the list and the SHA-256 of its description. Add the machine if
    /// the list does not contain it.
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

    /// Return the machine at this position in the list; build it on first use.
    pub fn build(&self, position: usize) -> Result<&Built, Flaw> {
        let machine = &self.machines[position];
        if let Some(built) = machine.built.get() {
            return Ok(built);
        }
        let built = self.kind.build(&machine.described)?;
        // If two threads have built the same machine at once, keep only one of the two.
        Ok(machine.built.get_or_init(|| built))
    }

    /// Return the machine at this position in the list, which must have been built before.
    pub fn get(&self, position: usize) -> &Built {
        let built = self.machines[position].built.get();
        built.expect("machines are built before they are asked for")
    }

    /// Return all machines in the order of the list. All must have been built before.
    pub fn all(&self) -> impl Iterator<Item = &Built> {
        (0..self.machines.len()).map(|position| self.get(position))
    }

    /// Return the data about each machine that reports show in tables and in the picture of the network.
    pub fn summaries(&self) -> Vec<MachineSummary> {
        self.all().map(Built::summary).collect()
    }
}
