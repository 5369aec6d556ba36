//! The axes in `[sweep]`. The points of the sweep are all combinations of their values.
//!
//! An axis over a field is a list of its values or a range. An axis of variants is a list of tables, for
//! fields that change together. Each table contains the settings of one variant.

use crate::fields::field::{Default, Field};
use crate::fields::schema::Schema;
use crate::file::error::Problem;
use crate::file::setting::{Layer, Setting};
use crate::file::settings::Settings;
use crate::file::suggest::closest;
use crate::file::tree::{Entry, Node, Tree, join, last, shown};
use crate::sweep::failures::Wanted;
use crate::sweep::range;
use crate::sweep::sets;
use crate::value::{Choice, LINE_MAX, Name, ValueType, Whole, control_in};
use std::sync::Arc;

/// One axis of the sweep, with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Key of the field, such as `machine.lanes.io_link`, or the name of an axis of variants.
    pub key: String,
    /// Short label of the axis in plots.
    pub label: String,
    /// Unit of the numbers, which is that of the first value; `None` for plain numbers and words.
    pub unit: Option<String>,
    /// The values of the axis in order, at least one.
    pub values: Vec<AxisValue>,
    /// The field of the axis; `None` for an axis of variants.
    pub(crate) field: Option<Arc<Field>>,
    /// The request for failures of the machine, if the axis is over failures and these are not determined
    /// yet.
    pub(crate) wanted: Option<Wanted>,
}

/// One value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisValue {
    /// The value as written in the file, without quotation marks, or the label of a variant.
    pub text: String,
    /// The value in the unit of its axis; `None` for words and lists.
    pub number: Option<f64>,
    /// The fields that this value of the axis sets, with their values.
    pub(crate) settings: Vec<Setting>,
}

/// Return descriptions of the optional entries of a range, `points` and `spacing`.
pub(crate) fn range() -> [Field; 2] {
    [
        Field::new(
            "sweep.KEY.points",
            const { &Whole::<u32>::new(2, 10_000) },
            Default::Derived("every whole number, for a field that holds one; else required"),
            "points",
            "Number of points of the range, both ends included",
        ),
        Field::new(
            "sweep.KEY.spacing",
            &Choice(&["linear", "log"]),
            Default::Value("\"linear\""),
            "spacing",
            "Equal steps or equal factors; what lies between the ends is rounded to 6 digits",
        ),
    ]
}

impl Axis {
    /// Return the field values that the values of the axis set.
    pub(crate) fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.values.iter().flat_map(|value| &value.settings)
    }

    /// Return whether any value of the axis sets the field `key` or an alternative to it.
    pub(crate) fn decides(&self, key: &str) -> bool {
        self.settings().any(|setting| setting.field.decides_on(key))
    }

    /// Return whether any value of the axis sets a field whose key begins with `start`.
    pub(crate) fn decides_below(&self, start: &str) -> bool {
        let mut settings = self.settings();
        settings.any(|setting| setting.field.decides().any(|key| key.starts_with(start)))
    }

    /// Return an axis of variants, whose values each set several fields.
    pub(crate) fn of_variants(name: &str, values: Vec<AxisValue>) -> Self {
        Self {
            key: name.to_owned(),
            label: name.to_owned(),
            unit: None,
            values,
            field: None,
            wanted: None,
        }
    }

    /// Remove the fields `keys` from all values of the axis. Return whether the axis still sets any field.
    pub(crate) fn remove_fields(&mut self, keys: &[&str]) -> bool {
        for value in &mut self.values {
            let decided = |setting: &Setting| keys.iter().any(|key| setting.field.decides_on(key));
            value.settings.retain(|setting| !decided(setting));
        }
        self.wanted.is_some() || self.settings().next().is_some()
    }
}

/// Return whether a table is a range such as `{ from = 1, to = 9 }`, and not a table of fields.
pub(crate) fn is_range(node: &Node) -> bool {
    ["from", "to", "points", "spacing"]
        .iter()
        .any(|key| node.get(key).is_some())
}

/// Return whether a value is a list of tables, as for an axis of variants.
pub(crate) fn is_variants(node: &Node) -> bool {
    let is_table = |item: &Node| matches!(item.tree, Tree::Table(_));
    matches!(&node.tree, Tree::Array(items) if !items.is_empty() && items.iter().all(is_table))
}

