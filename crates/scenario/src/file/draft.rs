//! The first stage of parsing: conversion of the TOML tree of a file and of the overrides to values of fields
//! and to axes.

use crate::fields::field::Field;
use crate::fields::named;
use crate::fields::registry::Formats;
use crate::fields::schema::Schema;
use crate::file::assignment::Assignment;
use crate::file::error::{Origin, Problem};
use crate::file::setting::{Layer, Setting};
use crate::file::settings::Settings;
use crate::file::suggest::closest;
use crate::file::tree::{Entry, Node, Tree, join, last, shown};
use crate::sweep::axis::{self, Axis};
use crate::sweep::failure_axis;
use std::sync::Arc;

/// The version of the file format that this crate reads.
pub(crate) const VERSION: i64 = 1;

/// The values of fields and the axes of a file with its overrides. Each value is valid on its own;
/// combinations are not checked yet.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) schema: Arc<Schema>,
    /// The values of the fields, except those that axes set.
    pub(crate) base: Settings,
    pub(crate) axes: Vec<Axis>,
}

impl Draft {
    /// Read a draft from `root`, the parsed TOML of the file, and apply the overrides in order.
    pub(crate) fn read(
        formats: &'static Formats,
        root: &Node,
        overrides: &[String],
    ) -> Result<Self, Problem> {
        check_version(root)?;
        let overrides: Vec<(String, Entry)> = overrides
            .iter()
            .enumerate()
            .map(|(index, text)| parse_override(formats, index, text))
            .collect::<Result<_, _>>()?;
        let mut schema = choose_schema(formats, root, &overrides)?;
        if let Some(named) = schema.named().copied() {
            schema = Arc::new(schema.with_names(named::names(&named, root)?));
        }
        let mut draft = Self {
            base: Settings::new(schema.clone()),
            schema,
            axes: Vec::new(),
        };
        if let Tree::Table(entries) = &root.tree {
            for entry in entries {
                draft.read_entry("", entry, Layer::File)?;
            }
        }
        for (parent, entry) in &overrides {
            let axis_prefix = if parent == "sweep" {
                Some("")
            } else {
                parent.strip_prefix("sweep.")
            };
            match axis_prefix {
                Some(prefix) => draft.read_axis(prefix, entry, Layer::Override)?,
                None => draft.read_entry(parent, entry, Layer::Override)?,
            }
        }
        draft.drop_overruled();
        Ok(draft)
    }

    /// Remove fields that no longer apply because of an override. For example, an override may replace bursty
    /// arrivals, so the length of a burst no longer applies. A field stays if an axis changes a field on
    /// which it depends.
    fn drop_overruled(&mut self) {
        let overruled: Vec<Arc<str>> = self
            .schema
            .fields()
            .iter()
            .filter(|field| self.base.overruled(field))
            .filter(|field| {
                let mut selectors = self.schema.selectors(field);
                !selectors.any(|selector| self.axes.iter().any(|axis| axis.decides(selector)))
            })
            .map(|field| field.key.clone())
            .collect();
        for key in &overruled {
            if self.base.layer(key) < Layer::Override {
                self.base.remove(key);
            }
            self.axes.retain_mut(|axis| axis.remove_fields(&[key]));
        }
    }

    /// Read an entry of the table `parent`: a field, a table or the sweep.
    fn read_entry(&mut self, parent: &str, entry: &Entry, layer: Layer) -> Result<(), Problem> {
        let path = join(parent, &entry.key);
        if path == "sweep" {
            return self.read_sweep("", &entry.node, layer);
        }
        let field = self.schema.field(&path).cloned();
        match (&entry.node.tree, field) {
            (Tree::Table(entries), _) if self.schema.is_table(&path) => {
                if layer == Layer::File {
                    self.base.open_table(&path, entry.key_origin);
                }
                entries
                    .iter()
                    .try_for_each(|entry| self.read_entry(&path, entry, layer))
            }
            (_, Some(field)) => self.read_setting(&field, &entry.node, layer),
            (_, None) if self.schema.is_table(&path) => Err(Problem::new(
                path.as_str(),
                entry.node.origin,
                format!("{} where a table is expected", entry.node.describe()),
                format!("write [{path}] and its fields below"),
            )),
            _ => Err(unknown_key(&self.schema, &path, entry.key_origin)),
        }
    }

