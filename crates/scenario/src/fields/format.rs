//! File format of each kind of machine: its tables and the types that they describe.
//!
//! [`Format`] is the format of one kind, with its own types. [`Row`] is the same with the types erased, so
//! that several kinds fit into one table.

use crate::fields::tables::{Form, Loads, Tables};
use crate::file::error::Problem;
use crate::file::settings::Settings;
use crate::no_effect::Watch;
use crate::sweep::failures::{Asked, Failures};
use crate::value::described::{Described, Description};

/// File format of one kind of machine.
pub trait Format: 'static {
    /// The word after `machine.kind =` in a file.
    const NAME: &'static str;
    /// Name of this form of file in the reference. Several formats may describe one kind of machine. A format
    /// with named tables reads the files that contain its named table; the first format reads all other
    /// files.
    const FORM: &'static str = Self::NAME;
    /// The fields of the tables of this format.
    const TABLES: Tables;
    /// Type that describes the machine.
    type Machine: Description;
    /// Type that describes the workload.
    type Work: Description;

    /// Return the machine that the settings describe. All required values are present.
    ///
    /// # Errors
    /// If values contradict one another. The error has the field, the problem and a hint.
    fn machine(settings: &Settings) -> Result<Self::Machine, Problem>;

    /// Return the workload that the settings describe, checked against its machine.
    ///
    /// # Errors
    /// The same errors as [`machine`](Self::machine).
    fn work(settings: &Settings, machine: &Self::Machine) -> Result<Self::Work, Problem>;

    /// Report the fields of machine and workload that may have no effect at a point.
    fn watch(_watch: &mut Watch<'_>, _machine: &Self::Machine, _work: &Self::Work) {}

    /// Report the fields outside of machine and workload that have no effect on any machine of the kind. This
    /// check comes first, since the hint of another error could suggest a change to such a field.
    fn watch_rules(_watch: &mut Watch<'_>) {}

    /// Return the fields of `[machine]` whose values follow from other fields, with these values as written
    /// in a file.
    fn derived(_machine: &Self::Machine) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Return the possible failures of the machine beyond its own faults, for kinds with [`Tables::faults`].
    /// Return `None` if they lead to more states than `asked` allows.
    fn failures(_machine: &Self::Machine, _asked: &Asked) -> Option<Failures> {
        None
    }
}

/// The format of one kind of machine, with its types erased.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Names and tables of the form of file.
    pub(crate) files: Form,
    /// Function [`Format::machine`] of the format.
    pub(crate) machine: fn(&Settings) -> Result<Described, Problem>,
    /// Function that returns machine and workload, by [`Format::machine`] and [`Format::work`].
    pub(crate) build: fn(&Settings) -> Result<(Described, Described), Problem>,
    /// Function [`Format::watch`] of the format.
    pub(crate) watch: fn(&mut Watch<'_>, &Described, &Described),
    /// Function [`Format::watch_rules`] of the format.
    pub(crate) watch_rules: fn(&mut Watch<'_>),
    /// Function [`Format::derived`] of the format.
    pub(crate) derived: fn(&Described) -> Vec<(&'static str, String)>,
    /// Function [`Format::failures`] of the format.
    pub(crate) failures: fn(&Described, &Asked) -> Option<Failures>,
}

impl Row {
    /// Return the format `F` with its types erased.
    pub const fn of<F: Format>() -> Self {
        Self {
            files: Form {
                kind: F::NAME,
                name: F::FORM,
                tables: F::TABLES,
            },
            machine: |settings| F::machine(settings).map(Described::new),
            build: |settings| {
                let machine = F::machine(settings)?;
                let work = F::work(settings, &machine)?;
                Ok((Described::new(machine), Described::new(work)))
            },
            watch: |watch, machine, work| F::watch(watch, machine.expect(), work.expect()),
            watch_rules: F::watch_rules,
            derived: |machine| F::derived(machine.expect()),
            failures: |machine, asked| F::failures(machine.expect(), asked),
        }
    }

    /// Return the word after `machine.kind =` in a file.
    pub const fn kind(&self) -> &'static str {
        self.files.kind
    }

    /// Return the unique name of this form of file in the reference.
    pub const fn form(&self) -> &'static str {
        self.files.name
    }

    /// Return the description of the offered load: its fields and its unit.
    pub const fn loads(&self) -> &Loads {
        &self.files.tables.loads
    }

    /// Check the fields of the machine, and return the machine that they describe.
    pub(crate) fn machine(&self, settings: &Settings) -> Result<Described, Problem> {
        settings.check_fields(|key| key.starts_with("machine."))?;
        (self.machine)(settings)
    }

    /// Check all fields, and return the machine and the workload that they describe.
    pub(crate) fn build(&self, settings: &Settings) -> Result<(Described, Described), Problem> {
        settings.check_fields(|_| true)?;
        (self.build)(settings)
    }
}
