//! Traits that define a type of field values: how a value is parsed and described.

use crate::file::error::Problem;
use crate::file::tree::{Node, Tree};
use crate::value::amount::Amount;
use crate::value::described::{Described, Description};
use serde_json::Value as Json;
use std::fmt;

/// A type of values that a field of the scenario file may have, with the description of the type and its
/// parser.
pub trait ValueType: Send + Sync {
    /// Rust type of the parsed values.
    type Held: Description;

    /// Return the description of the type for errors, the reference and editors.
    fn describe(&self) -> TypeInfo;

    /// Parse a value of this type.
    ///
    /// # Errors
    /// If the value is invalid. The error has a problem and a hint, but does not name a field.
    fn read(&self, node: &Node) -> Result<Self::Held, Problem>;

    /// Return a value as a number with a dimension, for the axes of a sweep; `None` if it is not a number.
    fn amount(&self, value: &Self::Held) -> Option<Amount> {
        Amount::of(value)
    }
}

/// Methods of TOML values for the parsers of field values.
impl Node {
    /// Return the problem that a value of type `of` is expected instead of this value.
    pub fn wrong_type(&self, of: &impl ValueType) -> Problem {
        let TypeInfo {
            expected, example, ..
        } = of.describe();
        self.unexpected(expected, format!("write {example}"))
    }

    /// Return the text of this value, for a field of type `of`.
    ///
    /// # Errors
    /// If the value is not a text.
    pub fn text(&self, of: &impl ValueType) -> Result<&str, Problem> {
        match &self.tree {
            Tree::Text(text) => Ok(text),
            _ => Err(self.wrong_type(of)),
        }
    }

    /// Return the items of this list, for a field of type `of`.
    ///
    /// # Errors
    /// If the value is not a list.
    pub fn items(&self, of: &impl ValueType) -> Result<&[Self], Problem> {
        match &self.tree {
            Tree::Array(items) => Ok(items),
            _ => Err(self.wrong_type(of)),
        }
    }
}

/// Description of a type of values for errors, the reference and editors.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeInfo {
    /// Name of the type in error messages, such as "a whole number" in "a whole number is expected".
    pub expected: &'static str,
    /// Example value, as written in a file.
    pub example: String,
    /// Description of the valid values, in words.
    pub range: String,
    /// JSON Schema of the values.
    pub json: Json,
    /// Valid units, in words; empty if values have no unit.
    pub units: &'static str,
    /// Valid words, if the values are words of a fixed list; else empty.
    pub words: &'static [&'static str],
    /// Whether values are text, so that an override may omit the quotation marks.
    pub is_text: bool,
    /// Words that a sweep's axis over a field of this type may have instead of a list of values. Each word stands for
    /// several values.
    pub axis_words: &'static [&'static str],
}

impl TypeInfo {
    /// Create the description of a type, with the entries that every type must have.
    pub fn new(
        expected: &'static str,
        example: impl Into<String>,
        range: impl Into<String>,
        json: Json,
    ) -> Self {
        Self {
            expected,
            example: example.into(),
            range: range.into(),
            json,
            units: "",
            words: &[],
            is_text: false,
            axis_words: &[],
        }
    }

    /// Set the text that lists the valid units.
    pub fn units(self, units: &'static str) -> Self {
        Self { units, ..self }
    }
}

/// A field value of any type.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The value, with its Rust type erased.
    held: Described,
    /// The value as a number with a dimension; `None` if it is not a number.
    pub(crate) amount: Option<Amount>,
}

impl Value {
    /// Downcast the value to the Rust type `T`; return `None` if it has another type.
    pub fn as_<T: Description>(&self) -> Option<&T> {
        self.held.as_()
    }
}

/// A type of scenario values, independent of the Rust type: a [`ValueType`] with its Rust type erased.
pub trait AnyType: Send + Sync {
    /// Return the description of the type, as [`ValueType::describe`] does.
    fn info(&self) -> TypeInfo;

    /// Parse a value of the type, as [`ValueType::read`] does, and erase its Rust type.
    ///
    /// # Errors
    /// See [`ValueType::read`].
    fn value(&self, node: &Node) -> Result<Value, Problem>;
}

impl<T: ValueType> AnyType for T {
    /// Return the description of the type.
    fn info(&self) -> TypeInfo {
        self.describe()
    }

    /// Parse a value of the type, and erase its Rust type.
    fn value(&self, node: &Node) -> Result<Value, Problem> {
        let held = self.read(node)?;
        Ok(Value {
            amount: self.amount(&held),
            held: Described::new(held),
        })
    }
}

impl fmt::Debug for dyn AnyType {
    /// Write the name of the type, such as "a whole number".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().expected)
    }
}

impl PartialEq for dyn AnyType {
    /// Return whether the descriptions of the types are equal.
    fn eq(&self, other: &Self) -> bool {
        self.info() == other.info()
    }
}
