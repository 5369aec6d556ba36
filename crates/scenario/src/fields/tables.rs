//! The name and the fields of one form of scenario file (for a kind of machine, with or without named
//! tables).

use crate::fields::field::{Default, Field};
use crate::fields::named::Named;
use crate::sweep::failures::Faults;
use crate::value::{Choice, Value};

/// One form of scenario file, for one kind of machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// Name of the kind of machine: the value of `machine.kind` in a file.
    pub(crate) kind: &'static str,
    /// Unique name of this form of scenario file in the reference of scenario fields.
    pub(crate) name: &'static str,
    /// Descriptions of the fields of files of this form.
    pub(crate) tables: Tables,
}

impl Form {
    /// Return the field descriptions of the named table `name`.
    pub(crate) fn named_rows(&self, name: &str) -> Vec<Field> {
        let named = self.tables.named.iter();
        named.flat_map(|named| named.rows(name)).collect()
    }

    /// Complete the description of a field that all kinds of machine share: add the parts that this form of
    /// file defines, such as the default.
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

/// Descriptions of the fields in the scenario files of one kind of machine.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    /// Function that returns the fields of `[machine]` except `kind`, grouped by table.
    pub machine: fn() -> Vec<Field>,
    /// Function that returns the fields of `[workload]`, grouped by table.
    pub workload: fn() -> Vec<Field>,
    /// Description of the named tables in `[workload]`, such as jobs, if any.
    pub named: Option<Named>,
    /// Function that completes the description of a shared field whose default is
    /// [`OfKind`](Default::OfKind).
    pub own: fn(Field) -> Field,
    /// Description of the fields that set the offered load.
    pub loads: Loads,
    /// Presets (named sets of values) that files may use, if any.
    pub presets: Option<&'static Presets>,
    /// Description of an axis over failures of the machine, if this kind of machine supports it.
    pub faults: Option<&'static Faults>,
}

/// Description of the offered load of one kind of machine: the fields that set it, its label and its unit.
#[derive(Debug, Clone, Copy)]
pub struct Loads {
    /// Keys of the alternative fields that set the load.
    pub keys: Choice,
    /// Key of the field among `keys` to which the alternatives are converted.
    pub key: &'static str,
    /// Label of the offered load on the axes of plots, such as `offered load per PE`.
    pub label: &'static str,
    /// Unit of offered loads as numbers, such as `GB/s`.
    pub unit: &'static str,
    /// Function that converts a value of the load field with this key to a load in `unit`.
    pub read: fn(&str, &Value) -> Result<f64, NoLoad>,
    /// Function that converts a load in `unit` to a field and its value, or returns a hint if the load is
    /// impossible.
    pub write: fn(f64) -> Result<LoadValue, &'static str>,
}

/// Error of a conversion: the reason why the value of a field is not an offered load.
#[derive(Debug)]
pub struct NoLoad {
    /// Description of the problem with the value.
    pub problem: &'static str,
    /// Hint for a correct value.
    pub hint: &'static str,
}

/// An offered load as it is written in a file: the field that sets it, and the value of this field.
#[derive(Debug)]
pub struct LoadValue {
    /// Dotted key of the field, such as `workload.rate`.
    pub key: &'static str,
    /// Value of the field, as written in a file.
    pub written: String,
}

/// The presets (named sets of values) of a kind of machine.
#[derive(Debug)]
pub struct Presets {
    /// Key of the field that names a preset.
    pub key: &'static str,
    /// All presets of this kind of machine.
    pub rows: &'static [Preset],
}

/// A preset: a named set of values, such as those of a published machine.
#[derive(Debug)]
pub struct Preset {
    /// Name of the preset.
    pub name: &'static str,
    /// Values of the fields that the preset sets.
    pub values: &'static [PresetValue],
}

/// Value of one field in a preset, with its source.
#[derive(Debug)]
pub struct PresetValue {
    /// Dotted key of the field, such as `workload.rate`.
    pub key: &'static str,
    /// Value of the field, as written in a file.
    pub value: &'static str,
    /// Publication that states the value, or the statement that it is an assumption.
    pub source: &'static str,
}
