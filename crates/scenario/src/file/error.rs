//! The one kind of error: what is wrong, where, and what would be right.

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
        /// The override as given, in one line.
        text: String,
        /// Line of its value, from 1, where that has several.
        line: Option<u32>,
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

    /// Line of the scenario file, from 1; of the value of an override that has several.
    pub fn line(&self) -> Option<u32> {
        match self.place {
            Place::File { line, .. } | Place::Override { line, .. } => line,
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

/// Where a value came from, before names and line numbers are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere in particular: a default, or the file as a whole.
    Whole,
    /// Byte offset in the file.
    File(usize),
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
    /// The line, from 1, of the text that is the value, where it has several.
    pub line: Option<u32>,
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
            line: None,
            problem: problem.into(),
            hint: hint.into(),
        }
    }

    /// The same problem, on this line, from 1, of the text that is the value.
    pub fn below(self, line: u32) -> Self {
        let line = Some(line);
        Self { line, ..self }
    }

    /// The same problem with another field.
    pub(crate) fn of(self, field: impl Into<String>) -> Self {
        let field = field.into();
        Self { field, ..self }
    }
}

/// The text, or its first `most` characters and an ellipsis.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
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
