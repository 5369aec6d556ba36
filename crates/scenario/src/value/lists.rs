//! Types of fields whose values are lists of nodes, links, percentiles, measures or names; and the parser of
//! the dimensions of grids.

use super::json;
use super::numbers::{Number, float};
use super::value_type::{TypeInfo, ValueType};
use super::words::{Text, alternatives};
use crate::file::error::Problem;
use crate::file::tree::{Node, Tree, shown};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

/// Words that a sweep over sets of jobs may contain instead of a list of names. Each stands for several sets.
pub const SET_WORDS: &[&str] = &["alone", "pairs"];

/// Type of fields whose value is a list of distinct node numbers.
pub struct Nodes;

impl ValueType for Nodes {
    /// Rust type of the parsed value: the node numbers.
    type Held = Vec<u32>;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let json = json::list(&json::node(), 0);
        let expected = "a list of node numbers";
        TypeInfo::new(expected, "[0, 7]", "node numbers, none twice", json)
    }

    /// Parse a list of distinct node numbers.
    fn read(&self, node: &Node) -> Result<Vec<u32>, Problem> {
        distinct(node.items(self)?, node_number, |&node| node, u32::to_string)
    }
}

/// Type of fields whose value is a list of distinct links, each a pair of node numbers.
pub struct Links {
    /// Whether [0, 1] and [1, 0] are two different links.
    pub directed: bool,
}

impl ValueType for Links {
    /// Rust type of the parsed value: the links, as pairs of node numbers.
    type Held = Vec<(u32, u32)>;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let range = match self.directed {
            false => "pairs of neighbouring nodes, none twice",
            true => "pairs of a node and the next on one of its rings, none twice",
        };
        let pair = json!({"type": "array", "items": json::node(), "minItems": 2, "maxItems": 2});
        let expected = "a list of pairs of node numbers";
        TypeInfo::new(expected, "[[0, 1], [4, 6]]", range, json::list(&pair, 0))
    }

    /// Parse a list of distinct links, each a pair of node numbers.
    fn read(&self, node: &Node) -> Result<Vec<(u32, u32)>, Problem> {
        let link = |item: &Node| match &item.tree {
            Tree::Array(ends) if ends.len() == 2 => {
                Ok((node_number(&ends[0])?, node_number(&ends[1])?))
            }
            _ => Err(item.unexpected("a link", "write a link as its two ends, [0, 1]")),
        };
        let key = |&(from, to): &(u32, u32)| match self.directed {
            true => (from, to),
            false => (from.min(to), from.max(to)),
        };
        let words = |(from, to): &(u32, u32)| format!("[{from}, {to}]");
        distinct(node.items(self)?, link, key, words)
    }
}

/// Type of fields whose value is a list of distinct percentiles, each between 0 and 100.
pub struct Percentiles;

impl ValueType for Percentiles {
    /// Rust type of the parsed value: the percentiles.
    type Held = Vec<f64>;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let one = json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100});
        let range = "between 0 and 100, both excluded; none twice";
        let json = json::list(&one, 0);
        TypeInfo::new("a list of percentiles", "[50, 90, 99]", range, json).units("%")
    }

    /// Parse a list of distinct percentiles.
    fn read(&self, node: &Node) -> Result<Vec<f64>, Problem> {
        let (min, max) = (0.0, 100.0);
        let percentile = |item: &Node| {
            let percentile = float(item, &Number { min, max })?;
            if percentile > min && percentile < max {
                return Ok(percentile);
            }
            let problem = format!("{percentile} is no percentile");
            Err(item.problem(problem, "give numbers between 0 and 100"))
        };
        // Find equal percentiles by their bits, because floating-point numbers do not implement `Ord`. Positive
        // numbers have the same order as their bits.
        let bits = |percentile: &f64| percentile.to_bits();
        distinct(node.items(self)?, percentile, bits, f64::to_string)
    }
}

/// Type of fields whose value is a list of distinct names of measures.
pub struct Measures {
    /// Example of a list of measures, as written in a file.
    pub example: &'static str,
    /// Whether each measure may begin with the name of a job and a dot, such as `io.response`.
    pub named: bool,
}

