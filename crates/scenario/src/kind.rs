//! What a kind of machine says of its files: its tables and what they describe.
//!
//! [`Format`] is one kind, with types of its own; [`Row`] is the same without them, so that kinds
//! stand in one table.

use crate::described::{Described, Description};
use crate::error::Problem;
use crate::faults::{Asked, Failures, Faults};
use crate::field::{Field, Own};
use crate::named::Named;
use crate::preset::Presets;
use crate::settings::Settings;
use crate::vain::Watch;
use crate::value::Value;

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

    /// Tells of the fields that may have no effect at a point.
    fn watch(_watch: &mut Watch<'_>, _machine: &Self::Machine, _work: &Self::Work) {}

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

/// The fields of one kind of machine.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    /// The fields of `[machine]` beside the kind, those of one table together.
    pub machine: fn() -> Vec<Field>,
    /// The fields of `[workload]`, those of one table together.
    pub workload: fn() -> Vec<Field>,
    /// The tables in it that a file may repeat under names of its own, if there are such.
    pub named: Option<Named>,
    /// What it says of the fields of other tables that are [`OfKind`](crate::field::Default::OfKind).
    pub own: &'static [Own],
    /// How it says how much is asked of the machine.
    pub loads: Loads,
    /// Sets of values under one name, if there are such.
    pub presets: Option<&'static Presets>,
    /// What can be said to fail, if anything.
    pub faults: Option<Faults>,
}

/// How a kind says how much is asked of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Loads {
    /// The fields that decide the load, each in place of the others.
    pub keys: &'static [&'static str],
    /// The field that holds loads, whichever way a file puts them.
    pub key: &'static str,
    /// What a load is, in words, for axes.
    pub label: &'static str,
    /// The unit in which loads are counted.
    pub unit: &'static str,
    /// The load, in that unit, that a value of the field `search.over` stands for.
    pub read: fn(&str, &Value) -> Result<f64, NoLoad>,
    /// What sets a load of that unit; if nothing can, what would be possible.
    pub write: fn(f64) -> Result<LoadValue, &'static str>,
}

/// Why a value stands for no load.
#[derive(Debug)]
pub struct NoLoad {
    /// What is wrong.
    pub problem: &'static str,
    /// What would be right.
    pub hint: &'static str,
}

/// The field that sets a load, its value, and the value as it would be written.
#[derive(Debug)]
pub struct LoadValue {
    /// The field.
    pub key: &'static str,
    /// Its value.
    pub value: Value,
    /// The value in a file.
    pub written: String,
}

/// One kind of machine, whatever its types.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub(crate) name: &'static str,
    pub(crate) form: &'static str,
    pub(crate) tables: Tables,
    pub(crate) machine: fn(&Settings) -> Result<Described, Problem>,
    pub(crate) build: fn(&Settings) -> Result<(Described, Described), Problem>,
    pub(crate) watch: fn(&mut Watch<'_>, &Described, &Described),
    pub(crate) derived: fn(&Described) -> Vec<(&'static str, String)>,
    pub(crate) failures: fn(&Described, &Asked) -> Option<Failures>,
}

impl Row {
    /// The row of a kind.
    pub const fn of<F: Format>() -> Self {
        Self {
            name: F::NAME,
            form: F::FORM,
            tables: F::TABLES,
            machine: |settings| F::machine(settings).map(Described::new),
            build: |settings| {
                let machine = F::machine(settings)?;
                let work = F::work(settings, &machine)?;
                Ok((Described::new(machine), Described::new(work)))
            },
            watch: |watch, machine, work| F::watch(watch, machine.expect(), work.expect()),
            derived: |machine| F::derived(machine.expect()),
            failures: |machine, asked| F::failures(machine.expect(), asked),
        }
    }

    /// The word after `machine.kind =`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What the reference calls its files, no two alike.
    pub const fn form(&self) -> &'static str {
        self.form
    }

    /// How the kind says how much is asked of the machine.
    pub const fn loads(&self) -> &Loads {
        &self.tables.loads
    }

    /// The rows of its named table of this name.
    pub(crate) fn named_rows(&self, name: &str) -> Vec<Field> {
        let named = self.tables.named.iter();
        named.flat_map(|named| named.rows(name)).collect()
    }

    /// The kind's form of a row of a table that all kinds share.
    pub(crate) fn own(&self, row: Field) -> Field {
        let own = self.tables.own.iter().find(|own| own.key == &*row.key);
        own.unwrap_or_else(|| unreachable!("{} has no {}", self.name, row.key))
            .row(row)
    }
}
