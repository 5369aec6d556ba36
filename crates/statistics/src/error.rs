//! Errors in the computation of statistics.

/// Reason why a statistic has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data are fewer than the statistic needs.
    #[error("{what}: {got} given, at least {needed} needed")]
    TooFew {
        /// Name of the data of which there are too few.
        what: &'static str,
        /// Number of data passed to the function.
        got: usize,
        /// Minimum number of data that the statistic needs.
        needed: usize,
    },
    /// The data contain a NaN or an infinity.
    #[error("{what}: value number {index} is {value}, all must be finite")]
    NotFinite {
        /// Kind of the values, such as "samples of an interval".
        what: &'static str,
        /// Position of the first such value, counted from 0.
        index: usize,
        /// The first value that is not finite.
        value: f64,
    },
    /// A parameter is outside of its domain.
    #[error("{what} is {value}, it must be {wanted}")]
    OutOfRange {
        /// Name of the parameter.
        what: &'static str,
        /// Value of the parameter.
        value: f64,
        /// Permitted values of the parameter, in words.
        wanted: &'static str,
    },
    /// A replication has no observations after its warm-up.
    #[error(
        "replication {replication}: nothing is left after a warm-up of {discarded} observations out of {observations}; lengthen the run or shorten the warm-up"
    )]
    NothingAfterWarmUp {
        /// Index of the replication with this error, from 0.
        replication: usize,
        /// Number of observations that the warm-up rule discards.
        discarded: u64,
        /// Number of observations in the replication.
        observations: u64,
    },
    /// The warm-up rule needs a mark at the end of the warm-up, but the caller never set one.
    #[error("replication {replication}: the end of its warm-up was never marked")]
    NotMarked {
        /// Index of the replication with this error, from 0.
        replication: usize,
    },
}

/// Return an error if `got`, the number of data called `what`, is below `needed`.
pub(crate) fn at_least(needed: usize, what: &'static str, got: usize) -> Result<(), Error> {
    if got < needed {
        return Err(Error::TooFew { what, got, needed });
    }
    Ok(())
}

/// Return an error if a value is NaN or infinite. `what` names the values.
pub(crate) fn all_finite(what: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Error::NotFinite {
            what,
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

/// Check that the parameter called `what` is strictly between 0 and 1; otherwise return an error.
pub(crate) fn open_unit(what: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(Error::OutOfRange {
            what,
            value,
            wanted: "strictly between 0 and 1",
        })
    }
}