    /// Parse a value of `field`, and add it to the values of the draft.
    fn read_setting(
        &mut self,
        field: &Arc<Field>,
        node: &Node,
        layer: Layer,
    ) -> Result<(), Problem> {
        let setting = Setting::read(field, node, layer)?;
        if layer == Layer::Override {
            let keys: Vec<&str> = field.decides().collect();
            self.axes.retain_mut(|axis| axis.remove_fields(&keys));
        }
        self.base.put(&setting)
    }

    /// Read a table within `[sweep]`, whose keys begin with `prefix`.
    fn read_sweep(&mut self, prefix: &str, node: &Node, layer: Layer) -> Result<(), Problem> {
        let Tree::Table(entries) = &node.tree else {
            return Err(Problem::new(
                join("sweep", prefix).trim_end_matches('.'),
                node.origin,
                format!("{} where a table is expected", node.describe()),
                "write axes as \"machine.lanes.io_link\" = [0, 1, 2]",
            ));
        };
        entries
            .iter()
            .try_for_each(|entry| self.read_axis(prefix, entry, layer))
    }

    /// Parse an entry within `[sweep]` that is an axis, and add the axis.
    fn read_axis(&mut self, prefix: &str, entry: &Entry, layer: Layer) -> Result<(), Problem> {
        let path = join(prefix, &entry.key);
        if failure_axis::is_asked(&path, &entry.node, layer) {
            let axis = failure_axis::read(&self.schema, &path, entry, &self.axes)?;
            self.place(axis, layer);
            return Ok(());
        }
        let field = self.schema.field(&path);
        let is_table = matches!(entry.node.tree, Tree::Table(_));
        if is_table && self.schema.is_table(&path) && !axis::is_range(&entry.node) {
            return self.read_sweep(&path, &entry.node, layer);
        }
        let axis = match field {
            Some(field) if field.sweepable() => {
                axis::read_values(&self.schema, field, &entry.node)?
            }
            Some(_) => {
                return Err(Problem::new(
                    format!("sweep.{path}"),
                    entry.key_origin,
                    "it cannot be swept",
                    "sweep fields of machine and workload",
                ));
            }
            None if axis::is_variants(&entry.node) && !path.contains('.') => {
                axis::read_variants(&self.schema, entry)?
            }
            None => return Err(axis::unknown_axis(&self.schema, &path, entry)),
        };
        self.place(axis, layer);
        Ok(())
    }

    /// Add an axis. An axis from an override replaces an axis for the same field or name.
    fn place(&mut self, axis: Axis, layer: Layer) {
        let same = |other: &Axis| match (&axis.field, &other.field) {
            (Some(field), Some(_)) => field.decides().any(|key| other.decides(key)),
            _ => axis.key == other.key,
        };
        match self.axes.iter().position(same) {
            Some(at) if layer == Layer::Override => self.axes[at] = axis,
            _ => self.axes.push(axis),
        }
    }
}

/// Check that the version of the file format is supported.
fn check_version(root: &Node) -> Result<(), Problem> {
    let write = format!("write version = {VERSION} as the first line");
    let Some(node) = root.get("version") else {
        return Err(root.problem("it is missing", write).of("version"));
    };
    let (found, hint) = match node.tree {
        Tree::Integer(VERSION) => return Ok(()),
        Tree::Integer(_) => (
            "is not a version that can be read here",
            format!("this program reads version {VERSION}"),
        ),
        _ => ("where a whole number is expected", write),
    };
    let problem = format!("{} {found}", node.describe());
    Err(node.problem(problem, hint).of("version"))
}

