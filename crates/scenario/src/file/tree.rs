//! TOML as a tree in which every key and value has its origin (its offset in the file, or an override).

use crate::file::error::{Origin, Problem, cut};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML value and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The TOML value itself, without its origin.
    pub tree: Tree,
    /// Offset of the value in the file, or the override that contains it.
    pub origin: Origin,
}

/// A TOML value without its origin.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// A table, with its entries in the order of the text.
    Table(Vec<Entry>),
    /// A TOML array.
    Array(Vec<Node>),
    /// A TOML string.
    Text(String),
    /// A TOML integer.
    Integer(i64),
    /// A TOML floating-point number.
    Float(f64),
    /// A TOML boolean.
    Flag(bool),
    /// A TOML date or time, as text.
    Date(String),
}

/// A key of a table, with its origin and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Name of the entry in its table.
    pub key: String,
    /// Offset of the key in the file, or the override that contains it.
    pub key_origin: Origin,
    /// Value of the entry.
    pub node: Node,
}

impl Entry {
    /// Return the key as a text value of the tree, so that a parser of values can parse it.
    pub(crate) fn name(&self) -> Node {
        Node {
            tree: Tree::Text(self.key.clone()),
            origin: self.key_origin,
        }
    }
}

impl Node {
    /// Return a short description of the value for error messages.
    pub fn describe(&self) -> String {
        match &self.tree {
            Tree::Table(_) => "a table".to_owned(),
            Tree::Array(_) => "a list".to_owned(),
            Tree::Text(text) => format!("the text {}", shown(text)),
            Tree::Integer(n) => format!("the number {n}"),
            Tree::Float(x) => format!("the number {x}"),
            Tree::Flag(flag) => flag.to_string(),
            Tree::Date(date) => format!("the date {date}"),
        }
    }

    /// Create a problem (an error without location) about this value. It does not name a field.
    pub fn problem(&self, problem: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new("", self.origin, problem, hint)
    }

    /// Create the problem that this value has the wrong type; `expected` names the right type.
    pub fn unexpected(&self, expected: &str, hint: impl Into<String>) -> Problem {
        let problem = format!("{} where {expected} is expected", self.describe());
        self.problem(problem, hint)
    }

    /// Return the hint to remove the quotation marks, if the value is a number in quotation marks.
    pub fn unquoted_number(&self) -> Option<String> {
        match &self.tree {
            Tree::Text(text) if text.parse::<u32>().is_ok() => {
                Some(format!("write {text}, without quotation marks"))
            }
            _ => None,
        }
    }

    /// Return the value of `key` in this table; `None` if this value is not a table or has no such key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match &self.tree {
            Tree::Table(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.node),
            _ => None,
        }
    }
}

/// Return the dotted key of `key` in the table `parent`.
pub(crate) fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() {
        key.to_owned()
    } else {
        [parent, ".", key].concat()
    }
}

/// Return whether `key` is within the table `path`.
pub(crate) fn is_in(path: &str, key: &str) -> bool {
    key.strip_prefix(path)
        .is_some_and(|rest| rest.starts_with('.'))
}

/// Return the last part of a dotted key.
pub(crate) fn last(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, last)| last)
}

/// Return a text in TOML quotation marks.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Maximum number of characters of a value in an error message.
const SHOWN_MAX: usize = 60;

/// Return a text in quotation marks for an error message, shortened if it is long.
pub fn shown(text: &str) -> String {
    quoted(&cut(text, SHOWN_MAX).replace(['\n', '\r'], " "))
}

/// Parse the text of a whole file.
pub(crate) fn parse_file(text: &str) -> Result<Node, Problem> {
    let table = DeTable::parse(text).map_err(|error| syntax_problem(&error, true))?;
    let origin = |offset| Origin::File(offset);
    Ok(Node {
        tree: table_tree(table.get_ref(), &origin)?,
        origin: Origin::Whole,
    })
}

/// Parse one TOML value; return `None` if the text is not a TOML value.
pub(crate) fn parse_value(text: &str, origin: Origin) -> Option<Node> {
    let value = DeValue::parse(text).ok()?;
    let place = |_| origin;
    let node = node(value.get_ref(), origin, &place);
    node.ok()
}

/// Return the error for text that is not valid TOML.
fn syntax_problem(error: &toml::de::Error, in_file: bool) -> Problem {
    let origin = match error.span() {
        Some(span) if in_file => Origin::File(span.start),
        _ => Origin::Whole,
    };
    let reason = error.message().lines().collect::<Vec<_>>().join(", ");
    let hint = if reason.contains("duplicate") {
        "give each key and each table once"
    } else {
        "write tables as [name] and values as key = value"
    };
    Problem::new("", origin, format!("not TOML: {reason}"), hint)
}

/// Convert a table of the TOML parser to a tree. `place` converts an offset to an origin.
fn table_tree(table: &DeTable<'_>, place: &dyn Fn(usize) -> Origin) -> Result<Tree, Problem> {
    let mut entries: Vec<(usize, Entry)> = Vec::with_capacity(table.len());
    for (key, value) in table {
        let start = order_of(value).min(key.span().start);
        entries.push((
            start,
            Entry {
                key: key.get_ref().to_string(),
                key_origin: place(key.span().start),
                node: node(value.get_ref(), place(value.span().start), place)?,
            },
        ));
    }
    entries.sort_by_key(|(start, _)| *start);
    Ok(Tree::Table(
        entries.into_iter().map(|(_, entry)| entry).collect(),
    ))
}

/// Return the offset of the first byte of a value, by which entries are sorted. For an array of tables, this
/// is the offset of its first element, because the parser reports that of the last one.
fn order_of(value: &Spanned<DeValue<'_>>) -> usize {
    match value.get_ref() {
        DeValue::Array(items) => items.iter().map(|item| item.span().start).min(),
        _ => None,
    }
    .unwrap_or(usize::MAX)
    .min(value.span().start)
}

/// Convert a value of the TOML parser to a tree. `place` converts an offset to an origin.
fn node(
    value: &DeValue<'_>,
    origin: Origin,
    place: &dyn Fn(usize) -> Origin,
) -> Result<Node, Problem> {
    let tree = match value {
        DeValue::String(text) => Tree::Text(text.to_string()),
        DeValue::Integer(integer) => {
            let parsed = i64::from_str_radix(integer.as_str(), integer.radix());
            Tree::Integer(parsed.map_err(|_| too_large(origin, &integer.to_string()))?)
        }
        DeValue::Float(float) => {
            let parsed = float.as_str().parse();
            Tree::Float(parsed.map_err(|_| too_large(origin, float.as_str()))?)
        }
        DeValue::Boolean(flag) => Tree::Flag(*flag),
        DeValue::Datetime(date) => Tree::Date(date.to_string()),
        DeValue::Array(items) => Tree::Array(
            items
                .iter()
                .map(|item| node(item.get_ref(), place(item.span().start), place))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => table_tree(table, place)?,
    };
    Ok(Node { tree, origin })
}

/// Return the error for a number that is too large.
fn too_large(origin: Origin, text: &str) -> Problem {
    Problem::new(
        "",
        origin,
        format!("the number {text} is too large"),
        "TOML integers end at 2^63 - 1",
    )
}
