//! Errors for invalid inputs of formulas and models.

/// An error: the caller passed an input for which no formula is valid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A number is outside its range.
    #[error("{field} is {value}; it must be {expected}")]
    OutOfRange {
        /// Name of the input.
        field: &'static str,
        /// Value that the caller passed.
        value: f64,
        /// Permitted values of the input.
        expected: &'static str,
    },
    /// A list has the wrong length.
    #[error("{field} has {found} entries; {expected} are needed, one per dimension")]
    Length {
        /// Name of the input.
        field: &'static str,
        /// Number of entries of the list that the caller passed.
        found: usize,
        /// Number of entries needed.
        expected: usize,
    },
    /// Numbers that are each valid contradict one another.
    #[error("{0}")]
    Contradiction(&'static str),
}

/// Return `value` if it is finite and `holds` is true, else [`Error::OutOfRange`].
pub(crate) fn check(
    field: &'static str,
    value: f64,
    expected: &'static str,
    holds: bool,
) -> Result<f64, Error> {
    if value.is_finite() && holds {
        Ok(value)
    } else {
        Err(Error::OutOfRange {
            field,
            value,
            expected,
        })
    }
}

/// Return `value` if it is a probability, else [`Error::OutOfRange`].
pub(crate) fn check_probability(field: &'static str, value: f64) -> Result<f64, Error> {
    check(
        field,
        value,
        "a probability, 0 to 1",
        (0.0..=1.0).contains(&value),
    )
}

/// Return `value` if it is finite and not negative, else [`Error::OutOfRange`].
pub(crate) fn check_not_negative(field: &'static str, value: f64) -> Result<f64, Error> {
    check(field, value, "finite and not negative", value >= 0.0)
}
