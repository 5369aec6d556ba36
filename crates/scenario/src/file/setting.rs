//! The value of one field, and where it comes from: the default, a preset, the file, an override, an axis or
//! the search.

use crate::fields::field::{Default, Field};
use crate::file::error::{Origin, Problem};
use crate::file::tree::{Node, Tree, parse_value};
use crate::value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The layer that sets the value of a field. A value from a later layer replaces a value from an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Lowest layer: the default value of the field.
    Default,
    /// The preset (named set of values) that the file names.
    Preset,
    /// The scenario file itself.
    File,
    /// An override `key=value` that the caller gives in addition to the file.
    Override,
    /// An axis of the sweep sets the value.
    Axis,
    /// The search for the saturation load, which sets the load.
    Search,
}

/// A value of one field, with its origin.
#[derive(Debug, Clone)]
pub struct Setting {
    pub(crate) field: Arc<Field>,
    pub(crate) value: Value,
    /// The value as written in a file.
    pub(crate) written: toml::Value,
    /// Place in the file, or override, from which the value comes.
    pub(crate) origin: Origin,
    /// The origin of the value: default, preset, file, override, axis or search.
    pub(crate) layer: Layer,
    /// The preset that sets the value, if the layer is [`Layer::Preset`].
    pub(crate) credit: Option<Credit>,
}

/// Reference for a value from a preset: the name of the preset, and the publication from which the value is
/// taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Credit {
    /// Name of the preset.
    pub(crate) preset: &'static str,
    /// Publication that states the value, or the statement that it is an assumption.
    pub(crate) source: &'static str,
}

impl PartialEq for Setting {
    /// Return whether both settings have the same key and value; their origins do not matter.
    fn eq(&self, other: &Self) -> bool {
        self.field.key == other.field.key && self.written == other.written
    }
}

impl Setting {
    /// Parse `node` as a value of `field`.
    pub(crate) fn read(field: &Arc<Field>, node: &Node, layer: Layer) -> Result<Self, Problem> {
        let value = field
            .holds
            .value(node)
            .map_err(|problem| problem.of(&*field.key))?;
        let written = match (value.as_::<String>(), &node.tree) {
            (Some(text), _) => toml::Value::String(text.clone()),
            (_, Tree::Text(text)) => toml::Value::String(text.trim().to_owned()),
            _ => written(node),
        };
        Ok(Self {
            field: field.clone(),
            value,
            written,
            origin: node.origin,
            layer,
            credit: None,
        })
    }

    /// Parse `node` as a value of `field`. Errors name `key` instead of the key of the field.
    pub(crate) fn read_as(
        key: &str,
        field: &Arc<Field>,
        node: &Node,
        layer: Layer,
    ) -> Result<Self, Problem> {
        Self::read(field, node, layer).map_err(|problem| problem.of(key))
    }

    /// Return the value as text, without quotation marks.
    pub(crate) fn text(&self) -> String {
        let is_set = || !self.field.holds.info().axis_words.is_empty();
        match (&self.written, self.value.as_::<Vec<String>>()) {
            (toml::Value::String(text), _) => text.clone(),
            (_, Some(names)) if is_set() => names.join(" + "),
            (other, _) => other.to_string(),
        }
    }
}

/// Convert a parsed value to TOML, for the canonical form of the scenario file.
pub(crate) fn written(node: &Node) -> toml::Value {
    match &node.tree {
        Tree::Text(text) => toml::Value::String(text.clone()),
        Tree::Integer(n) => toml::Value::Integer(*n),
        Tree::Float(x) => toml::Value::Float(*x),
        Tree::Flag(flag) => toml::Value::Boolean(*flag),
        Tree::Date(date) => toml::Value::String(date.clone()),
        Tree::Array(items) => toml::Value::Array(items.iter().map(written).collect()),
        Tree::Table(entries) => toml::Value::Table(
            entries
                .iter()
                .map(|entry| (entry.key.clone(), written(&entry.node)))
                .collect(),
        ),
    }
}

/// Parse the default of every field that has one. Return the values by key of the field.
pub(crate) fn defaults(fields: &[Arc<Field>]) -> Result<BTreeMap<Arc<str>, Setting>, Problem> {
    let mut defaults = BTreeMap::new();
    for field in fields {
        if let Default::Value(text) = field.default {
            let node = parse_value(text, Origin::Whole).ok_or_else(|| {
                Problem::new(&*field.key, Origin::Whole, "the default is not TOML", "")
            })?;
            defaults.insert(
                field.key.clone(),
                Setting::read(field, &node, Layer::Default)?,
            );
        }
    }
    Ok(defaults)
}
