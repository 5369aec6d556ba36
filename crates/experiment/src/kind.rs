//! The interface that each kind of machine (hypercube, rings, fat tree and others) implements for
//! experiments.
//!
//! [`Kind`] is one kind with its own types. [`Row`] hides these types, so that all kinds fit into one table,
//! [`Kinds`].

use crate::result::MachineSummary;
use crate::subject::Subject;
use isthmus_scenario::format::{self, Format};
use isthmus_scenario::{Described, Formats, Scenario, ScenarioError};
use serde::Serialize;
use std::any::Any;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

/// A kind of machine: its file format, how to build it, and how to measure it.
pub trait Kind: Format {
    /// Type of a machine that is ready to be simulated.
    type Built: Any + Debug + Send + Sync;
    /// Type of the data about a machine that reports show, such as its number of links.
    type Summary: Serialize;

    /// Build a machine from its description, and check it for errors that the description alone does not
    /// show.
    ///
    /// # Errors
    /// The machine cannot be built, for example because faults disconnect its network.
    fn build(machine: &Self::Machine) -> Result<Self::Built, Flaw>;

    /// Combine the machine with the workload `work` into a point that can be simulated and measured.
    ///
    /// # Errors
    /// The workload is impossible on this machine.
    fn subject(built: &Self::Built, work: &Self::Work) -> Result<Shared, Flaw>;

    /// Return the data about the machine that reports show in tables and in the picture of the network.
    fn summary(built: &Self::Built) -> Self::Summary;

    /// Return the names of all latencies that are measured under the workload `work`.
    fn measures(work: &Self::Work) -> Vec<String>;
}

/// A machine with its workload, ready to be measured, and shared by several threads.
type Shared = Arc<dyn Subject>;

/// An error in a machine or its workload that only the construction of the machine detects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Name of the scenario field that causes the error.
    pub field: &'static str,
    /// Description of the error.
    pub problem: String,
    /// Advice on how to correct the error.
    pub hint: String,
    /// Number of the wrong line, from 1, if the value of the field is a text of several lines.
    pub line: Option<u32>,
}

/// Type-erased form of a [`Kind`]: its functions, for a table of several kinds of machine.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Format of scenario files for this kind of machine.
    format: format::Row,
    /// The function [`Kind::build`] of this kind of machine.
    build: fn(&Described) -> Result<Arc<dyn Any + Send + Sync>, Flaw>,
    /// The function [`Kind::subject`] of this kind of machine.
    subject: fn(&dyn Any, &Described) -> Result<Shared, Flaw>,
    /// The function [`Kind::summary`] of this kind of machine.
    summary: fn(&dyn Any) -> MachineSummary,
    /// The function [`Kind::measures`] of this kind of machine.
    measures: fn(&Described) -> Vec<String>,
}

impl Row {
    /// Return the type-erased form of `K`, a kind of machine such as hypercube.
    pub const fn of<K: Kind>() -> Self {
        Self {
            format: format::Row::of::<K>(),
            build: |machine| Ok(Arc::new(K::build(machine.expect())?)),
            subject: |built, work| K::subject(of_kind::<K>(built), work.expect()),
            summary: |built| MachineSummary::new(K::NAME, &K::summary(of_kind::<K>(built))),
            measures: |work| K::measures(work.expect()),
        }
    }

    /// Build a machine of this kind.
    pub(crate) fn build(&'static self, machine: &Described) -> Result<Built, Flaw> {
        Ok(Built {
            row: self,
            built: (self.build)(machine)?,
        })
    }

    /// Return the names of all latencies that are measured under the workload `work`.
    pub(crate) fn measures(&self, work: &Described) -> Vec<String> {
        (self.measures)(work)
    }
}

/// Downcast a built machine to the type of kind `K`, which must be its type.
fn of_kind<K: Kind>(built: &dyn Any) -> &K::Built {
    let built = built.downcast_ref();
    built.unwrap_or_else(|| unreachable!("a row builds machines of its kind"))
}

/// A machine that is built and ready to be simulated, of any kind.
#[derive(Debug, Clone)]
pub(crate) struct Built {
    /// Functions of the machine's kind, such as hypercube or fat tree.
    row: &'static Row,
    /// The machine itself, as the type [`Kind::Built`] of its kind.
    built: Arc<dyn Any + Send + Sync>,
}

impl Built {
    /// Combine the machine with the workload `work` into a point that can be simulated and measured.
    pub fn subject(&self, work: &Described) -> Result<Shared, Flaw> {
        (self.row.subject)(&*self.built, work)
    }

    /// Return the data about the machine that reports show in tables and in the picture of the network.
    pub fn summary(&self) -> MachineSummary {
        (self.row.summary)(&*self.built)
    }

    /// Downcast the built machine to the type of kind `K`; return `None` if it is of another kind.
    pub fn as_<K: Kind>(&self) -> Option<&K::Built> {
        self.built.downcast_ref()
    }
}

/// Table of the kinds of machine that experiments support.
#[derive(Debug)]
pub struct Kinds {
    rows: &'static [Row],
    formats: OnceLock<Formats>,
}

impl Kinds {
    /// Return the table of these kinds, which must be in the order in which the reference lists them.
    pub const fn new(rows: &'static [Row]) -> Self {
        Self {
            rows,
            formats: OnceLock::new(),
        }
    }

    /// Return the scenario file formats of all kinds of machine in the table.
    pub fn formats(&'static self) -> &'static Formats {
        let rows = || self.rows.iter().map(|row| row.format).collect();
        self.formats.get_or_init(|| Formats::new(rows()))
    }

    /// Parse a scenario with a machine of one of these kinds; see [`Scenario::parse`].
    ///
    /// # Errors
    /// The first error in the scenario. Its message contains `file_name`.
    pub fn parse(
        &'static self,
        text: &str,
        file_name: &str,
        overrides: &[String],
    ) -> Result<Scenario, ScenarioError> {
        Scenario::parse(self.formats(), text, file_name, overrides)
    }

    /// Return the kind of machine that a scenario describes.
    pub(crate) fn of(&self, scenario: &Scenario) -> &'static Row {
        let mut rows = self.rows.iter();
        let row = rows.find(|row| row.format.form() == scenario.form());
        row.unwrap_or_else(|| unreachable!("a scenario was read by the formats of its kinds"))
    }
}
