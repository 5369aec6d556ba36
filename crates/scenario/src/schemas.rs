//! The schemas of all kinds of machine.

use crate::describe::Rows;
use crate::field::{Default, Field};
use crate::kind::MachineKind;
use crate::kind_schema::{KindKeys, Schema};
use crate::kinds::{MACHINE_KINDS, kind_field};
use crate::named::ANY;
use crate::tables::{ControlTable, HeadTable};
use std::sync::{Arc, LazyLock};

/// The schemas of files without named tables, kind by kind.
static SCHEMAS: LazyLock<Vec<Arc<Schema>>> = LazyLock::new(|| {
    let of_kinds: Arc<[KindKeys]> = MACHINE_KINDS.iter().map(keys).collect();
    let schema = |kind: &'static MachineKind| {
        let (before, after) = fields(kind);
        let named = (kind.named.as_ref(), before.len());
        let fields = before.into_iter().chain(after).collect();
        Arc::new(Schema::new(kind.name, fields, named, of_kinds.clone()))
    };
    MACHINE_KINDS.iter().map(schema).collect()
});

/// The schemas of all kinds.
pub(crate) fn all() -> &'static [Arc<Schema>] {
    &SCHEMAS
}

/// The schema for a machine of this kind.
pub(crate) fn of_kind(kind: &str) -> Option<Arc<Schema>> {
    all().iter().find(|schema| schema.kind == kind).cloned()
}

/// The schema of the first kind, to go on with where the file names none.
pub(crate) fn first() -> Arc<Schema> {
    all()[0].clone()
}

/// The rows of a kind of machine before those of its named tables, and after them.
fn fields(kind: &MachineKind) -> (Vec<Field>, Vec<Field>) {
    let mut before = Rows::of::<HeadTable>("");
    before.push(kind_field());
    before.extend((kind.fields)());
    before.extend((kind.workload_fields)());
    let after = Rows::of::<ControlTable>("").into_iter();
    let after = after.map(|row| match row.default {
        Default::OfKind => kind.row(row),
        _ => row,
    });
    (before, after.collect())
}

fn keys(kind: &MachineKind) -> KindKeys {
    let (before, after) = fields(kind);
    let named = kind.named.iter().flat_map(|named| named.rows(ANY));
    let rows = before.into_iter().chain(named).chain(after);
    (kind.name, rows.map(|row| row.key).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;
    use crate::value::Kind;

    /// The canonical form opens a table once, so the fields of a table must stand together; and
    /// every kind must have its form of the rows that kinds have in forms of their own.
    #[test]
    fn tables_are_in_one_piece_and_rows_of_kinds_are_in_their_places() {
        let of_kinds = Rows::of::<ControlTable>("");
        let of_kinds = of_kinds
            .iter()
            .filter(|field| field.default == Default::OfKind);
        let of_kinds = of_kinds.count();
        let names = vec!["b".to_owned(), "a".to_owned()];
        let named = of_kind("fat-tree").map(|schema| schema.with_names(names));
        for schema in all().iter().map(|schema| &**schema).chain(&named) {
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
            assert_eq!(kinds::of(schema).own.len(), of_kinds);
        }
    }

    /// What rows say of one another in text names fields that there are, and their words.
    #[test]
    fn rows_name_fields_and_words_that_there_are() {
        let named = of_kind("fat-tree").map(|schema| schema.with_names(vec!["x".to_owned()]));
        for schema in all().iter().map(|schema| &**schema).chain(&named) {
            let words = |key: &str| match schema.field(key).map(|field| field.kind) {
                Some(Kind::Choice(words)) => words,
                _ => panic!("{key} is no word"),
            };
            for field in schema.fields() {
                if let Some(only) = &field.only {
                    let words = words(&only.selector);
                    let known = |word: &&str| words.contains(word);
                    assert!(only.choices.iter().all(known), "{}", field.key);
                }
                if let Default::Following(following) = &field.default {
                    let (leaders, own) = (words(&following.selector), words(&field.key));
                    for (leader, word) in following.words {
                        assert!(
                            leaders.contains(leader) && own.contains(word),
                            "{}",
                            field.key
                        );
                    }
                    for (key, word) in &following.given {
                        assert!(schema.field(key).is_some() && own.contains(word), "{key}");
                    }
                }
                let mut others = field.alternatives.iter().chain(&field.sets);
                assert!(
                    others.all(|key| schema.field(key).is_some()),
                    "{}",
                    field.key
                );
            }
        }
    }

    #[test]
    fn rows_of_named_tables_are_there_once_for_each_name() {
        let Some(schema) = of_kind("fat-tree") else {
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
