//! Two alternatives under common random numbers.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::estimate::{Estimate, mean_and_variance};

/// Difference between two alternatives whose replications share their random numbers pairwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Mean of `first[i] - second[i]` with the t interval over the differences.
    pub difference: Estimate,
    /// The difference over the absolute mean of `second`; infinite or NaN if that is 0.
    pub relative: f64,
    /// Variance of the difference of independent runs over the variance found: above 1 the
    /// common random numbers have paid (1 if neither varies).
    pub variance_reduction: f64,
}

impl Comparison {
    /// Compares replication i of the first alternative with replication i of the second.
    ///
    /// Comparing several alternatives with one base at an overall confidence `1 - a` needs each
    /// at `1 - a / comparisons` (Bonferroni).
    ///
    /// # Errors
    /// [`Error::UnequalLengths`] if the pairs do not match up, otherwise as
    /// [`Estimate::from_samples`].
    pub fn paired(first: &[f64], second: &[f64], confidence: f64) -> Result<Self, Error> {
        if first.len() != second.len() {
            return Err(Error::UnequalLengths {
                what: "replications compared in pairs",
                left: first.len(),
                right: second.len(),
            });
        }
        crate::error::all_finite("replications of the first alternative", first)?;
        crate::error::all_finite("replications of the second alternative", second)?;
        let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
        let difference = Estimate::from_samples(&differences, confidence)?;
        let variance = |values: &[f64]| mean_and_variance(values).1.unwrap_or(0.0);
        let independent = variance(first) + variance(second);
        Ok(Self {
            difference,
            relative: difference.mean / mean_and_variance(second).0.abs(),
            variance_reduction: if independent == 0.0 {
                1.0
            } else {
                independent / variance(&differences)
            },
        })
    }

    /// The interval of the mean of the first alternative over that of the second, which is positive,
    /// their replications paired: every quotient q for which `first - q second` has a mean that the
    /// paired t interval does not tell from zero (Fieller, Journal of the Royal Statistical Society
    /// B 16(2), 1954). Without ends where the second is not known to be above zero.
    ///
    /// # Errors
    /// As [`Comparison::paired`].
    pub fn quotient(first: &[f64], second: &[f64], confidence: f64) -> Result<(f64, f64), Error> {
        let half = |values: &[f64]| {
            Estimate::from_samples(values, confidence).map(|estimate| estimate.half_width)
        };
        let of = Self::paired(first, second, confidence)?;
        let (a, b) = (mean_and_variance(first).0, mean_and_variance(second).0);
        let (a_half, b_half) = (half(first)?, half(second)?);
        if !(b > b_half && of.difference.half_width.is_finite()) {
            return Ok((f64::NEG_INFINITY, f64::INFINITY));
        }
        // t^2 times the covariance of the means: Var(a - b) = Var a + Var b - 2 Cov.
        let covariance =
            0.5 * (a_half * a_half + b_half * b_half - of.difference.half_width.powi(2));
        // (a - q b)^2 <= a_half^2 - 2 q covariance + q^2 b_half^2
        let square = b * b - b_half * b_half;
        let middle = a * b - covariance;
        let root = middle * middle - square * (a * a - a_half * a_half);
        let root = root.max(0.0).sqrt();
        Ok(((middle - root) / square, (middle + root) / square))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_noise_cancels() {
        let noise = [5.0, -3.0, 8.0, 0.0, -6.0, 2.0];
        let jitter = [0.1, -0.1, 0.0, 0.1, 0.0, -0.1];
        let second: Vec<f64> = noise.iter().map(|n| 100.0 + n).collect();
        let first: Vec<f64> = noise
            .iter()
            .zip(jitter)
            .map(|(n, j)| 101.0 + n + j)
            .collect();
        let paired = Comparison::paired(&first, &second, 0.99).unwrap();
        assert!((paired.difference.mean - 1.0).abs() < 1e-12);
        assert!(
            !paired.difference.contains(0.0),
            "1 is far outside of the jitter"
        );
        // Var(noise) = 27.2, Var(jitter) = 0.008: 2 * 27.2 / 0.008 = 6800 up to their covariance.
        assert!(paired.variance_reduction > 5000.0 && paired.variance_reduction < 9000.0);
        assert!((paired.relative - 1.0 / 101.0).abs() < 1e-12);
    }

    #[test]
    fn equal_alternatives_do_not_differ() {
        let samples = [1.0, 2.0, 4.0];
        let same = Comparison::paired(&samples, &samples, 0.95).unwrap();
        assert_eq!(
            (same.difference.mean, same.difference.half_width),
            (0.0, 0.0)
        );
        assert!(same.difference.contains(0.0));
    }

    /// By the definition: at either end of the interval of quotients q the mean of a - q b is just as
    /// far from zero as its own half-width.
    #[test]
    fn quotients_end_where_the_paired_difference_is_significant() {
        let second = [10.0, 12.0, 9.0, 11.0, 13.0];
        let first = [21.0, 23.5, 18.0, 22.5, 25.5];
        let (low, high) = Comparison::quotient(&first, &second, 0.95).unwrap();
        assert!(
            low < 2.01 && 2.01 < high && high - low < 0.2,
            "{low} {high}"
        );
        for end in [low, high] {
            let scaled: Vec<f64> = second.iter().map(|value| end * value).collect();
            let found = Comparison::paired(&first, &scaled, 0.95)
                .unwrap()
                .difference;
            assert!((found.mean.abs() / found.half_width - 1.0).abs() < 1e-9);
        }
        let twice: Vec<f64> = second.iter().map(|value| 2.0 * value).collect();
        let (low, high) = Comparison::quotient(&twice, &second, 0.95).unwrap();
        assert!((low - 2.0).abs() < 1e-6 && (high - 2.0).abs() < 1e-6);
        let nothing = [0.1, -3.0, 4.0, 0.0, 0.0];
        let (low, high) = Comparison::quotient(&first, &nothing, 0.95).unwrap();
        assert!(low.is_infinite() && high.is_infinite());
    }

    #[test]
    fn unpaired_input_is_refused() {
        assert_eq!(
            Comparison::paired(&[1.0], &[1.0, 2.0], 0.95)
                .unwrap_err()
                .to_string(),
            "replications compared in pairs: lengths 1 and 2 differ, they must be equal"
        );
    }
}