/// Parse a sweep axis over a field: a list or a range of values. If the values are sets of names, a
/// word can also stand for several sets.
pub(crate) fn read_values(
    schema: &Schema,
    field: &Arc<Field>,
    node: &Node,
) -> Result<Axis, Problem> {
    let key = format!("sweep.{}", field.key);
    let read = |node| Setting::read_as(&key, field, node, Layer::Axis);
    let settings = match &node.tree {
        Tree::Text(word) if !field.holds.info().axis_words.is_empty() => {
            sets::sets(schema.names(), word, node)
                .map_err(|problem| problem.of(&key))?
                .iter()
                .map(read)
                .collect::<Result<Vec<_>, _>>()?
        }
        Tree::Array(items) => items.iter().map(read).collect::<Result<Vec<_>, _>>()?,
        Tree::Table(entries) => read_range(field, &key, node, entries)?,
        _ => {
            return Err(Problem::new(
                key,
                node.origin,
                format!("{} where a list or a range is expected", node.describe()),
                format!(
                    "write [{}], or give the value outside of [sweep]",
                    field.example()
                ),
            ));
        }
    };
    let Some(first) = settings.first() else {
        return Err(no_points(&key, node));
    };
    for (at, setting) in settings.iter().enumerate() {
        let mut earlier = settings[..at].iter();
        if earlier.any(|earlier| earlier.value == setting.value) {
            let problem = format!("{} occurs twice", setting.text());
            return Err(Problem::new(
                key,
                setting.origin,
                problem,
                "give each value once",
            ));
        }
    }
    let unit = range::unit(first);
    let value = |setting: &Setting| AxisValue {
        text: setting.text(),
        number: range::number(setting, unit.as_deref()),
        settings: vec![setting.clone()],
    };
    let values = settings.iter().map(value).collect();
    Ok(Axis {
        label: field.label.clone(),
        unit,
        field: Some(field.clone()),
        ..Axis::of_variants(&field.key, values)
    })
}

/// Return the error for an unknown key in the table of an axis. It suggests a similar key of `known`, or else
/// has the hint `hint`.
pub(crate) fn unknown_option(entry: &Entry, axis: &str, known: &[&str], hint: &str) -> Problem {
    let meant = closest(&entry.key, known.iter().copied());
    let hint = meant.map_or(hint.to_owned(), |name| {
        format!("did you mean {axis}.{name}?")
    });
    Problem::new(
        join(axis, &entry.key),
        entry.key_origin,
        "no such key",
        hint,
    )
}

/// Return the error for an axis without values.
fn no_points(key: &str, node: &Node) -> Problem {
    Problem::new(
        key,
        node.origin,
        "a sweep with no points",
        "list one value or more, or remove the axis",
    )
}

/// Parse the range of an axis over a field, and return its values.
fn read_range(
    field: &Arc<Field>,
    key: &str,
    node: &Node,
    entries: &[Entry],
) -> Result<Vec<Setting>, Problem> {
    let known = ["from", "to", "points", "spacing"];
    let is_known = |entry: &&Entry| known.contains(&entry.key.as_str());
    if let Some(entry) = entries.iter().find(|entry| !is_known(entry)) {
        return Err(unknown_option(
            entry,
            key,
            &known,
            "a range has from, to, points, spacing",
        ));
    }
    let end = |name: &str| {
        let node = node.get(name).ok_or_else(|| {
            let hint = format!("write, for example, {name} = {}", field.example());
            Problem::new(join(key, name), node.origin, "it is missing", hint)
        })?;
        Setting::read_as(&join(key, name), field, node, Layer::Axis)
    };
    let (from, to) = (end("from")?, end("to")?);
    let option = |field: Field| {
        let field = Arc::new(field);
        let name = last(&field.key);
        let read = |node| Setting::read_as(&join(key, name), &field, node, Layer::Axis);
        node.get(name).map(read).transpose()
    };
    let [points, spacing] = range();
    let points = option(points)?;
    let log = option(spacing)?.is_some_and(|spacing| spacing.text() == "log");
    let points = points.and_then(|setting| setting.value.as_::<u32>().map(|&n| n as usize));
    range::between(&from, &to, points, log, node).map_err(|problem| problem.of(key))
}

/// Parse an axis of variants: a list of tables, each of which sets several fields.
pub(crate) fn read_variants(schema: &Arc<Schema>, entry: &Entry) -> Result<Axis, Problem> {
    let key = format!("sweep.{}", entry.key);
    let name = Name.read(&entry.name());
    name.map_err(|problem| problem.of(&key))?;
    let mut values: Vec<AxisValue> = Vec::new();
    let Tree::Array(items) = &entry.node.tree else {
        return Err(no_points(&key, &entry.node));
    };
    for item in items {
        let value = read_variant(schema, &key, item)?;
        if values.iter().any(|earlier| earlier.text == value.text) {
            return Err(Problem::new(
                join(&key, "label"),
                item.origin,
                format!("{} occurs twice", shown(&value.text)),
                "give each variant a label of its own",
            ));
        }
        values.push(value);
    }
    Ok(Axis::of_variants(&entry.key, values))
}

