//! The names and tables of one form of file.

use crate::fields::field::{Default, Field};
use crate::fields::named::Named;
use crate::sweep::failures::Faults;
use crate::value::{Choice, Value};

/// One form of file, for one kind of machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// The word after `machine.kind =`.
    pub(crate) kind: &'static str,
    /// Unique name of such files in the reference.
    pub(crate) name: &'static str,
    /// Fields of such files.
    pub(crate) tables: Tables,
}

impl Form {
    /// Return the rows of the named table with this name.
    pub(crate) fn named_rows(&self, name: &str) -> Vec<Field> {
        let named = self.tables.named.iter();
        named.flat_map(|named| named.rows(name)).collect()
    }

    /// Return this form's version of a row that all forms share.
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
    /// Fields of `[machine]` except the kind, grouped by table.
    pub machine: fn() -> Vec<Field>,
    /// Fields of `[workload]`, grouped by table.
    pub workload: fn() -> Vec<Field>,
    /// Named tables in `[workload]`, if any.
    pub named: Option<Named>,
    /// Function that completes a shared field whose default is [`OfKind`](Default::OfKind).
    pub own: fn(Field) -> Field,
    /// Fields that set the offered load.
    pub loads: Loads,
    /// Presets, if any.
    pub presets: Option<&'static Presets>,
    /// Parts that can fail, if any.
    pub faults: Option<&'static Faults>,
}

/// Description of the offered load of one kind of machine.
#[derive(Debug, Clone, Copy)]
pub struct Loads {
    /// Alternative fields that set the load.
    pub keys: Choice,
    /// Field that holds the load, after conversion from the alternatives.
    pub key: &'static str,
    /// Label of the load for axes.
    pub label: &'static str,
    /// Unit of loads.
    pub unit: &'static str,
    /// Function that converts a value of the given field, named in `search.over`, to a load in `unit`.
    pub read: fn(&str, &Value) -> Result<f64, NoLoad>,
    /// Function that converts a load in `unit` to a setting, or returns a hint if the load is impossible.
    pub write: fn(f64) -> Result<LoadValue, &'static str>,
}

/// Reason why a value is not a load.
#[derive(Debug)]
pub struct NoLoad {
    /// Description of the problem.
    pub problem: &'static str,
    /// Hint for a correct value.
    pub hint: &'static str,
}

/// The field that sets a load, and its value.
#[derive(Debug)]
pub struct LoadValue {
    /// The field.
    pub key: &'static str,
    /// Its value as written in a file.
    pub written: String,
}

/// The presets of a kind of machine.
#[derive(Debug)]
pub struct Presets {
    /// Field that names a preset.
    pub key: &'static str,
    /// All presets.
    pub rows: &'static [Preset],
}

/// A preset: a named set of values.
#[derive(Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub values: &'static [PresetValue],
}

/// Value of one field in a preset.
#[derive(Debug)]
pub struct PresetValue {
    /// The field.
    pub key: &'static str,
    /// Its value as written in a file.
    pub value: &'static str,
    /// Source of the value, or the statement that it is an assumption.
    pub source: &'static str,
}
