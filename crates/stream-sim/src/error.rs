//! Errors in the description of a machine or of its workload.

/// An error in one field of a machine or its work, with a hint for the correction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}; {hint}")]
pub struct Error {
    /// The field, by its path in a scenario file.
    pub field: &'static str,
    /// Description of the invalid value.
    pub problem: String,
    /// Advice on a valid value of the field.
    pub hint: String,
}

impl Error {
    /// Create an error in this field.
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
