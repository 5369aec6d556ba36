//! Traits of the types of field values.

use crate::file::error::Problem;
use crate::file::tree::{Node, Tree};
use crate::value::amount::Amount;
use crate::value::described::{Described, Description};
use serde_json::Value as Json;
use std::fmt;

/// A type of field values.
pub trait ValueType: Send + Sync {
    /// Rust type of its values.
    type Held: Description;

    /// Return the description for errors, the reference and editors.
    fn describe(&self) -> TypeInfo;

    /// Read a value.
    ///
    /// # Errors
    /// If the value is invalid. The error has problem and hint, but no field.
    fn read(&self, node: &Node) -> Result<Self::Held, Problem>;

    /// Return the amount of a value that is a number, for the axes of a sweep.
    fn amount(&self, value: &Self::Held) -> Option<Amount> {
        Amount::of(value)
    }
}

/// Helpers for the readers of values.
impl Node {
    /// Return the problem that a value of type `of` is expected instead of this value.
    pub fn wrong_type(&self, of: &impl ValueType) -> Problem {
        let TypeInfo {
            expected, example, ..
        } = of.describe();
        self.unexpected(expected, format!("write {example}"))
    }

    /// Return the text, for a field of type `of`.
    ///
    /// # Errors
    /// If the value is not a text.
    pub fn text(&self, of: &impl ValueType) -> Result<&str, Problem> {
        match &self.tree {
            Tree::Text(text) => Ok(text),
            _ => Err(self.wrong_type(of)),
        }
    }

    /// Return the items of a list, for a field of type `of`.
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
    /// Name of the type, for "... is expected".
    pub expected: &'static str,
    /// Example value, as written in a file.
    pub example: String,
    /// The possible values in words.
    pub range: String,
    /// JSON Schema of a value.
    pub json: Json,
    /// Valid units; empty without units.
    pub units: &'static str,
    /// Valid words, if the type is a choice of words.
    pub words: &'static [&'static str],
    /// Whether values are text, so that an override may omit the quotation marks.
    pub is_text: bool,
    /// Words that denote several values of an axis.
    pub axis_words: &'static [&'static str],
}

impl TypeInfo {
    /// Return a description with the entries that every type has.
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

    /// Set the valid units.
    pub fn units(self, units: &'static str) -> Self {
        Self { units, ..self }
    }
}

/// A value of any type.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    held: Described,
    pub(crate) amount: Option<Amount>,
}

impl Value {
    /// Return the value if it has type `T`.
    pub fn as_<T: Description>(&self) -> Option<&T> {
        self.held.as_()
    }
}

/// A [`ValueType`] with erased Rust type.
pub trait AnyType: Send + Sync {
    /// Forward to [`ValueType::describe`].
    fn info(&self) -> TypeInfo;

    /// Forward to [`ValueType::read`].
    ///
    /// # Errors
    /// See [`ValueType::read`].
    fn value(&self, node: &Node) -> Result<Value, Problem>;
}

impl<T: ValueType> AnyType for T {
    fn info(&self) -> TypeInfo {
        self.describe()
    }

    fn value(&self, node: &Node) -> Result<Value, Problem> {
        let held = self.read(node)?;
        Ok(Value {
            amount: self.amount(&held),
            held: Described::new(held),
        })
    }
}

impl fmt::Debug for dyn AnyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().expected)
    }
}

impl PartialEq for dyn AnyType {
    /// Return whether the descriptions are equal.
    fn eq(&self, other: &Self) -> bool {
        self.info() == other.info()
    }
}
