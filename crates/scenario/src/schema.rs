//! The fields of the scenario file: the one table behind parser, checks and reference.

use crate::control;
use crate::field::{Default, Field, alternatives};
use crate::kind::{KIND_FIELD, MACHINE_KINDS, MachineKind};
use crate::named;
use crate::scenario::HEAD_FIELDS;
use crate::search;
use crate::settings::{Setting, defaults};
use crate::sweep;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

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
    let of_kinds = |table: fn(&MachineKind) -> &'static [Field]| {
        MACHINE_KINDS
            .iter()
            .flat_map(move |kind| table(kind).iter().map(|field| info_of(kind, field)))
    };
    let common = |field: &'static Field| -> Vec<FieldInfo> {
        if field.default != Default::OfKind {
            return vec![info(field)];
        }
        let rows = MACHINE_KINDS.iter().filter_map(|kind| {
            let row = kind.row(field.key)?;
            Some(info_of(kind, row))
        });
        rows.collect()
    };
    let before = HEAD_FIELDS.iter().chain([&KIND_FIELD]).map(info);
    let after = control::FIELDS.iter().chain(search::FIELDS);
    before
        .chain(of_kinds(|kind| kind.fields))
        .chain(of_kinds(|kind| kind.workload_fields))
        .chain(sweep::reference())
        .chain(after.flat_map(common))
        .collect()
}

fn info_of(kind: &MachineKind, field: &Field) -> FieldInfo {
    FieldInfo {
        machine: kind.name.to_owned(),
        ..info(field)
    }
}

/// The documentation of one row.
pub(crate) fn info(field: &Field) -> FieldInfo {
    let default = match field.default {
        Default::Required => match field.within {
            Some(table) => format!("required if {table} is given"),
            None => "required".to_owned(),
        },
        Default::Value(text) => text.to_owned(),
        Default::Following {
            given,
            selector,
            words,
        } => named::in_words(&following(given, selector, words)),
        Default::Derived(words) | Default::Absent(words) => words.to_owned(),
        Default::OfKind => unreachable!("the rows of kinds stand in the place of {}", field.key),
    };
    let applies = field.only.map_or_else(String::new, |only| {
        let selector = named::in_words(only.selector);
        format!("{selector} = {}", alternatives(only.choices))
    });
    FieldInfo {
        key: named::in_words(field.key),
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
fn following(given: &[(&str, &str)], selector: &str, words: &[(&str, &str)]) -> String {
    let mut leaders: Vec<(&str, Vec<&str>)> = Vec::new();
    for (leader, word) in words {
        match leaders.iter_mut().find(|(other, _)| other == word) {
            Some((_, leaders)) => leaders.push(leader),
            None => leaders.push((word, vec![leader])),
        }
    }
    let given = given
        .iter()
        .map(|(leader, word)| format!("\"{word}\" if {leader} is given"));
    let clauses = leaders
        .iter()
        .map(|(word, leaders)| format!("\"{word}\" if {selector} = {}", alternatives(leaders)));
    given.chain(clauses).collect::<Vec<_>>().join("; ")
}

/// The fields of a file with one kind of machine.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) machine: &'static MachineKind,
    fields: Vec<&'static Field>,
    by_key: BTreeMap<&'static str, &'static Field>,
    defaults: BTreeMap<&'static str, Setting>,
    /// The names of its named tables.
    names: Vec<String>,
}

/// The schemas of files without named tables, kind by kind.
static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let kinds = MACHINE_KINDS.iter();
    kinds.map(|kind| Schema::new(kind, Vec::new())).collect()
});

/// The schemas of files with named tables, by the word of their kind and the names.
static WITH_NAMES: Mutex<BTreeMap<(&str, Vec<String>), &Schema>> = Mutex::new(BTreeMap::new());

impl Schema {
    fn new(machine: &'static MachineKind, names: Vec<String>) -> Self {
        let common = control::FIELDS.iter().chain(search::FIELDS);
        let workload = machine.workload_fields.iter();
        let (rows, fixed): (Vec<&Field>, Vec<&Field>) =
            workload.partition(|field| named::is_row(field));
        let named_rows = names
            .iter()
            .flat_map(|name| rows.iter().map(move |row| named::row(row, name)));
        let fields: Vec<&'static Field> = HEAD_FIELDS
            .iter()
            .chain([&KIND_FIELD])
            .chain(machine.fields)
            .chain(fixed)
            .chain(named_rows)
            .chain(common.map(|field| {
                match field.default {
                    Default::OfKind => machine
                        .row(field.key)
                        .unwrap_or_else(|| unreachable!("{} has no {}", machine.name, field.key)),
                    _ => field,
                }
            }))
            .collect();
        let defaults = defaults(&fields)
            .unwrap_or_else(|problem| unreachable!("a default of the table is wrong: {problem:?}"));
        Self {
            machine,
            by_key: fields.iter().map(|&field| (field.key, field)).collect(),
            defaults,
            fields,
            names,
        }
    }

