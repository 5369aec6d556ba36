//! What a type of value is.

use crate::file::error::Problem;
use crate::file::tree::{Node, Tree};
use crate::value::amount::Amount;
use crate::value::described::{Described, Description};
use serde_json::Value as Json;
use std::fmt;

/// A type of value.
pub trait ValueType: Send + Sync {
    /// Its values in Rust.
    type Held: Description;

    /// What errors, the reference and editors say of it.
    fn describe(&self) -> TypeInfo;

    /// Reads a value.
    ///
    /// # Errors
    /// What is wrong with the value and what would be right; the error names no field.
    fn read(&self, node: &Node) -> Result<Self::Held, Problem>;

    /// The amount of a value that is a number, for the axes of a sweep.
    fn amount(&self, value: &Self::Held) -> Option<Amount> {
        Amount::of(value)
    }
}

/// What values of a type are read of.
impl Node {
    /// Something else where a value `of` this type is expected.
    pub fn wrong_type(&self, of: &impl ValueType) -> Problem {
        let TypeInfo {
            expected, example, ..
        } = of.describe();
        self.unexpected(expected, format!("write {example}"))
    }

    /// The text of a field that holds values `of` this type.
    ///
    /// # Errors
    /// Anything else.
    pub fn text(&self, of: &impl ValueType) -> Result<&str, Problem> {
        match &self.tree {
            Tree::Text(text) => Ok(text),
            _ => Err(self.wrong_type(of)),
        }
    }

    /// The items of a field that holds values `of` this type.
    ///
    /// # Errors
    /// Anything else.
    pub fn items(&self, of: &impl ValueType) -> Result<&[Self], Problem> {
        match &self.tree {
            Tree::Array(items) => Ok(items),
            _ => Err(self.wrong_type(of)),
        }
    }
}

/// What errors, the reference and editors say of a type of value.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeInfo {
    /// What the file must hold, for "... is expected".
    pub expected: &'static str,
    /// A value as it would be written in the file.
    pub example: String,
    /// The possible values in words.
    pub range: String,
    /// The schema of a value.
    pub json: Json,
    /// The units that may be written; empty where there are none.
    pub units: &'static str,
    /// The words that are possible, if it is a word.
    pub words: &'static [&'static str],
    /// Whether it is text, so that an override may leave out the quotation marks.
    pub is_text: bool,
    /// Words that may stand for several values of an axis.
    pub axis_words: &'static [&'static str],
}

impl TypeInfo {
    /// What there is to say of any type.
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

    /// The units that may be written.
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
    /// The value, if it is of this type.
    pub fn as_<T: Description>(&self) -> Option<&T> {
        self.held.as_()
    }
}

/// A [`ValueType`], whatever its values are in Rust.
pub trait AnyType: Send + Sync {
    /// See [`ValueType::describe`].
    fn info(&self) -> TypeInfo;

    /// See [`ValueType::read`].
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
    /// Equal if the same is said of both.
    fn eq(&self, other: &Self) -> bool {
        self.info() == other.info()
    }
}
