//! The kinds of machine that files may describe, and the schemas of their files.

use crate::describe::Rows;
use crate::document::Node;
use crate::field::{Default, Field};
use crate::kind::Row;
use crate::kind_schema::{KindKeys, Schema};
use crate::named::ANY;
use crate::tables::{ControlTable, HeadTable};
use crate::value::Kind;
use std::sync::{Arc, OnceLock};

/// The kinds of machine that files may describe.
#[derive(Debug)]
pub struct Formats {
    rows: Vec<Row>,
    names: Vec<&'static str>,
    /// The schemas of files without named tables, kind by kind.
    schemas: OnceLock<Vec<Arc<Schema>>>,
}

impl Formats {
    /// Kinds of machine, in the order of the reference.
    pub fn new(rows: Vec<Row>) -> Self {
        let mut names: Vec<&'static str> = Vec::new();
        for row in &rows {
            if !names.contains(&row.name) {
                names.push(row.name);
            }
        }
        Self {
            names,
            rows,
            schemas: OnceLock::new(),
        }
    }

    /// The kinds.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Their names.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The schemas of all kinds.
    pub(crate) fn schemas(&'static self) -> &'static [Arc<Schema>] {
        self.schemas.get_or_init(|| {
            let of_kinds: Arc<[KindKeys]> = self.rows.iter().map(|row| self.keys(row)).collect();
            let schema = |row: &Row| {
                let (before, after) = self.fields_of(row);
                let named_at = before.len();
                let fields = before.into_iter().chain(after).collect();
                Arc::new(Schema::new(*row, fields, named_at, of_kinds.clone()))
            };
            self.rows.iter().map(schema).collect()
        })
    }

    /// The schema for a file with a machine of this kind, which may depend on whether it has named tables.
    pub(crate) fn schema(&'static self, kind: &str, file: &Node) -> Option<Arc<Schema>> {
        let of_kind = || {
            let schemas = self.schemas().iter();
            schemas.filter(|schema| schema.kind.name == kind)
        };
        let has_tables = |schema: &&Arc<Schema>| {
            let named = schema.named();
            named.is_some_and(|named| named.table.split('.').try_fold(file, Node::get).is_some())
        };
        (of_kind().find(has_tables))
            .or_else(|| of_kind().next())
            .cloned()
    }

    /// Whether another format describes the same kind of machine and comes before.
    pub(crate) fn is_second(&self, row: &Row) -> bool {
        let mut rows = self.rows.iter();
        let first = rows.find(|other| other.name == row.name);
        first.is_some_and(|first| first.form != row.form)
    }

    /// The schema of the first kind, to go on with where the file names none.
    pub(crate) fn first(&'static self) -> Arc<Schema> {
        self.schemas()[0].clone()
    }

    /// `machine.kind` itself.
    pub(crate) fn kind_field(&'static self) -> Field {
        Field::new(
            "machine.kind",
            Kind::Choice(&self.names),
            Default::Required,
            "kind of machine",
            "Kind of machine; it decides which other fields of machine and workload there are",
        )
    }

    /// The rows of a kind of machine before those of its named tables, and after them.
    fn fields_of(&'static self, kind: &Row) -> (Vec<Field>, Vec<Field>) {
        let mut before = Rows::of::<HeadTable>("");
        before.push(self.kind_field());
        before.extend((kind.tables.machine)());
        before.extend((kind.tables.workload)());
        let after = Rows::of::<ControlTable>("").into_iter();
        let after = after.map(|row| match row.default {
            Default::OfKind => kind.own(row),
            _ => row,
        });
        (before, after.collect())
    }

    fn keys(&'static self, kind: &Row) -> KindKeys {
        let (before, after) = self.fields_of(kind);
        let rows = before.into_iter().chain(kind.named_rows(ANY)).chain(after);
        KindKeys {
            name: kind.name,
            form: kind.form,
            named: kind.tables.named.map(|named| named.table),
            keys: rows.map(|row| row.key).collect(),
        }
    }
}
