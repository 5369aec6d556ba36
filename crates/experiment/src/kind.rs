//! What a kind of machine is to an experiment.
//!
//! [`Kind`] is one kind, with types of its own; [`Row`] is the same without them, so that kinds
//! stand in one table, [`Kinds`].

use crate::result::MachineSummary;
use crate::subject::Subject;
use isthmus_scenario::format::{self, Format};
use isthmus_scenario::{Described, Formats, Scenario, ScenarioError};
use serde::Serialize;
use std::any::Any;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

/// A kind of machine: beside how files describe it, what is built of that and what is measured.
pub trait Kind: Format {
    /// A machine, built.
    type Built: Any + Debug + Send + Sync;
    /// The machine in figures, for tables and the picture.
    type Summary: Serialize;

    /// Builds a machine; what only that can find out is checked here.
    ///
    /// # Errors
    /// Why it cannot be built, such as faults that cut a network apart.
    fn build(machine: &Self::Machine) -> Result<Self::Built, Flaw>;

    /// The machine under work that was described for it.
    ///
    /// # Errors
    /// Why it cannot do that.
    fn subject(built: &Self::Built, work: &Self::Work) -> Result<Shared, Flaw>;

    /// The machine in figures.
    fn summary(built: &Self::Built) -> Self::Summary;

    /// The names of all latencies under work such as `work`.
    fn measures(work: &Self::Work) -> Vec<String>;
}

/// A point, shared by the threads that measure it.
type Shared = Arc<dyn Subject>;

/// What is wrong with a machine or its work that only building it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The field behind it.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub hint: String,
    /// Which line, from 1, where the value is a text of several.
    pub line: Option<u32>,
}

/// One kind of machine, whatever its types.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    format: format::Row,
    build: fn(&Described) -> Result<Arc<dyn Any + Send + Sync>, Flaw>,
    subject: fn(&dyn Any, &Described) -> Result<Shared, Flaw>,
    summary: fn(&dyn Any) -> MachineSummary,
    measures: fn(&Described) -> Vec<String>,
}

impl Row {
    /// The row of a kind.
    pub const fn of<K: Kind>() -> Self {
        Self {
            format: format::Row::of::<K>(),
            build: |machine| Ok(Arc::new(K::build(machine.expect())?)),
            subject: |built, work| K::subject(of_kind::<K>(built), work.expect()),
            summary: |built| MachineSummary::new(K::NAME, &K::summary(of_kind::<K>(built))),
            measures: |work| K::measures(work.expect()),
        }
    }

    /// Builds a machine of this kind.
    pub(crate) fn build(&'static self, machine: &Described) -> Result<Built, Flaw> {
        Ok(Built {
            row: self,
            built: (self.build)(machine)?,
        })
    }

    /// The names of all latencies under work such as `work`.
    pub(crate) fn measures(&self, work: &Described) -> Vec<String> {
        (self.measures)(work)
    }
}

fn of_kind<K: Kind>(built: &dyn Any) -> &K::Built {
    let built = built.downcast_ref();
    built.unwrap_or_else(|| unreachable!("a row builds machines of its kind"))
}

/// A machine of any kind.
#[derive(Debug, Clone)]
pub(crate) struct Built {
    row: &'static Row,
    built: Arc<dyn Any + Send + Sync>,
}

impl Built {
    /// The machine under `work`.
    pub fn subject(&self, work: &Described) -> Result<Shared, Flaw> {
        (self.row.subject)(&*self.built, work)
    }

    pub fn summary(&self) -> MachineSummary {
        (self.row.summary)(&*self.built)
    }

    /// The machine, if it is built as those of this kind.
    pub fn as_<K: Kind>(&self) -> Option<&K::Built> {
        self.built.downcast_ref()
    }
}

/// The kinds of machine that experiments may be about.
#[derive(Debug)]
pub struct Kinds {
    rows: &'static [Row],
    formats: OnceLock<Formats>,
}

impl Kinds {
    /// Kinds of machine, in the order of the reference.
    pub const fn new(rows: &'static [Row]) -> Self {
        Self {
            rows,
            formats: OnceLock::new(),
        }
    }

    /// How files describe them.
    pub fn formats(&'static self) -> &'static Formats {
        let rows = || self.rows.iter().map(|row| row.format).collect();
        self.formats.get_or_init(|| Formats::new(rows()))
    }

    /// Reads a scenario with a machine of one of them; see [`Scenario::parse`].
    ///
    /// # Errors
    /// The first thing found wrong; `file_name` serves only to say where.
    pub fn parse(
        &'static self,
        text: &str,
        file_name: &str,
        overrides: &[String],
    ) -> Result<Scenario, ScenarioError> {
        Scenario::parse(self.formats(), text, file_name, overrides)
    }

    /// The kind of a scenario's machines.
    pub(crate) fn of(&self, scenario: &Scenario) -> &'static Row {
        let mut rows = self.rows.iter();
        let row = rows.find(|row| row.format.form() == scenario.form());
        row.unwrap_or_else(|| unreachable!("a scenario was read by the formats of its kinds"))
    }
}
