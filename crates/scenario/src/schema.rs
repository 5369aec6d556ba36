//! The fields of the scenario file: the one table behind parser, checks and reference.

use crate::describe::Rows;
use crate::field::{Default, Field, Following, alternatives};
use crate::kind::{MACHINE_KINDS, MachineKind, kind_field};
use crate::named::{self, ANY, ANY_IN_WORDS};
use crate::scenario::{ControlTable, HeadTable};
use crate::settings::{Setting, defaults};
use crate::sweep;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// One field of the scenario file, for documentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldInfo {
    /// The dotted key, `machine.lanes.pe`.
    pub key: String,
    /// What it holds, `a whole number of lanes`.
    #[serde(rename = "type")]
    pub holds: String,
    /// Units that may be written; empty where there are none.
    pub units: String,
    /// The value if the field is not given, or in words what happens then.
    pub default: String,
    /// The possible values.
    pub range: String,
    /// What it is, with the symbol and place in the paper where it has one.
    pub meaning: String,
    /// Where it applies only beside another value, `workload.arrival = "bursty"`; else empty.
    pub applies: String,
    /// The only kind of machine that has it in this form, `sci`; empty if all have.
    pub machine: String,
}

/// Every field of the scenario file, in the order of the reference: for each table the fields of
/// one kind of machine after those of another. A key that several kinds have comes several times.
///
/// Sweep fields stand for any axis: `sweep.KEY` for an axis over a field, `sweep.NAME` for an axis
/// of variants.
pub fn fields() -> Vec<FieldInfo> {
    let of_kinds = |table: fn(&MachineKind) -> Vec<Field>| {
        MACHINE_KINDS.iter().flat_map(move |kind| {
            let rows = table(kind).into_iter();
            rows.map(|field| info_of(kind, &field))
        })
    };
    let workload = |kind: &MachineKind| {
        let named = kind.named.iter().flat_map(|named| named.rows(ANY_IN_WORDS));
        (kind.workload_fields)().into_iter().chain(named).collect()
    };
    let common = |field: Field| -> Vec<FieldInfo> {
        if field.default != Default::OfKind {
            return vec![info(&field)];
        }
        let kinds = MACHINE_KINDS.iter();
        kinds
            .map(|kind| info_of(kind, &kind.row(field.clone())))
            .collect()
    };
    let before = Rows::of::<HeadTable>("").into_iter().chain([kind_field()]);
    before
        .map(|field| info(&field))
        .chain(of_kinds(|kind| (kind.fields)()))
        .chain(of_kinds(workload))
        .chain(sweep::reference())
        .chain(common_fields().flat_map(common))
        .collect()
}

/// What files of all kinds may say beside the machine and its work.
fn common_fields() -> impl Iterator<Item = Field> {
    Rows::of::<ControlTable>("").into_iter()
}

fn info_of(kind: &MachineKind, field: &Field) -> FieldInfo {
    FieldInfo {
        machine: kind.name.to_owned(),
        ..info(field)
    }
}

/// The documentation of one row.
pub(crate) fn info(field: &Field) -> FieldInfo {
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
    FieldInfo {
        key: field.key.to_string(),
        holds: field.kind.expected().to_owned(),
        units: field.kind.units().to_owned(),
        default,
        range: field.kind.range(),
        meaning: field.meaning.to_owned(),
        applies,
        machine: String::new(),
    }
}

/// What a word follows from, in words: one clause for each word.
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

/// The fields of a file with one kind of machine.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) machine: &'static MachineKind,
    fields: Vec<Arc<Field>>,
    by_key: BTreeMap<Arc<str>, Arc<Field>>,
    defaults: BTreeMap<Arc<str>, Setting>,
    /// The rows of a named table of any name.
    templates: Vec<Field>,
    /// The names of its named tables.
    names: Vec<String>,
}

/// The schemas of files without named tables, kind by kind.
static SCHEMAS: LazyLock<Vec<Arc<Schema>>> = LazyLock::new(|| {
    let kinds = MACHINE_KINDS.iter();
    let schema = |kind| Arc::new(Schema::new(kind, Vec::new()));
    kinds.map(schema).collect()
});

impl Schema {
    fn new(machine: &'static MachineKind, names: Vec<String>) -> Self {
        let named_rows = |name: &String| -> Vec<Field> {
            let mut rows: Vec<Field> = machine.named.iter().flat_map(|n| n.rows(name)).collect();
            for row in &mut rows {
                row.label = format!("{} of {name}", row.label);
            }
            rows
        };
        let of_kind = |field: Field| match field.default {
            Default::OfKind => machine.row(field),
            _ => field,
        };
        let fields: Vec<Arc<Field>> = Rows::of::<HeadTable>("")
            .into_iter()
            .chain([kind_field()])
            .chain((machine.fields)())
            .chain((machine.workload_fields)())
            .chain(names.iter().flat_map(named_rows))
            .chain(common_fields().map(of_kind))
            .map(Arc::new)
            .collect();
        let defaults = defaults(&fields)
            .unwrap_or_else(|problem| unreachable!("a default of the table is wrong: {problem:?}"));
        let by_key = fields
            .iter()
            .map(|field| (field.key.clone(), field.clone()));
        Self {
            machine,
            by_key: by_key.collect(),
            defaults,
            templates: machine
                .named
                .iter()
                .flat_map(|named| named.rows(ANY))
                .collect(),
            fields,
            names,
        }
    }

