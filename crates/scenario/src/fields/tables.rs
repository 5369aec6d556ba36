//! The names and tables of one form of scenario file.

use crate::fields::field::{Default, Field};
use crate::fields::named::Named;
use crate::sweep::failures::Faults;
use crate::value::{Choice, Value};

/// One form of scenario file, for one kind of machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// The word after `machine.kind =` in a file.
    pub(crate) kind: &'static str,
    /// Unique name of this form in the reference.
    pub(crate) name: &'static str,
    /// Fields of files of this form.
    pub(crate) tables: Tables,
}

impl Form {
    /// Return the rows of the named table `name`.
    pub(crate) fn named_rows(&self, name: &str) -> Vec<Field> {
        let named = self.tables.named.iter();
        named.flat_map(|named| named.rows(name)).collect()
    }

    /// Return this form's version of a row that the files of all kinds share.
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

/// The fields of the files of one kind of machine.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    /// Fields of `[machine]` except the kind, grouped by table.
    pub machine: fn() -> Vec<Field>,
    /// Fields of `[workload]`, grouped by table.
    pub workload: fn() -> Vec<Field>,
    /// Description of the named tables in `[workload]`, if any.
    pub named: Option<Named>,
    /// Function that completes a shared field whose default is [`OfKind`](Default::OfKind).
    pub own: fn(Field) -> Field,
    /// Fields that set the offered load.
    pub loads: Loads,
    /// Presets that files may name, if any.
    pub presets: Option<&'static Presets>,
    /// Parts of the machine that can fail, if any.
    pub faults: Option<&'static Faults>,
}

/// Description of the offered load of one kind of machine.
#[derive(Debug, Clone, Copy)]
pub struct Loads {
    /// Keys of the alternative fields that set the load.
    pub keys: Choice,
    /// Key of the field that contains the load, after conversion from the alternatives.
    pub key: &'static str,
    /// Label of the load for axes.
    pub label: &'static str,
    /// Unit of loads as numbers.
    pub unit: &'static str,
    /// Function that converts a value of the load field with this key to a load in `unit`.
    pub read: fn(&str, &Value) -> Result<f64, NoLoad>,
    /// Function that converts a load in `unit` to a field and its value, or returns a hint if the load is
    /// impossible.
    pub write: fn(f64) -> Result<LoadValue, &'static str>,
}

/// Reason why the value of a field is not a load.
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
    /// Key of the field.
    pub key: &'static str,
    /// Value of the field, as written in a file.
    pub written: String,
}

/// The presets of a kind of machine.
#[derive(Debug)]
pub struct Presets {
    /// Key of the field that names a preset.
    pub key: &'static str,
    /// All presets.
    pub rows: &'static [Preset],
}

/// A preset: a named set of values.
#[derive(Debug)]
pub struct Preset {
    /// Name of the preset.
    pub name: &'static str,
    /// Values of the fields that the preset sets.
    pub values: &'static [PresetValue],
}

/// Value of one field in a preset.
#[derive(Debug)]
pub struct PresetValue {
    /// Key of the field.
    pub key: &'static str,
    /// Value of the field, as written in a file.
    pub value: &'static str,
    /// Source of the value, or the statement that it is an assumption.
    pub source: &'static str,
}