    /// The schema for a machine of this kind.
    pub(crate) fn for_machine(kind: &str) -> Option<&'static Self> {
        SCHEMAS.iter().find(|schema| schema.machine.name == kind)
    }

    /// The schema for a machine of the same kind and named tables of these names.
    pub(crate) fn with_names(&self, names: Vec<String>) -> &'static Self {
        // Nothing that could panic halfway happens under the lock.
        let mut known = WITH_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.machine.name, names);
        if let Some(schema) = known.get(&key) {
            return schema;
        }
        let schema: &Self = Box::leak(Box::new(Self::new(self.machine, key.1.clone())));
        known.insert(key, schema);
        schema
    }

    /// The names of the named tables, in the order of the file.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The schema of the first kind, to go on with where the file names none.
    pub(crate) fn first() -> &'static Self {
        &SCHEMAS[0]
    }

    /// The schemas of all kinds.
    pub(crate) fn all() -> &'static [Self] {
        &SCHEMAS
    }

    pub(crate) fn fields(&self) -> &[&'static Field] {
        &self.fields
    }

    pub(crate) fn field(&self, key: &str) -> Option<&'static Field> {
        self.by_key.get(key).copied()
    }

    /// The keys that decide whether `field` means anything: of its own condition, of the condition
    /// of that one and so on.
    pub(crate) fn selectors(&self, field: &Field) -> impl Iterator<Item = &'static str> {
        let selector = |field: &Field| field.only.map(|only| only.selector);
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
            || self.fields.iter().any(|field| leads_on(field.key))
    }

    /// Problem and hint about `path` if it is a field or a table of another kind of machine.
    pub(crate) fn of_another_kind(&self, path: &str) -> Option<(String, String)> {
        let has = |schema: &&Self| {
            let mut rows = schema.machine.workload_fields.iter();
            schema.field(path).is_some()
                || schema.is_table(path)
                || rows.any(|row| named::is_row(row) && named::leads_to(path, row.key))
        };
        let mut others = Self::all().iter();
        let other = others.find(|other| other.machine.name != self.machine.name && has(other))?;
        Some((
            format!("no such key with machine.kind = \"{}\"", self.machine.name),
            format!("it belongs to machine.kind = \"{}\"", other.machine.name),
        ))
    }

    /// The names that may stand in the table `path` (empty: the whole file).
    pub(crate) fn names_in(&self, path: &str) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        let named = self.machine.named.as_ref().map(|named| named.table);
        let keys = self.fields.iter().map(|field| field.key);
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
        let common = || control::FIELDS.iter().chain(search::FIELDS);
        let of_kinds = || common().filter(|field| field.default == Default::OfKind);
        let names = vec!["b".to_owned(), "a".to_owned()];
        let named = Schema::for_machine("fat-tree").map(|schema| schema.with_names(names));
        for schema in Schema::all().iter().chain(named) {
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
            assert_eq!(schema.machine.rows.len(), of_kinds().count());
        }
    }

    #[test]
    fn the_same_names_have_the_same_schema() {
        let Some(schema) = Schema::for_machine("fat-tree") else {
            panic!("there are fat trees")
        };
        let of = |names: &[&str]| {
            let names = names.iter().map(|&name| name.to_owned()).collect();
            schema.with_names(names)
        };
        assert!(std::ptr::eq(of(&["x", "y"]), of(&["x", "y"])));
        assert!(!std::ptr::eq(of(&["x", "y"]), of(&["y", "x"])));
        assert!(schema.field("workload.jobs.x.nodes").is_none());
        let field = of(&["x"]).field("workload.jobs.x.nodes");
        assert_eq!(field.map(|field| field.label), Some("nodes of x"));
        assert!(of(&["x"]).default("workload.jobs.x.nodes").is_some());
    }
}
