//! What files of one form have: its names and its tables, without what is made of them.

use crate::fields::field::{Default, Field};
use crate::fields::named::Named;
use crate::sweep::failures::Faults;
use crate::value::{Choice, Value};

/// The files of one form, for one kind of machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// The word after `machine.kind =`.
    pub(crate) kind: &'static str,
    /// What the reference calls such files, no two forms alike.
    pub(crate) name: &'static str,
    /// Their fields.
    pub(crate) tables: Tables,
}

impl Form {
    /// The rows of its named table of this name.
    pub(crate) fn named_rows(&self, name: &str) -> Vec<Field> {
        let named = self.tables.named.iter();
        named.flat_map(|named| named.rows(name)).collect()
    }

    /// Its version of a row of a table that all forms share.
    pub(crate) fn own(&'static self, row: Field) -> Field {
        match &*row.key {
            "search.over" => row
                .by_default(Default::Required)
                .holding(&self.tables.loads.keys),
            "search.from" | "search.to" => (self.tables.own)(row.by_default(Default::Required)),
            _ => (self.tables.own)(row),
        }
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
    /// What it says in a way of its own of a field that is [`OfKind`](Default::OfKind) in the tables of
    /// all kinds.
    pub own: fn(Field) -> Field,
    /// How it says how much is asked of the machine.
    pub loads: Loads,
    /// Sets of values under one name, if there are such.
    pub presets: Option<&'static Presets>,
    /// What can be said to fail, if anything.
    pub faults: Option<&'static Faults>,
}

/// How a kind says how much is asked of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Loads {
    /// The fields that decide the load, each in place of the others.
    pub keys: Choice,
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

/// The field that sets a load, and its value.
#[derive(Debug)]
pub struct LoadValue {
    /// The field.
    pub key: &'static str,
    /// Its value as it would be written.
    pub written: String,
}

/// The presets of a kind of machine.
#[derive(Debug)]
pub struct Presets {
    /// The field that names one.
    pub key: &'static str,
    /// All of them.
    pub rows: &'static [Preset],
}

/// One of them.
#[derive(Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub values: &'static [PresetValue],
}

/// What it says of one field.
#[derive(Debug)]
pub struct PresetValue {
    /// The field.
    pub key: &'static str,
    /// As it would be written in a file.
    pub value: &'static str,
    /// Where the value is from, or that it is an assumption.
    pub source: &'static str,
}
