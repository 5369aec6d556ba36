//! Errors in scenario files: the location, the problem and a hint for its solution.

use std::fmt;

/// Maximum number of characters of an override in an error message.
const OVERRIDE_MAX: usize = 120;

/// Maximum number of characters of each part of an error message.
const PART_MAX: usize = 1_000;

/// Location of an invalid value: in the scenario file or in an override.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A location in the scenario file.
    File {
        /// Name of the file, as passed by the caller.
        name: String,
        /// Line, from 1; `None` if the error concerns the file as a whole.
        line: Option<u32>,
        /// Column in characters, from 1; `None` if it is unknown.
        column: Option<u32>,
    },
    /// An override `key=value`.
    Override {
        /// The override as one line of text.
        text: String,
        /// Line within the value of the override, from 1, if the value has several lines.
        line: Option<u32>,
    },
}

/// Error in a scenario, which prevents its run.
///
/// `Display` gives one line:
/// `scenario.toml:12: machine.lanes.pe: 0 lanes carry nothing; give 1 or more`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// Location of the invalid value.
    pub place: Place,
    /// The dotted key of the field; empty if the file is not valid TOML.
    pub field: String,
    /// Description of the problem.
    pub problem: String,
    /// Hint for a correct value.
    pub hint: String,
}

impl ScenarioError {
    /// Return the name of the scenario file, or `None` if the error is in an override.
    pub fn file(&self) -> Option<&str> {
        match &self.place {
            Place::File { name, .. } => Some(name),
            Place::Override { .. } => None,
        }
    }

    /// Return the line in the scenario file, or in the value of an override with several lines, from 1.
    pub fn line(&self) -> Option<u32> {
        match self.place {
            Place::File { line, .. } | Place::Override { line, .. } => line,
        }
    }

    /// Return the column of the error in its line, in characters from 1; `None` if it is unknown.
    pub fn column(&self) -> Option<u32> {
        match self.place {
            Place::File { column, .. } => column,
            Place::Override { .. } => None,
        }
    }
}

impl fmt::Display for ScenarioError {
    /// Write the error as one line: location, field, problem and hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File { name, line, .. } => {
                f.write_str(name)?;
                if let Some(line) = line {
                    write!(f, ":{line}")?;
                }
            }
            Place::Override { text, line } => {
                write!(f, "override `{text}`")?;
                if let Some(line) = line {
                    write!(f, ", line {line}")?;
                }
            }
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

/// Origin of a value: an offset in the file, or the index of an override. Line numbers are computed only for
/// errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The origin is no particular location: the value is a default, or the error concerns the file as a
    /// whole.
    Whole,
    /// The value is in the file, at this byte offset.
    File(usize),
    /// The value is in the override at this position in the list of overrides.
    Override(usize),
}

/// An error in a scenario, before the name of the file and the line number are added.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The dotted key of the field.
    pub field: String,
    /// Origin of the field's value: a position in the file or in an override, or neither.
    pub origin: Origin,
    /// Line of the error within the value, from 1, if the value has several lines.
    pub line: Option<u32>,
    /// Description of the problem.
    pub problem: String,
    /// Hint for a correct value.
    pub hint: String,
}

impl Problem {
    /// Return a problem with the value of a field.
    pub fn new(
        field: impl Into<String>,
        origin: Origin,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            origin,
            line: None,
            problem: problem.into(),
            hint: hint.into(),
        }
    }

    /// Return the problem with another location: line `line` of the value, counted from 1.
    pub fn below(self, line: u32) -> Self {
        let line = Some(line);
        Self { line, ..self }
    }

    /// Return the same problem, but about the field `field`.
    pub(crate) fn of(self, field: impl Into<String>) -> Self {
        let field = field.into();
        Self { field, ..self }
    }
}

/// Return the text. If it is longer than `most` characters, cut it there and add an ellipsis.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The text of a file and its overrides, from which line and column of an error are computed.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Name of the file.
    pub(crate) file: String,
    /// Content of the file.
    pub(crate) text: String,
    /// The overrides, each `key=value`.
    pub(crate) overrides: Vec<String>,
}

impl Source {
    /// Convert a problem to an error with its location: file, line and column, or the override.
    pub(crate) fn error(&self, problem: Problem) -> ScenarioError {
        let in_file = |line, column| Place::File {
            name: self.file.clone(),
            line,
            column,
        };
        let place = match (problem.origin, problem.line) {
            (Origin::Whole, _) => in_file(None, None),
            (Origin::File(offset), None) => {
                let (line, column) = self.position(offset);
                in_file(Some(line), Some(column))
            }
            (Origin::File(offset), Some(line)) => {
                in_file(Some(self.line_of_text(offset, line)), None)
            }
            (Origin::Override(index), line) => {
                let text = self.overrides.get(index).map_or("", String::as_str);
                let line = line.filter(|&line| line > 1 || text.contains('\n'));
                let text = cut(text, OVERRIDE_MAX).replace(['\n', '\r'], " ");
                Place::Override { text, line }
            }
        };
        // Shorten long keys, labels and lists in the message; the function `shown` already shortens values.
        let [field, problem, hint] =
            [problem.field, problem.problem, problem.hint].map(|text| cut(&text, PART_MAX));
        ScenarioError {
            place,
            field,
            problem,
            hint,
        }
    }

    /// Return the line number in the file for line `line` of the text value at `offset`. A line break
    /// directly after triple quotation marks is not part of the text. A text in single quotation marks has
    /// one line.
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

    /// Return the line and the column, from 1, of a byte offset in the file.
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
