//! The kinds of machine that files may describe, and the schemas of their files.

use crate::fields::common::{ControlTable, HeadTable};
use crate::fields::field::{Default, Field};
use crate::fields::format::Row;
use crate::fields::named::ANY;
use crate::fields::rows::Rows;
use crate::fields::schema::{FormKeys, Schema};
use crate::fields::tables::Form;
use crate::file::tree::Node;
use crate::value::Choice;
use std::sync::{Arc, OnceLock};

/// Registry of the kinds of machine that files may describe, with the formats of their files.
#[derive(Debug)]
pub struct Formats {
    /// The format of each form of file (a kind of machine, with or without named tables), in the order of the
    /// reference of scenario fields.
    rows: Vec<Row>,
    /// Names of the kinds of machine.
    names: Vec<&'static str>,
    /// Type of the field `machine.kind`: a choice of the names of the kinds.
    choice: OnceLock<Choice>,
    /// The schemas of files without named tables, one for each form of file.
    schemas: OnceLock<Vec<Arc<Schema>>>,
}

impl Formats {
    /// Create the registry from the formats of all kinds of machine, in the order in which the reference of
    /// scenario fields lists them.
    pub fn new(rows: Vec<Row>) -> Self {
        let mut names: Vec<&'static str> = Vec::new();
        for row in &rows {
            if !names.contains(&row.kind()) {
                names.push(row.kind());
            }
        }
        Self {
            names,
            choice: OnceLock::new(),
            rows,
            schemas: OnceLock::new(),
        }
    }

    /// Return all forms of scenario file: for each kind of machine those with and without named tables.
    pub(crate) fn forms(&'static self) -> impl Iterator<Item = &'static Form> {
        self.rows.iter().map(|row| &row.files)
    }

    /// Return the row of the registry for this form of scenario file.
    pub(crate) fn row(&'static self, form: &Form) -> &'static Row {
        let row = self.rows.iter().find(|row| row.form() == form.name);
        row.unwrap_or_else(|| unreachable!("{} is no form of these", form.name))
    }

    /// Return the names of the kinds of machine.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Return the schemas of all forms of file, without named tables.
    pub(crate) fn schemas(&'static self) -> &'static [Arc<Schema>] {
        self.schemas.get_or_init(|| {
            let of_forms: Arc<[FormKeys]> = self.forms().map(|form| self.keys(form)).collect();
            let schema = |form| {
                let (before, after) = self.fields_of(form);
                let named_at = before.len();
                let fields = before.into_iter().chain(after).collect();
                Arc::new(Schema::new(form, fields, named_at, of_forms.clone()))
            };
            self.forms().map(schema).collect()
        })
    }

    /// Return the schema for `file`, whose machine is of the kind `kind`; `None` if the kind is unknown. The
    /// schema may depend on the named tables in the file.
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

    /// Return whether an earlier form of scenario file in the registry is for the same kind of machine as
    /// `form`.
    pub(crate) fn is_second(&self, form: &Form) -> bool {
        let first = self.rows.iter().find(|row| row.files.kind == form.kind);
        first.is_some_and(|first| first.files.name != form.name)
    }

    /// Return the schema of the first kind, the fallback for a file that does not name its kind.
    pub(crate) fn first(&'static self) -> Arc<Schema> {
        self.schemas()[0].clone()
    }

    /// Return the description of the field `machine.kind`.
    pub(crate) fn kind_field(&'static self) -> Field {
        Field::new(
            "machine.kind",
            self.choice.get_or_init(|| Choice(&self.names)),
            Default::Required,
            "kind of machine",
            "Kind of machine; it decides which other fields of machine and workload there are",
        )
    }

    /// Return the field descriptions of a form of scenario file: those before its named tables, and those
    /// after them.
    fn fields_of(&'static self, form: &'static Form) -> (Vec<Field>, Vec<Field>) {
        let mut before = Rows::of::<HeadTable>("");
        before.push(self.kind_field());
        before.extend((form.tables.machine)());
        before.extend((form.tables.workload)());
        let after = Rows::of::<ControlTable>("").into_iter();
        let after = after.map(|field| match field.default {
            Default::OfKind => form.own(field),
            _ => field,
        });
        (before, after.collect())
    }

    /// Return a form of scenario file, with the keys of all fields that its files may have.
    fn keys(&'static self, form: &'static Form) -> FormKeys {
        let (before, after) = self.fields_of(form);
        let rows = before.into_iter().chain(form.named_rows(ANY)).chain(after);
        (form, rows.map(|row| row.key).collect())
    }
}
