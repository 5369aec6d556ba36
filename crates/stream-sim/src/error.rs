//! Why a machine or its work cannot be.

/// What is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}; {hint}")]
pub struct Error {
    /// The field, by its path in a scenario file.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub hint: String,
}

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
