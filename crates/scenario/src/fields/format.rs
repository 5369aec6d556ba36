//! Interface that defines the scenario file format of a kind of machine: its fields, and their conversion to
//! a machine and a workload.
//!
//! [`Format`] is the format of one kind, with its own types. [`Row`] is its type-erased form, so that several
//! kinds fit into one table.

use crate::fields::tables::{Form, Loads, Tables};
use crate::file::error::Problem;
use crate::file::settings::Settings;
use crate::no_effect::Watch;
use crate::sweep::failures::{Asked, Failures};
use crate::value::described::{Described, Description};

/// Scenario file format of one kind of machine, such as hypercubes: its fields and their conversion.
pub trait Format: 'static {
    /// Name of the kind of machine: the value of `machine.kind` in a scenario file.
    const NAME: &'static str;
    /// Name of this form of file in the reference. Several formats may describe one kind of machine. If one
    /// of them has named tables, it is the format of files that contain such tables; the first format is that
    /// of all other files.
    const FORM: &'static str = Self::NAME;
    /// Descriptions of the fields of files of this format.
    const TABLES: Tables;
    /// Type that describes the machine.
    type Machine: Description;
    /// Type that describes the workload.
    type Work: Description;

    /// Convert the values of the fields to the description of a machine. All required values are present.
    ///
    /// # Errors
    /// If values contradict one another. The error names the field, the problem and a hint.
    fn machine(settings: &Settings) -> Result<Self::Machine, Problem>;

    /// Convert the values of the fields to the description of a workload, and check that it is possible on
    /// the machine.
    ///
    /// # Errors
    /// The same errors as [`machine`](Self::machine).
    fn work(settings: &Settings, machine: &Self::Machine) -> Result<Self::Work, Problem>;

    /// Record in `_watch`, for one point of a sweep, which fields of machine and workload have no effect
    /// there because of the values of others.
    fn watch(_watch: &mut Watch<'_>, _machine: &Self::Machine, _work: &Self::Work) {}

    /// Report the fields outside of `[machine]` and `[workload]` that have no effect on any machine of this
    /// kind. This check comes first, since the hint of another error could suggest a change to such a field.
    fn watch_rules(_watch: &mut Watch<'_>) {}

    /// Return the fields of `[machine]` whose values follow from other fields, with these values as written
    /// in a file.
    fn derived(_machine: &Self::Machine) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Return the possible failures of the machine beyond the faults that the file lists, for kinds with
    /// [`Tables::faults`]. Return `None` if the machine has more states than `asked` accepts.
    fn failures(_machine: &Self::Machine, _asked: &Asked) -> Option<Failures> {
        None
    }
}

/// Type-erased form of a [`Format`]: the scenario file format of one kind of machine.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The form of scenario file that the format describes: names and field descriptions.
    pub(crate) files: Form,
    /// The function [`Format::machine`] of the format. It returns a machine of any type, so that all formats fit into
    /// one table.
    pub(crate) machine: fn(&Settings) -> Result<Described, Problem>,
    /// A function that returns machine and workload, by [`Format::machine`] and [`Format::work`] of the format.
    pub(crate) build: fn(&Settings) -> Result<(Described, Described), Problem>,
    /// The function [`Format::watch`] of the format. It takes a machine and a workload of any type, so that all formats
    /// fit into one table.
    pub(crate) watch: fn(&mut Watch<'_>, &Described, &Described),
    /// The function [`Format::watch_rules`] of the format.
    pub(crate) watch_rules: fn(&mut Watch<'_>),
    /// The function [`Format::derived`] of the format. It takes a machine of any type, so that all formats fit into one
    /// table.
    pub(crate) derived: fn(&Described) -> Vec<(&'static str, String)>,
    /// The function [`Format::failures`] of the format. It takes a machine of any type, so that all formats fit into
    /// one table.
    pub(crate) failures: fn(&Described, &Asked) -> Option<Failures>,
}

impl Row {
    /// Return the type-erased form of the format `F`.
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

    /// Return the name of the kind of machine: the value of `machine.kind` in a scenario file.
    pub const fn kind(&self) -> &'static str {
        self.files.kind
    }

    /// Return the unique name of this scenario file format in the reference of all fields.
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
