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

    /// Whether zero lies outside of the interval: the alternatives differ.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        !self.difference.contains(0.0)
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
        assert!(paired.is_significant(), "1 is far outside of the jitter");
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
        assert!(!same.is_significant());
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
