//! The one kind of error: what is wrong, where, and what would be right.

use crate::document::cut;
use std::fmt;

/// Most characters of an override that an error shows.
const OVERRIDE_MAX: usize = 120;

/// Most characters of each part of an error.
const PART_MAX: usize = 1_000;

/// Where a wrong value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In the scenario file.
    File {
        /// Name of the file as the caller gave it.
        name: String,
        /// Line, from 1; `None` if the error concerns the file as a whole.
        line: Option<u32>,
        /// Column in characters, from 1.
        column: Option<u32>,
    },
    /// In an override `key=value` given beside the file.
    Override {
        /// The override as given.
        text: String,
    },
}

/// Why a scenario cannot be run.
///
/// `Display` gives one line:
/// `scenario.toml:12: machine.lanes.pe: 0 lanes carry nothing; give 1 or more`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// Where the wrong value was written.
    pub place: Place,
    /// The field, dotted; empty if the text is not TOML at all.
    pub field: String,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub hint: String,
}

impl ScenarioError {
    /// Name of the scenario file, `None` if an override is at fault.
    pub fn file(&self) -> Option<&str> {
        match &self.place {
            Place::File { name, .. } => Some(name),
            Place::Override { .. } => None,
        }
    }

    /// Line of the scenario file, from 1.
    pub fn line(&self) -> Option<u32> {
        match self.place {
            Place::File { line, .. } => line,
            Place::Override { .. } => None,
        }
    }

    /// Column of that line in characters, from 1.
    pub fn column(&self) -> Option<u32> {
        match self.place {
            Place::File { column, .. } => column,
            Place::Override { .. } => None,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File { name, line, .. } => {
                f.write_str(name)?;
                if let Some(line) = line {
                    write!(f, ":{line}")?;
                }
            }
            Place::Override { text } => write!(f, "override `{text}`")?,
        }
        f.write_str(": ")?;
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.problem)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

/// Where a value came from, before names and line numbers are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere in particular: a default, or the file as a whole.
    Whole,
    /// Byte offset in the file.
    File(usize),
    /// A line, from 1, of the text of several lines that is written at this byte offset of the file.
    Line(usize, u32),
    /// Index of the override.
    Override(usize),
}

/// An error that does not yet know the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The field, dotted.
    pub field: String,
    /// Where its value came from.
    pub origin: Origin,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub hint: String,
}

impl Problem {
    /// A problem with a field.
    pub fn new(
        field: impl Into<String>,
        origin: Origin,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            origin,
            problem: problem.into(),
            hint: hint.into(),
        }
    }

    /// The same problem, on this line, from 1, of the text that is the value.
    pub fn below(mut self, line: u32) -> Self {
        if let Origin::File(offset) = self.origin {
            self.origin = Origin::Line(offset, line);
        }
        self
    }
}

/// The texts that errors point into.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) overrides: Vec<String>,
}

impl Source {
    /// The error with file, line and column, or the override, in place of the origin.
    pub(crate) fn error(&self, problem: Problem) -> ScenarioError {
        let place = match problem.origin {
            Origin::Whole => Place::File {
                name: self.file.clone(),
                line: None,
                column: None,
            },
            Origin::File(offset) => {
                let (line, column) = self.position(offset);
                Place::File {
                    name: self.file.clone(),
                    line: Some(line),
                    column: Some(column),
                }
            }
            Origin::Line(offset, line) => Place::File {
                name: self.file.clone(),
                line: Some(self.line_of_text(offset, line)),
                column: None,
            },
            Origin::Override(index) => Place::Override {
                text: self
                    .overrides
                    .get(index)
                    .map_or_else(String::new, |text| cut(text, OVERRIDE_MAX)),
            },
        };
        // Values are cut where they are shown; keys, labels and long lists come in many places.
        let [field, problem, hint] =
            [problem.field, problem.problem, problem.hint].map(|text| cut(&text, PART_MAX));
        ScenarioError {
            place,
            field,
            problem,
            hint,
        }
    }

    /// The line of a text that begins at `offset`: a line break behind the quotation marks is not part
    /// of it, and a text in single ones has one line.
    fn line_of_text(&self, offset: usize, line: u32) -> u32 {
        let (first, _) = self.position(offset);
        let text = self.text.get(offset..).unwrap_or_default();
        let mut quotes = ["\"\"\"", "'''"].into_iter();
        let Some(inside) = quotes.find_map(|quotes| text.strip_prefix(quotes)) else {
            return first;
        };
        let starts_below = inside.starts_with('\n') || inside.starts_with("\r\n");
        first + line - u32::from(!starts_below)
    }

    fn position(&self, offset: usize) -> (u32, u32) {
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        (
            u32::try_from(line).unwrap_or(u32::MAX),
            u32::try_from(column).unwrap_or(u32::MAX),
        )
    }
}
