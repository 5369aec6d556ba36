//! The schema of a scenario file: the descriptions of all fields that it may have.

use crate::fields::field::Field;
use crate::fields::named::{self, ANY, Named};
use crate::fields::tables::Form;
use crate::file::setting::{Setting, defaults};
use crate::file::suggest::closest;
use crate::file::tree::is_in;
use crate::value::alternatives;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The schema of a scenario file: the descriptions of all fields that it may have, including those of its
/// named tables.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    /// The form of the file (kind of machine, with or without named tables).
    pub(crate) form: &'static Form,
    /// The fields, in the order of the reference manual.
    fields: Vec<Arc<Field>>,
    by_key: BTreeMap<Arc<str>, Arc<Field>>,
    /// Default values of the fields whose default is a fixed value, by key.
    defaults: BTreeMap<Arc<str>, Setting>,
    /// Field descriptions of a named table that has the wildcard [`ANY`] as its name.
    templates: Arc<[Field]>,
    /// Index in `fields` at which the fields of named tables are inserted.
    named_at: usize,
    /// The names of the named tables in the file.
    names: Vec<String>,
    /// For each form of scenario file, the keys that its files may have.
    of_forms: Arc<[FormKeys]>,
}

/// A form of scenario file, and the keys of all fields that its files may have.
pub(crate) type FormKeys = (&'static Form, Vec<Arc<str>>);

impl Schema {
    /// Return the schema of files without named tables. `named_at` is the index at which to insert the fields
    /// of named tables.
    pub(crate) fn new(
        form: &'static Form,
        fields: Vec<Field>,
        named_at: usize,
        of_forms: Arc<[FormKeys]>,
    ) -> Self {
        let mut schema = Self {
            form,
            fields: Vec::new(),
            by_key: BTreeMap::new(),
            defaults: BTreeMap::new(),
            templates: form.named_rows(ANY).into(),
            named_at: 0,
            names: Vec::new(),
            of_forms,
        };
        schema.insert(fields);
        schema.named_at = named_at;
        schema
    }

    /// Return the description of the named tables, if the form has named tables.
    pub(crate) fn named(&self) -> Option<&'static Named> {
        self.form.tables.named.as_ref()
    }

    /// Return the schema of files of the same form with named tables of these names.
    pub(crate) fn with_names(&self, names: Vec<String>) -> Self {
        let mut schema = self.clone();
        let of = |name: &String| -> Vec<Field> {
            let mut rows = self.form.named_rows(name);
            for row in &mut rows {
                row.label = format!("{} of {name}", row.label);
            }
            rows
        };
        schema.insert(names.iter().flat_map(of).collect());
        schema.names = names;
        schema
    }

    /// Insert these field descriptions at the index `named_at`.
    fn insert(&mut self, rows: Vec<Field>) {
        let rows: Vec<Arc<Field>> = rows.into_iter().map(Arc::new).collect();
        let defaults = defaults(&rows)
            .unwrap_or_else(|problem| unreachable!("a default of the table is wrong: {problem:?}"));
        self.defaults.extend(defaults);
        let by_key = rows.iter().map(|row| (row.key.clone(), row.clone()));
        self.by_key.extend(by_key);
        self.fields.splice(self.named_at..self.named_at, rows);
    }

    /// Return the names of the named tables, in the order of the file.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Return all fields, in the order of the reference manual.
    pub(crate) fn fields(&self) -> &[Arc<Field>] {
        &self.fields
    }

    /// Return the field with this key.
    pub(crate) fn field(&self, key: &str) -> Option<&Arc<Field>> {
        self.by_key.get(key)
    }

    /// Return the descriptions of all fields. Fields of named tables appear once, with the wildcard as the
    /// name.
    pub(crate) fn rows_of_any(&self) -> impl Iterator<Item = &Field> {
        let fixed = self.fields.iter().map(|field| &**field);
        fixed.chain(self.templates.iter())
    }

    /// Return the description of the field of a named table, of any name, that has the key `path`.
    pub(crate) fn template(&self, path: &str) -> Option<&Field> {
        let mut rows = self.templates.iter();
        rows.find(|row| named::is_key(path, &row.key))
    }

    /// Return the keys of the fields that decide whether `field` has an effect: the field in its condition,
    /// the field in the condition of that field, and so on.
    pub(crate) fn selectors<'s>(&'s self, field: &'s Field) -> impl Iterator<Item = &'s str> {
        let selector = |field: &'s Field| field.only.as_ref().map(|only| only.selector.as_str());
        std::iter::successors(selector(field), move |key| selector(self.field(key)?))
    }

    /// Return the default value of the field `key`, if the default is a fixed value.
    pub(crate) fn default(&self, key: &str) -> Option<&Setting> {
        self.defaults.get(key)
    }

    /// Return whether `path` is a table that contains fields or named tables.
    pub(crate) fn is_table(&self, path: &str) -> bool {
        let named = self.named().map(|named| named.table);
        named.is_some_and(|table| table == path || is_in(path, table))
            || self.fields.iter().any(|field| is_in(path, &field.key))
    }

    /// Return problem and hint for `path`, if it is a field or a table of another kind of machine.
    pub(crate) fn of_another_kind(&self, path: &str) -> Option<(String, String)> {
        let mut twins = self.forms_with(path);
        let twin = twins.find(|twin| twin.kind == self.form.kind && twin.name != self.form.name);
        let own = self.named().map(|named| named.table);
        let hint = match twin.map(|twin| (twin.tables.named, own)) {
            Some((Some(named), _)) => format!("it belongs to files with [{}.NAME]", named.table),
            Some((None, Some(table))) => format!("it belongs to files without [{table}.NAME]"),
            _ => {
                let mut kinds = self.kinds_with(path);
                kinds.retain(|&kind| kind != self.form.kind);
                if kinds.is_empty() {
                    return None;
                }
                format!("it belongs to machine.kind = {}", alternatives(&kinds))
            }
        };
        let problem = format!("no such key with machine.kind = \"{}\"", self.form.kind);
        Some((problem, hint))
    }

    /// Return the forms of file that may contain the table or field `path`.
    fn forms_with(&self, path: &str) -> impl Iterator<Item = &'static Form> {
        let has = |(_, keys): &&FormKeys| keys.iter().any(|key| named::leads_to(path, key));
        self.of_forms.iter().filter(has).map(|(form, _)| *form)
    }

    /// Return the kinds of machine that have the table or field `path`.
    pub(crate) fn kinds_with(&self, path: &str) -> Vec<&'static str> {
        let mut kinds = Vec::new();
        for form in self.forms_with(path) {
            // List each kind once, although several forms of file may belong to it.
            if !kinds.contains(&form.kind) {
                kinds.push(form.kind);
            }
        }
        kinds
    }

    /// Return problem and hint for `path`, if it contains the name of a named table that the file does not
    /// have.
    pub(crate) fn unknown_name(&self, path: &str) -> Option<(String, String)> {
        let named = self.named()?;
        let below = path.strip_prefix(named.table)?.strip_prefix('.')?;
        let (name, rest) = match below.split_once('.') {
            Some((name, rest)) => (name, format!(".{rest}")),
            None => (below, String::new()),
        };
        if self.names.iter().any(|known| known == name) {
            return None;
        }
        let hint = match closest(name, self.names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean {}.{meant}{rest}?", named.table),
            None if self.names.is_empty() => {
                format!("describe it in the file, in [{}.{name}]", named.table)
            }
            None => format!("the file describes {}", self.names.join(", ")),
        };
        Some((format!("there is no {} \"{name}\"", named.one), hint))
    }

    /// Return the names of all entries of the table `path` (empty: the whole file).
    pub(crate) fn names_in(&self, path: &str) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let named = self.named().map(|named| named.table);
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