impl ValueType for Measures {
    /// Rust type of the parsed value: the names of the measures.
    type Held = Vec<String>;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let first = if self.named { json::NAME } else { "[a-z0-9_]+" };
        let json = json::list(&json::text(&format!(r"{first}(\.[a-z0-9_]+)*")), 0);
        let range = "names of measures, none twice";
        TypeInfo::new("a list of measures", self.example, range, json)
    }

    /// Parse a list of names of measures without repetition.
    fn read(&self, node: &Node) -> Result<Vec<String>, Problem> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let part = |part: &str| !part.is_empty() && part.chars().all(good);
        let of_table = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let measure = |item: &Node| {
            let name = item.text(&Text { max: usize::MAX })?;
            let right = match name.split_once('.') {
                Some((table, rest)) if self.named => {
                    !table.is_empty() && table.chars().all(of_table) && rest.split('.').all(part)
                }
                _ => name.split('.').all(part),
            };
            if right {
                return Ok(name.to_owned());
            }
            let problem = format!("{} is not the name of a measure", shown(name));
            let hint = format!("write it as {}", self.example.trim_matches(['[', ']']));
            Err(item.problem(problem, hint))
        };
        distinct(node.items(self)?, measure, String::clone, String::clone)
    }
}

/// Type of scenario fields whose value is a list of names of jobs, without repetition. A sweep over such a field
/// may be the word `alone`, for each job alone, or `pairs`, for each pair of jobs too; both end with all jobs.
pub struct NameSet;

impl ValueType for NameSet {
    /// Rust type of the parsed value: the names.
    type Held = Vec<String>;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let words = alternatives(SET_WORDS);
        let range = format!("names of jobs, none twice; as an axis also {words}");
        let json = json::list(&json::text(json::NAME), 1);
        TypeInfo {
            axis_words: SET_WORDS,
            ..TypeInfo::new("a list of names", "[\"io\"]", range, json)
        }
    }

    /// Parse a list of names of jobs without repetition.
    fn read(&self, node: &Node) -> Result<Vec<String>, Problem> {
        let name = |item: &Node| match &item.tree {
            Tree::Text(name) => Ok(name.clone()),
            _ => Err(item.unexpected("a name", "give names of jobs")),
        };
        let names = distinct(node.items(self)?, name, String::clone, |name| shown(name))?;
        match names.is_empty() {
            true => Err(node.problem("no job at all", "name one or more")),
            false => Ok(names),
        }
    }
}

/// Parse the items of a list by `read`. Return an error if two items have the same `key`. `words` returns the
/// text of an item for this error.
fn distinct<T, K: Ord>(
    items: &[Node],
    read: impl Fn(&Node) -> Result<T, Problem>,
    key: impl Fn(&T) -> K,
    words: impl Fn(&T) -> String,
) -> Result<Vec<T>, Problem> {
    let mut seen = BTreeSet::new();
    let item = |item| {
        let value = read(item)?;
        match seen.insert(key(&value)) {
            true => Ok(value),
            false => Err(twice(item, words(&value))),
        }
    };
    items.iter().map(item).collect()
}

/// Create the error for a list that contains the same item twice. `what` describes the item.
pub fn twice(item: &Node, what: impl Display) -> Problem {
    item.problem(format!("{what} is listed twice"), "list it once")
}

/// Parse the number of a node.
///
/// # Errors
/// If the value is not a valid node number.
pub fn node_number(node: &Node) -> Result<u32, Problem> {
    let Tree::Integer(n) = node.tree else {
        return Err(node.unexpected("a node number", "give whole numbers, 0 or more"));
    };
    u32::try_from(n).map_err(|_| {
        let right = match n {
            ..0 => "give 0 or more".to_owned(),
            _ => format!("give at most {}", u32::MAX),
        };
        node.problem(format!("{n} is no node number"), right)
    })
}

/// Parse the dimensions of a grid, written as `8`, `"8"` or `"4x4x4"`, for a field of type `of`.
///
/// # Errors
/// If the value is malformed. The text `no` is the problem, such as "not a grid".
pub fn dimensions<T: FromStr + TryFrom<i64>>(
    node: &Node,
    of: &impl ValueType,
    no: &str,
    hint: &str,
) -> Result<Vec<T>, Problem> {
    let malformed = |text: &str| node.problem(format!("{} is {no}", shown(text)), hint);
    match &node.tree {
        Tree::Integer(n) => match T::try_from(*n) {
            Ok(size) => Ok(vec![size]),
            Err(_) => Err(malformed(&n.to_string())),
        },
        Tree::Text(text) => {
            let sizes = text.split('x').map(|part| part.trim().parse());
            let sizes: Result<_, _> = sizes.collect();
            sizes.map_err(|_| malformed(text))
        }
        _ => Err(node.wrong_type(of)),
    }
}
