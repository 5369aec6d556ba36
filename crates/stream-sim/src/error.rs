//! Why a machine or its work cannot be.

use std::fmt;

/// What is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The field, by its path in a scenario file.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub hint: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.field, self.problem, self.hint)
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(crate) fn new(
        field: &'static str,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            field,
            problem: problem.into(),
            hint: hint.into(),
        }
    }
}
