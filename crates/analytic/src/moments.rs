//! The first three moments of a positive quantity such as a message length.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::check_not_negative;

/// Raw moments E\[X\], E\[X^2\], E\[X^3\] of a quantity that is never negative.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// E\[X\]: the mean.
    pub mean: f64,
    /// E\[X^2\]: the second moment.
    pub second: f64,
    /// E\[X^3\]: the third moment.
    pub third: f64,
}

impl Moments {
    /// The moments of a quantity that is always zero.
    pub const ZERO: Self = Self::fixed(0.0);

    /// The moments of a quantity that is always infinite.
    pub(crate) const NEVER: Self = Self {
        mean: f64::INFINITY,
        second: f64::INFINITY,
        third: f64::INFINITY,
    };

    /// Return the moments of a constant.
    pub const fn fixed(value: f64) -> Self {
        Self {
            mean: value,
            second: value * value,
            third: value * value * value,
        }
    }

    /// Return the sum of the moments, each multiplied by its `weight / total`.
    pub(crate) fn weighted(parts: impl IntoIterator<Item = (f64, Self)>, total: f64) -> Self {
        let mut sum = Self::ZERO;
        for (weight, part) in parts {
            // Skip parts of weight zero: their value may be infinite, and zero times infinity is NaN.
            if weight > 0.0 {
                sum.mean += weight * part.mean;
                sum.second += weight * part.second;
                sum.third += weight * part.third;
            }
        }
        sum.map(|moment| moment / total)
    }

    /// Apply the function `of` to each moment.
    pub(crate) fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self {
            mean: of(self.mean),
            second: of(self.second),
            third: of(self.third),
        }
    }

    /// Return the moments of the length of `count` blocks of `unit` flits, with `count` uniform on `min..=max`.
    ///
    /// # Errors
    /// `min` above `max`, or a `unit` that is negative or not finite.
    pub fn uniform_count(min: u32, max: u32, unit: f64) -> Result<Self, Error> {
        check_not_negative("block length", unit)?;
        if min > max {
            return Err(Error::Contradiction(
                "the smallest count of blocks is above the largest",
            ));
        }
        check_not_negative("length of the most blocks", f64::from(max) * unit)?;
        let values = (min..=max).map(|count| (1.0, Self::fixed(f64::from(count) * unit)));
        Ok(Self::weighted(values, f64::from(max - min) + 1.0))
    }

    /// Return the moments of a quantity uniform between zero and `width`: E\[X^n\] = width^n / (n + 1).
    pub fn uniform_below(width: f64) -> Self {
        Self {
            mean: width / 2.0,
            second: width.powi(2) / 3.0,
            third: width.powi(3) / 4.0,
        }
    }

    /// Return the variance E\[X^2\] - E\[X\]^2, never below zero.
    pub fn variance(&self) -> f64 {
        (self.second - self.mean * self.mean).max(0.0)
    }

    /// Return the moments of a mixture of constants, passed as `(weight, value)`, whose weights add up to `total`.
    #[cfg(test)]
    pub(crate) fn mixture(parts: &[(f64, f64)], total: f64) -> Self {
        let parts = parts.iter();
        Self::weighted(
            parts.map(|&(weight, value)| (weight, Self::fixed(value))),
            total,
        )
    }

    /// Return the third central moment.
    #[cfg(test)]
    pub(crate) fn third_central(&self) -> f64 {
        self.third - 3.0 * self.mean * self.second + 2.0 * self.mean.powi(3)
    }

    /// Return the squared coefficient of variation C^2 = variance / mean^2 (section 6 of the hypercube paper), or zero
    /// for a mean of zero.
    pub fn scv(&self) -> f64 {
        ratio(self.variance(), self.mean * self.mean)
    }

    /// Return the moments if the quantity is nonzero `factor` times as often: all moments multiplied by the factor.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        self.map(|moment| factor * moment)
    }

    /// Return the moments of a quantity that is nonzero with probability `share` and has these first two moments
    /// overall. The third moment is that of a gamma distribution fitted to the nonzero values.
    pub(crate) fn with_probability(share: f64, mean: f64, second: f64) -> Self {
        if mean <= 0.0 {
            return Self::ZERO;
        }
        let share = share.clamp(1e-12, 1.0);
        let conditional = mean / share;
        let second = (second / share).max(conditional * conditional);
        let scv = second / (conditional * conditional) - 1.0;
        Self {
            mean,
            second: share * second,
            third: share * second * conditional * (1.0 + 2.0 * scv),
        }
    }

    /// Return the moments of the sum of this quantity and an independent one: means, variances and third central
    /// moments add.
    pub fn plus(&self, other: &Self) -> Self {
        if !self.mean.is_finite() || !other.mean.is_finite() {
            return Self::NEVER;
        }
        Self {
            mean: self.mean + other.mean,
            second: self.second + 2.0 * self.mean * other.mean + other.second,
            third: self.third
                + 3.0 * self.second * other.mean
                + 3.0 * self.mean * other.second
                + other.third,
        }
    }
}

/// Return `part / whole`, or zero unless `whole` is above zero.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the message lengths on an I/O link (section 6 of the hypercube paper) have the mean and variance of
    /// the paper.
    #[test]
    fn message_lengths_on_io_links_equal_those_of_the_paper() {
        // In section 6, half of the messages on an I/O link have 32 flits, half 4096.
        let lengths = Moments::mixture(&[(1.0, 32.0), (1.0, 4096.0)], 2.0);
        assert_eq!(lengths.mean, 2064.0);
        // The standard deviation is 2032, so C^2 = (2032/2064)^2.
        assert!((lengths.scv() - (2032.0f64 / 2064.0).powi(2)).abs() < 1e-12);
        assert!(lengths.third_central().abs() < 1e-3);
    }

    /// Checks that the moments of a file of 1 to 4 blocks are correct, with each number of blocks equally likely.
    #[test]
    fn files_of_one_to_four_blocks() {
        let files = Moments::uniform_count(1, 4, 10.0).unwrap();
        assert!((files.mean - 25.0).abs() < 1e-12);
        assert!((files.second - 750.0).abs() < 1e-9);
        assert!((files.third - 25_000.0).abs() < 1e-9);
        assert!(files.third_central().abs() < 1e-8);
    }

    /// Checks that the moments of a sum of independent variables equal those of the distribution of the sum.
    #[test]
    fn sums_of_independent_quantities_follow_the_cumulants() {
        let x = Moments::mixture(&[(0.9, 0.0), (0.1, 7.0)], 1.0);
        let y = Moments::mixture(&[(0.2, 1.0), (0.8, 3.0)], 1.0);
        let pairs = [(0.18, 1.0), (0.72, 3.0), (0.02, 8.0), (0.08, 10.0)];
        let direct = Moments::mixture(&pairs, 1.0);
        let sum = x.plus(&y);
        assert!((sum.mean - direct.mean).abs() < 1e-12);
        assert!((sum.second - direct.second).abs() < 1e-12);
        assert!((sum.third - direct.third).abs() < 1e-9);
        let third = x.third_central() + y.third_central();
        assert!((sum.third_central() - third).abs() < 1e-9);
    }

    /// Checks that ranges with a minimum above the maximum and negative or infinite sizes are refused.
    #[test]
    fn impossible_counts_are_refused() {
        assert!(Moments::uniform_count(3, 2, 1.0).is_err());
        assert!(Moments::uniform_count(1, 2, -1.0).is_err());
        assert!(Moments::uniform_count(1, 2, f64::MAX).is_err());
    }
}
