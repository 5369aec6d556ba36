//! The distinct machines of a sweep, built once each.

use crate::kind::{Built, Flaw, Row};
use crate::result::MachineSummary;
use isthmus_scenario::Described;

/// The machines in order of first use.
#[derive(Debug)]
pub(crate) struct Machines {
    kind: &'static Row,
    built: Vec<Built>,
}

impl Machines {
    /// No machines yet, all to be of this kind.
    pub fn new(kind: &'static Row) -> Self {
        Self {
            kind,
            built: Vec::new(),
        }
    }

    /// The position of `machine`, built now if it is new.
    pub fn position(&mut self, machine: &Described) -> Result<usize, Flaw> {
        let mut known = self.built.iter();
        if let Some(at) = known.position(|built| built.machine() == machine) {
            return Ok(at);
        }
        self.built.push(self.kind.build(machine)?);
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
