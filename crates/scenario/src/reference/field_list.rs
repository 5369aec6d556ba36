//! The list of all fields of the scenario file, from which the reference is generated.

use crate::fields::common::{ControlTable, HeadTable};
use crate::fields::field::{Default, Field, Following};
use crate::fields::named::ANY_IN_WORDS;
use crate::fields::registry::Formats;
use crate::fields::rows::Rows;
use crate::fields::tables::Form;
use crate::sweep::axis;
use crate::sweep::failure_axis;
use crate::sweep::failures::Faults;
use crate::value::alternatives;
use serde::Serialize;

/// The documentation of one field of the scenario file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldInfo {
    /// The dotted key, such as `machine.lanes.pe`.
    pub key: String,
    /// Type of the field's values, such as `a whole number of lanes`.
    #[serde(rename = "type")]
    pub holds: String,
    /// Units that a value may have, as text; empty if values have no unit.
    pub units: String,
    /// The default value, or a description of the effect of leaving the field out.
    pub default: String,
    /// Description of the valid values in words, for the reference.
    pub range: String,
    /// Description of the field, with the symbol and place in the paper if it has one.
    pub meaning: String,
    /// Condition under which the field has an effect, such as `workload.arrival = "bursty"`; empty without a
    /// condition.
    pub applies: String,
    /// The kind of machine, such as `sci`, or the form of file, such as `sci-jobs`, to which this row
    /// applies; empty if the row applies to all kinds of machine.
    pub machine: String,
}

impl Formats {
    /// Return every field of the scenario file, in the order of the reference manual: for each table, the fields of
    /// each kind of machine in turn. A key that several kinds have occurs several times.
    ///
    /// Rows of `[sweep]` stand for any axis: `sweep.KEY` for an axis over a field, `sweep.NAME` for an axis
    /// of variants.
    pub fn fields(&'static self) -> Vec<FieldInfo> {
        let work = self.forms().flat_map(|form| {
            let rows = (form.tables.workload)().into_iter();
            let rows = rows.chain(form.named_rows(ANY_IN_WORDS));
            rows.map(|field| info_of(form.name, &field))
        });
        let common = |field: Field| -> Vec<FieldInfo> {
            if field.default != Default::OfKind {
                return vec![info(&field)];
            }
            let own = |form: &'static Form| info_of(form.name, &form.own(field.clone()));
            self.forms().map(own).collect()
        };
        // Take only one form of file for each kind of machine: all of its forms have the same machine fields.
        let firsts = || self.forms().filter(|form| !self.is_second(form));
        let machines = firsts().flat_map(|form| {
            let rows = (form.tables.machine)().into_iter();
            rows.map(|field| info_of(form.name, &field))
        });
        let before = Rows::of::<HeadTable>("").into_iter();
        before
            .chain([self.kind_field()])
            .map(|field| info(&field))
            .chain(machines)
            .chain(work)
            .chain(sweep_reference())
            .chain(firsts().flat_map(failures))
            .chain(Rows::of::<ControlTable>("").into_iter().flat_map(common))
            .collect()
    }
}

/// Return the rows of the field reference (documentation) for the sweep axis over failures, for one kind of machine.
fn failures(form: &Form) -> Vec<FieldInfo> {
    let of_axis = |faults: &'static Faults| {
        let axis = FieldInfo {
            machine: form.kind.to_owned(),
            ..row(
                &format!("sweep.{}", failure_axis::KEY),
                "a word for the parts that fail, or a table",
                "no failures",
                &alternatives(faults.words.0),
                failure_axis::MEANING,
            )
        };
        let options = failure_axis::options(&faults.words);
        let options = options.iter().map(|option| info_of(form.name, option));
        [axis].into_iter().chain(options).collect()
    };
    form.tables.faults.map_or_else(Vec::new, of_axis)
}

/// Return the documentation of a field of the scenario file for the kind of machine `form`.
fn info_of(form: &str, field: &Field) -> FieldInfo {
    FieldInfo {
        machine: form.to_owned(),
        ..info(field)
    }
}

/// Return a row of the field reference (documentation) for a group of fields, such as the axes of a sweep.
fn row(key: &str, holds: &str, default: &str, range: &str, meaning: &str) -> FieldInfo {
    FieldInfo {
        key: key.to_owned(),
        holds: holds.to_owned(),
        units: String::new(),
        default: default.to_owned(),
        range: range.to_owned(),
        meaning: meaning.to_owned(),
        applies: String::new(),
        machine: String::new(),
    }
}

/// Return the documentation of one field of the scenario file.
fn info(field: &Field) -> FieldInfo {
    let default = match &field.default {
        Default::Required => match &field.within {
            Some(table) => format!("required if {table} is given"),
            None => "required".to_owned(),
        },
        Default::Value(text) => (*text).to_owned(),
        Default::Following(following) => in_words(following),
        Default::Derived(words) | Default::Absent(words) => (*words).to_owned(),
        Default::OfKind => unreachable!("the rows of kinds stand in the place of {}", field.key),
    };
    let applies = field.only.as_ref().map_or_else(String::new, |only| {
        format!("{} = {}", only.selector, alternatives(&only.choices))
    });
    let holds = field.holds.info();
    FieldInfo {
        key: field.key.to_string(),
        holds: holds.expected.to_owned(),
        units: holds.units.to_owned(),
        default,
        range: holds.range,
        meaning: field.meaning.to_owned(),
        applies,
        machine: String::new(),
    }
}

/// Return a text for the field reference (documentation) that describes how a default word follows from other fields.
pub(crate) fn in_words(following: &Following) -> String {
    let mut leaders: Vec<(&str, Vec<&str>)> = Vec::new();
    for (leader, word) in following.words {
        match leaders.iter_mut().find(|(other, _)| other == word) {
            Some((_, leaders)) => leaders.push(leader),
            None => leaders.push((word, vec![leader])),
        }
    }
    let given = following.given.iter();
    let given = given.map(|(leader, word)| format!("\"{word}\" if {leader} is given"));
    let selector = &following.selector;
    let clauses = leaders
        .iter()
        .map(|(word, leaders)| format!("\"{word}\" if {selector} = {}", alternatives(leaders)));
    given.chain(clauses).collect::<Vec<_>>().join("; ")
}

/// Return the rows of the field reference (documentation) for the axes in `[sweep]`.
fn sweep_reference() -> Vec<FieldInfo> {
    let any = "any machine or workload field but machine.kind";
    let mut rows = vec![
        row(
            "sweep.KEY",
            "a list of values of the field KEY, or a range",
            "no sweep",
            any,
            "An axis; points are the product of all axes, the first one slowest",
        ),
        row(
            "sweep.KEY.from",
            "a value of the field KEY",
            "required for a range",
            "as KEY",
            "First value of a range",
        ),
        row(
            "sweep.KEY.to",
            "a value of the field KEY",
            "required for a range",
            "as KEY",
            "Last value of a range",
        ),
    ];
    rows.extend(axis::range().iter().map(info));
    rows.push(row(
        "sweep.NAME",
        "a list of tables of fields, one table for each variant",
        "no variants",
        any,
        "An axis of variants, for fields that change together, also written [[sweep.NAME]]",
    ));
    rows.push(row(
        "sweep.NAME.label",
        "text or a number",
        "the fields and their values",
        "none twice",
        "What to call the variant; a number puts it on a numeric axis",
    ));
    rows
}