    /// The schema for a machine of this kind.
    pub(crate) fn for_machine(kind: &str) -> Option<Arc<Self>> {
        let schema = SCHEMAS.iter().find(|schema| schema.machine.name == kind);
        schema.cloned()
    }

    /// The schema for a machine of the same kind and named tables of these names.
    pub(crate) fn with_names(&self, names: Vec<String>) -> Arc<Self> {
        Arc::new(Self::new(self.machine, names))
    }

    /// The names of the named tables, in the order of the file.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The schema of the first kind, to go on with where the file names none.
    pub(crate) fn first() -> Arc<Self> {
        SCHEMAS[0].clone()
    }

    /// The schemas of all kinds.
    pub(crate) fn all() -> &'static [Arc<Self>] {
        &SCHEMAS
    }

    pub(crate) fn fields(&self) -> &[Arc<Field>] {
        &self.fields
    }

    pub(crate) fn field(&self, key: &str) -> Option<&Arc<Field>> {
        self.by_key.get(key)
    }

    /// All rows, those of named tables for any name.
    pub(crate) fn rows_of_any(&self) -> impl Iterator<Item = &Field> {
        let fixed = self.fields.iter().map(|field| &**field);
        fixed.chain(&self.templates)
    }

    /// The row of a named table with the key `path`, whatever its name.
    pub(crate) fn template(&self, path: &str) -> Option<&Field> {
        let mut rows = self.templates.iter();
        rows.find(|row| named::is_key(path, &row.key))
    }

    /// The keys that decide whether `field` means anything: of its own condition, of the condition
    /// of that one and so on.
    pub(crate) fn selectors<'s>(&'s self, field: &'s Field) -> impl Iterator<Item = &'s str> {
        let selector = |field: &'s Field| field.only.as_ref().map(|only| only.selector.as_str());
        std::iter::successors(selector(field), move |key| selector(self.field(key)?))
    }

    pub(crate) fn default(&self, key: &str) -> Option<&Setting> {
        self.defaults.get(key)
    }

    /// Whether `path` is a table that holds fields, or named tables.
    pub(crate) fn is_table(&self, path: &str) -> bool {
        let leads_on = |key: &str| {
            key.strip_prefix(path)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        let named = self.machine.named.as_ref().map(|named| named.table);
        named.is_some_and(|table| table == path || leads_on(table))
            || self.fields.iter().any(|field| leads_on(&field.key))
    }

    /// Problem and hint about `path` if it is a field or a table of another kind of machine.
    pub(crate) fn of_another_kind(&self, path: &str) -> Option<(String, String)> {
        let has = |schema: &&Arc<Self>| {
            let mut rows = schema.templates.iter();
            schema.field(path).is_some()
                || schema.is_table(path)
                || rows.any(|row| named::leads_to(path, &row.key))
        };
        let mut others = Self::all().iter();
        let other = others.find(|other| other.machine.name != self.machine.name && has(other))?;
        Some((
            format!("no such key with machine.kind = \"{}\"", self.machine.name),
            format!("it belongs to machine.kind = \"{}\"", other.machine.name),
        ))
    }

    /// The names that may stand in the table `path` (empty: the whole file).
    pub(crate) fn names_in(&self, path: &str) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let named = self.machine.named.as_ref().map(|named| named.table);
        let keys = self.fields.iter().map(|field| &*field.key);
        for key in keys.chain(named) {
            let rest = match path {
                "" => Some(key),
                _ => key
                    .strip_prefix(path)
                    .and_then(|rest| rest.strip_prefix('.')),
            };
            let name = rest.map(|rest| rest.split_once('.').map_or(rest, |(first, _)| first));
            if let Some(name) = name
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The canonical form opens a table once, so the fields of a table must stand together; and
    /// every kind must have its form of the rows that kinds have in forms of their own.
    #[test]
    fn tables_are_in_one_piece_and_rows_of_kinds_are_in_their_places() {
        let of_kinds = common_fields().filter(|field| field.default == Default::OfKind);
        let of_kinds = of_kinds.count();
        let names = vec!["b".to_owned(), "a".to_owned()];
        let named = Schema::for_machine("fat-tree").map(|schema| schema.with_names(names));
        for schema in Schema::all().iter().chain(&named) {
            let mut tables: Vec<&str> = Vec::new();
            // Fields that are short for others are written as those.
            let written = schema.fields().iter().filter(|field| field.sets.is_empty());
            for field in written {
                let table = field.key.rsplit_once('.').map_or("", |(table, _)| table);
                if tables.last() != Some(&table) {
                    assert!(!tables.contains(&table), "{}", field.key);
                    tables.push(table);
                }
                assert_ne!(field.default, Default::OfKind);
            }
            assert_eq!(schema.machine.own.len(), of_kinds);
        }
    }

    #[test]
    fn rows_of_named_tables_are_there_once_for_each_name() {
        let Some(schema) = Schema::for_machine("fat-tree") else {
            panic!("there are fat trees")
        };
        assert!(schema.field("workload.jobs.x.nodes").is_none());
        assert!(schema.template("workload.jobs.x.nodes").is_some());
        let of_x = schema.with_names(vec!["x".to_owned()]);
        let field = of_x.field("workload.jobs.x.load");
        let field = field.unwrap_or_else(|| panic!("the job has a load"));
        assert_eq!(field.label, "offered load of x");
        let only = field.only.as_ref().map(|only| only.selector.as_str());
        assert_eq!(only, Some("workload.jobs.x.arrivals"));
        assert!(of_x.default("workload.jobs.x.nodes").is_some());
    }
}
