//! What a kind of machine says of its files: its tables and what they describe.
//!
//! [`Format`] is one kind, with types of its own; [`Row`] is the same without them, so that kinds
//! stand in one table.

use crate::fields::tables::{Form, Loads, Tables};
use crate::file::error::Problem;
use crate::file::settings::Settings;
use crate::no_effect::Watch;
use crate::sweep::failures::{Asked, Failures};
use crate::value::described::{Described, Description};

/// How files describe one kind of machine.
pub trait Format: 'static {
    /// The word after `machine.kind =`.
    const NAME: &'static str;
    /// What the reference calls files of this form, where several formats describe one kind of machine
    /// under its name: a file with a named table is read by the one that has it, others by the first.
    const FORM: &'static str = Self::NAME;
    /// The fields of its tables.
    const TABLES: Tables;
    /// The machine as plain values.
    type Machine: Description;
    /// Its work as plain values.
    type Work: Description;

    /// The machine, once every value is there.
    ///
    /// # Errors
    /// Values that contradict one another: the field, what is wrong and what would be right.
    fn machine(settings: &Settings) -> Result<Self::Machine, Problem>;

    /// The work, checked against the machine that it runs on.
    ///
    /// # Errors
    /// As [`machine`](Self::machine).
    fn work(settings: &Settings, machine: &Self::Machine) -> Result<Self::Work, Problem>;

    /// Reports the fields that may have no effect at a point.
    fn watch(_watch: &mut Watch<'_>, _machine: &Self::Machine, _work: &Self::Work) {}

    /// Reports the fields outside of machine and work that have no effect on any machine of the kind. They are looked
    /// for before any other mistake, whose advice would be to change them.
    fn watch_rules(_watch: &mut Watch<'_>) {}

    /// The values, as they would be written, of fields of `[machine]` that follow from others.
    fn derived(_machine: &Self::Machine) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// What can fail of the machine beyond its own faults, for kinds whose tables say that something
    /// can ([`Tables::faults`]); `None` if that leads to more states than are of use.
    fn failures(_machine: &Self::Machine, _asked: &Asked) -> Option<Failures> {
        None
    }
}

/// One kind of machine, whatever its types.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub(crate) files: Form,
    pub(crate) machine: fn(&Settings) -> Result<Described, Problem>,
    pub(crate) build: fn(&Settings) -> Result<(Described, Described), Problem>,
    pub(crate) watch: fn(&mut Watch<'_>, &Described, &Described),
    pub(crate) watch_rules: fn(&mut Watch<'_>),
    pub(crate) derived: fn(&Described) -> Vec<(&'static str, String)>,
    pub(crate) failures: fn(&Described, &Asked) -> Option<Failures>,
}

impl Row {
    /// The row of a kind.
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

    /// The word after `machine.kind =`.
    pub const fn kind(&self) -> &'static str {
        self.files.kind
    }

    /// What the reference calls its files, no two alike.
    pub const fn form(&self) -> &'static str {
        self.files.name
    }

    /// How the kind says how much is asked of the machine.
    pub const fn loads(&self) -> &Loads {
        &self.files.tables.loads
    }

    /// The machine, once every value of it is there.
    pub(crate) fn machine(&self, settings: &Settings) -> Result<Described, Problem> {
        settings.check_fields(|key| key.starts_with("machine."))?;
        (self.machine)(settings)
    }

    /// Machine and work, once every value is there.
    pub(crate) fn build(&self, settings: &Settings) -> Result<(Described, Described), Problem> {
        settings.check_fields(|_| true)?;
        (self.build)(settings)
    }
}