/// Parse an override `key=value`. Return the path of its table, and its entry in that table.
fn parse_override(
    formats: &'static Formats,
    index: usize,
    text: &str,
) -> Result<(String, Entry), Problem> {
    let origin = Origin::Override(index);
    let hint = "write key=value, for example machine.dimension=5";
    let Assignment {
        path,
        text: value,
        node,
    } = Assignment::read(index, text, hint)?;
    let (last, parents) = path
        .split_last()
        .map_or(("", &[][..]), |(last, rest)| (last.as_str(), rest));
    let mut entry = Entry {
        key: last.to_owned(),
        key_origin: origin,
        node,
    };
    let parent = parents.join(".");
    let key = join(&parent, last);
    if is_words(formats, &key) && !matches!(entry.node.tree, Tree::Text(_)) {
        entry.node.tree = Tree::Text(value);
    }
    // Refuse an empty table as a probable mistake, unless it is a variant of a sweep.
    let in_sweep = path[0] == "sweep";
    if is_empty_table(&entry.node) || (!in_sweep && has_empty_table(&entry.node)) {
        return Err(Problem::new(
            key,
            origin,
            "an empty table changes nothing",
            "give a field and its value, for example machine.dimension=5",
        ));
    }
    Ok((parent, entry))
}

/// Return whether a value is a table without entries.
fn is_empty_table(node: &Node) -> bool {
    matches!(&node.tree, Tree::Table(entries) if entries.is_empty())
}

/// Return whether a value is or contains an empty table.
fn has_empty_table(node: &Node) -> bool {
    match &node.tree {
        Tree::Table(entries) => {
            entries.is_empty() || entries.iter().any(|entry| has_empty_table(&entry.node))
        }
        _ => false,
    }
}

/// Return whether the values of the field `key` are text, so that an override may omit the quotation marks.
fn is_words(formats: &'static Formats, key: &str) -> bool {
    formats.schemas().iter().any(|schema| {
        let fixed = schema.field(key).map(|field| field.holds);
        let named = schema.template(key).map(|row| row.holds);
        fixed.or(named).is_some_and(|holds| holds.info().is_text)
    })
}

/// Return the schema for the kind of machine that the overrides or the file name.
fn choose_schema(
    formats: &'static Formats,
    root: &Node,
    overrides: &[(String, Entry)],
) -> Result<Arc<Schema>, Problem> {
    let from_override = overrides
        .iter()
        .rev()
        .find(|(parent, entry)| parent == "machine" && entry.key == "kind")
        .map(|(_, entry)| &entry.node);
    let in_file = root.get("machine").and_then(|machine| machine.get("kind"));
    match from_override.or(in_file) {
        Some(Node {
            tree: Tree::Text(kind),
            origin,
        }) => formats.schema(kind, root).ok_or_else(|| {
            let names = formats.names();
            let known = crate::value::alternatives(names);
            let hint = match closest(kind, names.iter().copied()) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("give {known}"),
            };
            let problem = format!("{} is not a kind of machine", shown(kind));
            Problem::new("machine.kind", *origin, problem, hint)
        }),
        _ => Ok(formats.first()),
    }
}

/// Return the error for a key that does not exist.
fn unknown_key(schema: &Schema, path: &str, origin: Origin) -> Problem {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut here = schema.names_in(parent);
    if parent.is_empty() {
        here.push("sweep");
    }
    if let Some((problem, hint)) = schema.unknown_name(path) {
        return Problem::new(path, origin, problem, hint);
    }
    if let Some(problem) = schema.of_another_kind(path) {
        let known = match here[..] {
            [] => String::new(),
            _ => format!("; known here: {}", here.join(", ")),
        };
        let hint = format!("{}{known}", problem.1);
        return Problem::new(path, origin, problem.0, hint);
    }
    if here.is_empty() {
        return match schema.field(parent) {
            Some(_) => {
                let hint = format!("{parent} is a value, not a table: write {parent} = ...");
                Problem::new(path, origin, "no such key", hint)
            }
            None => unknown_key(schema, parent, origin),
        };
    }
    let elsewhere = || {
        let ends_so = |field: &&Arc<Field>| last(&field.key) == name;
        schema
            .fields()
            .iter()
            .find(ends_so)
            .map(|field| field.key.to_string())
    };
    let meant = closest(name, here.iter().copied())
        .map(|name| join(parent, name))
        .or_else(elsewhere);
    let hint = match meant {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("known here: {}", here.join(", ")),
    };
    Problem::new(path, origin, "no such key", hint)
}
