//! Types of fields whose values are whole numbers, finite numbers or shares.

use super::described::Description;
use super::value_type::{TypeInfo, ValueType};
use crate::file::error::Problem;
use crate::file::tree::{Node, Tree, shown};
use serde_json::json;
use std::fmt::Display;
use std::marker::PhantomData;

/// Type of fields whose value is a whole number, stored as a `T` in Rust.
pub struct Whole<T = u64> {
    /// Minimum valid value.
    min: u64,
    /// Maximum valid value.
    max: u64,
    /// Name of the type in error messages, such as "a whole number".
    expected: &'static str,
    held: PhantomData<T>,
}

impl<T> Whole<T> {
    /// Type of fields whose value is any whole number that is not negative.
    pub const COUNT: Self = Self::new(0, i64::MAX as u64);

    /// Create the type of fields whose values are whole numbers from `min` to `max`.
    pub const fn new(min: u64, max: u64) -> Self {
        Self {
            min,
            max,
            expected: "a whole number",
            held: PhantomData,
        }
    }

    /// Set the name of the type for error messages, which end in "is expected".
    pub const fn called(self, expected: &'static str) -> Self {
        Self { expected, ..self }
    }

    /// Return the range of valid numbers as text for the reference.
    fn range(&self) -> String {
        match self.max >= i64::MAX as u64 {
            true => format!("{} or more", self.min),
            false => format!("{} to {}", self.min, self.max),
        }
    }
}

impl<T> ValueType for Whole<T>
where
    T: Description + TryFrom<u64>,
{
    /// Rust type of the parsed value: an integer type.
    type Held = T;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let (min, max) = (self.min, self.max);
        let json = json!({"type": "integer", "minimum": min, "maximum": max});
        TypeInfo::new(self.expected, min.max(1).to_string(), self.range(), json)
    }

    /// Parse a whole number, and check its range.
    fn read(&self, node: &Node) -> Result<T, Problem> {
        let Tree::Integer(number) = node.tree else {
            let hint = node.unquoted_number();
            let hint = hint.unwrap_or_else(|| format!("write a whole number, {}", self.range()));
            return Err(node.unexpected(self.expected, hint));
        };
        let within = u64::try_from(number).ok();
        let within = within.filter(|number| (self.min..=self.max).contains(number));
        let held = within.and_then(|number| T::try_from(number).ok());
        held.ok_or_else(|| out_of_range(node, number, &self.range()))
    }
}

/// Type of fields whose value is a finite number.
pub struct Number {
    /// Minimum valid value.
    pub min: f64,
    /// Maximum valid value.
    pub max: f64,
}

impl ValueType for Number {
    /// Rust type of the parsed value: the number.
    type Held = f64;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let (min, max) = (self.min, self.max);
        let range = match max == f64::MAX {
            true => format!("{min} or more"),
            false => format!("{min} to {max}"),
        };
        let json = json!({"type": "number", "minimum": min, "maximum": max});
        TypeInfo::new("a number", "1.5", range, json)
    }

    /// Parse a finite number, and check its range.
    fn read(&self, node: &Node) -> Result<f64, Problem> {
        let number = float(node, self)?;
        match (self.min..=self.max).contains(&number) {
            true => Ok(number),
            false => Err(out_of_range(node, number, &self.describe().range)),
        }
    }
}

/// Type of fields whose value is a share from 0 to 1, or a percentage as text. Both ends are valid unless
/// excluded.
pub struct Share {
    /// Whether the value 0 is invalid.
    pub above_zero: bool,
    /// Whether the value 1 is invalid.
    pub below_one: bool,
}

impl Share {
    /// Type of fields whose value is a share from 0 to 1, ends included.
    pub const ANY: Self = Self {
        above_zero: false,
        below_one: false,
    };

    /// Type of fields whose value is a share between 0 and 1, ends excluded.
    pub const INSIDE: Self = Self {
        above_zero: true,
        below_one: true,
    };
}

impl ValueType for Share {
    /// Rust type of the parsed value: the share, from 0 to 1.
    type Held = f64;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let range = match (self.above_zero, self.below_one) {
            (false, false) => "0 to 1",
            (true, false) => "above 0, to 1",
            (false, true) => "0 to below 1",
            (true, true) => "between 0 and 1, both excluded",
        };
        let minimum = ["minimum", "exclusiveMinimum"][usize::from(self.above_zero)];
        let maximum = ["maximum", "exclusiveMaximum"][usize::from(self.below_one)];
        let json = json!({"anyOf": [
            {"type": "number", minimum: 0, maximum: 1},
            super::json::text(r"\s*(\d+\.?\d*|\.\d+)\s*%\s*"),
        ]});
        TypeInfo::new("a share", "0.05 or \"5%\"", range, json).units("none, or % in text")
    }

    /// Parse a share, as a number or as a percentage such as `"5%"`.
    fn read(&self, node: &Node) -> Result<f64, Problem> {
        let share = match &node.tree {
            Tree::Text(text) => percentage(text).ok_or_else(|| {
                let problem = format!("{} is not a percentage", shown(text));
                let hint = match text.trim().parse::<f64>() {
                    Ok(_) => format!("write {}, without quotation marks", text.trim()),
                    Err(_) => "write a share as 0.05 or \"5%\"".to_owned(),
                };
                node.problem(problem, hint)
            })?,
            _ => float(node, self)?,
        };
        let too_large = share > 1.0 || self.below_one && share == 1.0;
        let too_small = share < 0.0 || self.above_zero && share == 0.0;
        if !too_large && !too_small {
            return Ok(share);
        }
        let written = match &node.tree {
            Tree::Text(text) => text.trim().to_owned(),
            _ => share.to_string(),
        };
        let side = if too_large { "too large" } else { "too small" };
        let problem = format!("{written} is {side} for a share");
        Err(node.problem(problem, format!("give {}", self.describe().range)))
    }
}

/// Parse a finite number, for a field of type `of`.
pub(super) fn float(node: &Node, of: &impl ValueType) -> Result<f64, Problem> {
    let number = match node.tree {
        Tree::Integer(n) => n as f64,
        Tree::Float(x) => x,
        _ => return Err(node.wrong_type(of)),
    };
    if number.is_finite() {
        return Ok(number);
    }
    let problem = format!("{number} is not a finite number");
    Err(node.problem(problem, "give a finite number"))
}

/// Return the error that a value is outside of its range.
pub(super) fn out_of_range(node: &Node, value: impl Display, range: &str) -> Problem {
    node.problem(format!("{value} is out of range"), format!("give {range}"))
}

/// Parse a percentage such as `5%` and return it as a share. The result is exactly that of parsing `0.05`.
fn percentage(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    if !number.chars().all(digits) {
        return None;
    }
    format!("{number}e-2").parse().ok()
}