/// Parse one variant of an axis: a table of field values.
fn read_variant(schema: &Arc<Schema>, key: &str, item: &Node) -> Result<AxisValue, Problem> {
    let mut settings = Vec::new();
    let mut label = None;
    if let Tree::Table(entries) = &item.tree {
        for entry in entries {
            if entry.key == "label" {
                label = Some(read_label(key, &entry.node)?);
            } else {
                read_variant_entry(schema, key, "", entry, &mut settings)?;
            }
        }
    }
    // Combine all values of the variant only to check them for contradictions.
    let mut together = Settings::new(schema.clone());
    for setting in &settings {
        together.put(setting).map_err(|problem| {
            let key = join(key, &problem.field);
            problem.of(key)
        })?;
    }
    let words = settings
        .iter()
        .map(|s| format!("{} {}", s.field.label, s.text()));
    let (text, number) = label.unwrap_or_else(|| match settings.is_empty() {
        true => ("as given".to_owned(), None),
        false => (words.collect::<Vec<_>>().join(", "), None),
    });
    Ok(AxisValue {
        text,
        number,
        settings,
    })
}

/// Parse the label of a variant. Also return the label as a number, if it is one.
fn read_label(key: &str, node: &Node) -> Result<(String, Option<f64>), Problem> {
    let (problem, hint) = match &node.tree {
        Tree::Text(text) if text.chars().count() > LINE_MAX => (
            format!("{} has {} characters", shown(text), text.chars().count()),
            format!("give at most {LINE_MAX}"),
        ),
        Tree::Text(text) if control_in(text).is_some() => (
            format!("{} holds a control character", shown(text)),
            "leave it out".to_owned(),
        ),
        Tree::Text(text) => return Ok((text.clone(), None)),
        Tree::Integer(n) => return Ok((n.to_string(), Some(*n as f64))),
        Tree::Float(x) if x.is_finite() => return Ok((x.to_string(), Some(*x))),
        _ => (
            format!("{} where a text or a number is expected", node.describe()),
            "write, for example, label = \"3-cube\"".to_owned(),
        ),
    };
    Err(node.problem(problem, hint).of(join(key, "label")))
}

/// Parse an entry in the table of a variant, and add the field values in it to `settings`.
fn read_variant_entry(
    schema: &Arc<Schema>,
    key: &str,
    prefix: &str,
    entry: &Entry,
    settings: &mut Vec<Setting>,
) -> Result<(), Problem> {
    let path = join(prefix, &entry.key);
    match (&entry.node.tree, schema.field(&path)) {
        (Tree::Table(entries), _) if schema.is_table(&path) => entries
            .iter()
            .try_for_each(|entry| read_variant_entry(schema, key, &path, entry, settings)),
        (_, Some(field)) if field.sweepable() => {
            let key = join(key, &path);
            settings.push(Setting::read_as(&key, field, &entry.node, Layer::Axis)?);
            Ok(())
        }
        _ => Err(unknown_axis(schema, &path, entry).of(join(key, &path))),
    }
}

/// Return the error for an axis over a field that does not exist.
pub(crate) fn unknown_axis(schema: &Schema, path: &str, entry: &Entry) -> Problem {
    let key = format!("sweep.{path}");
    if schema.is_table(path) {
        return Problem::new(
            key,
            entry.key_origin,
            "it is a table of fields",
            format!("sweep one of its fields, or name the axis: [[sweep.NAME]] with {path}.*"),
        );
    }
    let elsewhere = || schema.of_another_kind(path);
    if let Some((problem, hint)) = schema.unknown_name(path).or_else(elsewhere) {
        return Problem::new(key, entry.key_origin, problem, hint);
    }
    let hint = match nearest_field(schema, path) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "sweep a field of machine or workload by its whole key".to_owned(),
    };
    Problem::new(key, entry.key_origin, "no such key", hint)
}

/// Return the field or table nearest to `path` that an axis may set: one with a similar name in the same
/// table, or else one with the same name in another table.
fn nearest_field(schema: &Schema, path: &str) -> Option<String> {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut here = schema.names_in(parent);
    here.retain(|name| !parent.is_empty() || ["machine", "workload"].contains(name));
    let elsewhere = || {
        let sweepable = schema.fields().iter().filter(|field| field.sweepable());
        let mut keys = sweepable.map(|field| &*field.key);
        keys.find(|key| last(key) == name).map(str::to_owned)
    };
    closest(name, here)
        .map(|name| join(parent, name))
        .or_else(elsewhere)
}
