//! The fields that overrides (`key=value`) change, with their values before and after.

use crate::file::draft::Draft;
use crate::sweep::axis::{Axis, AxisValue};
use serde::{Deserialize, Serialize};

/// Maximum number of values of an axis that the text of a change lists individually.
const VALUES_LISTED_MAX: usize = 6;

/// A field that overrides have changed, with its old and its new value as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Key of the field; `sweep.NAME` for an axis of variants (sets of fields that change together).
    pub key: String,
    /// Value of the field in the file or by default; `None` if the field had no value.
    pub from: Option<String>,
    /// Value of the field with the overrides; `None` if the field no longer has a value.
    pub to: Option<String>,
}

/// Return the changes that overrides make to the fields of machine and workload, in the order of the reference manual,
/// then the changed axes of variants. Changes to the measurement and the search are left out, because the title and the
/// description of the scenario do not depend on them.
pub(crate) fn changes(file: &Draft, effective: &Draft) -> Vec<Change> {
    let fields = file.schema.fields().iter().chain(effective.schema.fields());
    let mut keys: Vec<String> = Vec::new();
    for field in fields.filter(|field| field.is_of_machine()) {
        if !keys.iter().any(|key| **key == *field.key) {
            keys.push(field.key.to_string());
        }
    }
    let fields = keys.into_iter().map(|key| Change {
        from: field(file, &key),
        to: field(effective, &key),
        key,
    });
    let mut names: Vec<&str> = Vec::new();
    for axis in file.axes.iter().chain(&effective.axes) {
        if axis.field.is_none() && !names.contains(&axis.key.as_str()) {
            names.push(&axis.key);
        }
    }
    let variants = names.into_iter().map(|name| Change {
        key: format!("sweep.{name}"),
        from: variants(file, name),
        to: variants(effective, name),
    });
    let all = fields.chain(variants);
    all.filter(|change| change.from != change.to).collect()
}

/// Return the value of the field `key` as text, or the values of a sweep's axis over the field; `None` if it has no
/// value. Alternative fields, such as a rate in place of a time between two arrivals, are ignored.
fn field(draft: &Draft, key: &str) -> Option<String> {
    let is_of = |axis: &&Axis| {
        (axis.field.as_ref()).is_some_and(|f| &*f.key == key || f.sets.iter().any(|set| set == key))
    };
    let axis = draft.axes.iter().find(is_of);
    match axis {
        Some(axis) => Some(values(axis)),
        None => draft.base.words(key),
    }
}

/// Return the values of the axis `name`, an axis of variants (named sets of fields), as text; `None` if there is no
/// such axis.
fn variants(draft: &Draft, name: &str) -> Option<String> {
    let axis = draft
        .axes
        .iter()
        .find(|axis| axis.field.is_none() && axis.key == name);
    axis.map(values)
}

/// Return the values of an axis as one text, in which long lists are abbreviated.
fn values(axis: &Axis) -> String {
    let texts = |values: &[AxisValue]| -> Vec<String> {
        values.iter().map(|value| value.text.clone()).collect()
    };
    match &axis.values[..] {
        [first, .., last] if axis.values.len() > VALUES_LISTED_MAX => {
            format!(
                "{} to {} ({} values)",
                first.text,
                last.text,
                axis.values.len()
            )
        }
        all => texts(all).join(", "),
    }
}
