//! What can be wrong with the numbers handed in.

/// An input that no formula can answer for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A number outside its range.
    #[error("{field} is {value}; it must be {expected}")]
    OutOfRange {
        /// Which input.
        field: &'static str,
        /// What was given.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// A list of the wrong length.
    #[error("{field} has {found} entries; {expected} are needed, one per dimension")]
    Length {
        /// Which input.
        field: &'static str,
        /// Entries given.
        found: usize,
        /// Entries needed.
        expected: usize,
    },
    /// Numbers that are each possible but not together.
    #[error("{0}")]
    Contradiction(&'static str),
}

/// `value` if it is finite and `holds`, else [`Error::OutOfRange`].
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

/// `value` if it is a probability.
pub(crate) fn check_probability(field: &'static str, value: f64) -> Result<f64, Error> {
    check(
        field,
        value,
        "a probability, 0 to 1",
        (0.0..=1.0).contains(&value),
    )
}

/// `value` if it is finite and not negative.
pub(crate) fn check_not_negative(field: &'static str, value: f64) -> Result<f64, Error> {
    check(field, value, "finite and not negative", value >= 0.0)
}
