//! The kinds of machine that files may describe, and the schemas of their files.

use crate::describe::Rows;
use crate::document::Node;
use crate::field::{Default, Field};
use crate::form::Form;
use crate::kind::Row;
use crate::kind_schema::{Keys, Schema};
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
            if !names.contains(&row.kind()) {
                names.push(row.kind());
            }
        }
        Self {
            names,
            rows,
            schemas: OnceLock::new(),
        }
    }

    /// The forms of their files.
    pub(crate) fn forms(&self) -> impl Iterator<Item = &Form> {
        self.rows.iter().map(|row| &row.files)
    }

    /// The kind whose files have this form.
    pub(crate) fn row(&self, form: &Form) -> Row {
        let row = self.rows.iter().find(|row| row.form() == form.name);
        *row.unwrap_or_else(|| unreachable!("{} is no form of these", form.name))
    }

    /// Their names.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The schemas of all kinds.
    pub(crate) fn schemas(&'static self) -> &'static [Arc<Schema>] {
        self.schemas.get_or_init(|| {
            let of_forms: Arc<[Keys]> = self.forms().map(|form| self.keys(form)).collect();
            let schema = |form: &Form| {
                let (before, after) = self.fields_of(form);
                let named_at = before.len();
                let fields = before.into_iter().chain(after).collect();
                Arc::new(Schema::new(*form, fields, named_at, of_forms.clone()))
            };
            self.forms().map(schema).collect()
        })
    }

    /// The schema for a file with a machine of this kind, which may depend on whether it has named tables.
    pub(crate) fn schema(&'static self, kind: &str, file: &Node) -> Option<Arc<Schema>> {
        let of_kind = || {
            let schemas = self.schemas().iter();
            schemas.filter(|schema| schema.form.kind == kind)
        };
        let has_tables = |schema: &&Arc<Schema>| {
            let named = schema.named();
            named.is_some_and(|named| named.table.split('.').try_fold(file, Node::get).is_some())
        };
        (of_kind().find(has_tables))
            .or_else(|| of_kind().next())
            .cloned()
    }

    /// Whether another form describes the same kind of machine and comes before.
    pub(crate) fn is_second(&self, form: &Form) -> bool {
        let first = self.forms().find(|other| other.kind == form.kind);
        first.is_some_and(|first| first.name != form.name)
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

    /// The rows of a form before those of its named tables, and after them.
    fn fields_of(&'static self, form: &Form) -> (Vec<Field>, Vec<Field>) {
        let mut before = Rows::of::<HeadTable>("");
        before.push(self.kind_field());
        before.extend((form.tables.machine)());
        before.extend((form.tables.workload)());
        let after = Rows::of::<ControlTable>("").into_iter();
        let after = after.map(|row| match row.default {
            Default::OfKind => form.own(row),
            _ => row,
        });
        (before, after.collect())
    }

    fn keys(&'static self, form: &Form) -> Keys {
        let (before, after) = self.fields_of(form);
        let rows = before.into_iter().chain(form.named_rows(ANY)).chain(after);
        Keys {
            form: *form,
            keys: rows.map(|row| row.key).collect(),
        }
    }
}
