//! Confidence bands of the shares of observations below a value.
//!
//! For independent observations the interval of Clopper and Pearson (Biometrika 26(4), 1934) is
//! exact. Observations of one replication are not independent. They count as fewer: as the number
//! of independent observations that would scatter like the shares of the replications. This is the
//! interval of Korn and Graubard (Survey Methodology 24(2), 1998) with replications as clusters.

use statrs::function::beta::beta_reg;
use statrs::function::gamma::{gamma_lr, gamma_ur};

use crate::error::Error;
use crate::estimate::mean_and_variance;
use crate::quantile::{normal_cdf, normal_quantile, t_quantile};

/// Maximum ratio of the effective number of observations to the actual number, however similar the
/// replications are.
const MOST_ALIKE: f64 = 8.0;
/// Minimum number of successes and of failures for which the normal distribution replaces the
/// binomial distribution.
const MANY: f64 = 100.0;
/// Minimum number of observations for which a small number of successes is treated as Poisson
/// distributed.
const POISSON_FROM: f64 = 3000.0;

/// Number of bisection steps for an end of a band, which give a precision of 2^-50.
const HALVINGS: u32 = 50;

/// Confidence bands for shares of observations over replications of equal weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ShareTest {
    /// Probability that the true share lies beyond one side of the confidence band.
    tail: f64,
    /// Total number of observations in all replications.
    observations: f64,
    /// Factor by which few replications reduce the effective number: the squared ratio of the
    /// normal to the t quantile.
    few_penalty: f64,
}

impl ShareTest {
    /// Create a test for intervals of `confidence` over `replications` replications with
    /// `observations` observations in all. The result is `None` for a single replication, which
    /// shows no scatter.
    pub fn new(
        replications: usize,
        observations: u64,
        confidence: f64,
    ) -> Result<Option<Self>, Error> {
        let tail = 0.5 - 0.5 * confidence;
        let normal = normal_quantile(1.0 - tail)?;
        if replications < 2 {
            return Ok(None);
        }
        let ratio = normal / t_quantile(1.0 - tail, replications - 1)?;
        Ok(Some(Self {
            tail,
            observations: observations as f64,
            few_penalty: ratio * ratio,
        }))
    }

    /// Return the effective number of observations, which is the number of independent ones that
    /// would scatter like these shares of the replications. Without scatter, return the actual
    /// number of observations.
    pub fn effective_size(&self, shares: &[f64]) -> f64 {
        let (value, variance) = mean_and_variance(shares);
        let variance = variance.unwrap_or(0.0) / shares.len() as f64;
        let size = if variance > 0.0 && value > 0.0 && value < 1.0 {
            self.few_penalty * value * (1.0 - value) / variance
        } else {
            self.observations
        };
        size.min(MOST_ALIKE * self.observations).max(1.0)
    }

    /// Return the lowest share that `size` independent observations may show if the true share is
    /// `p`. The result is at most `p`.
    pub fn lowest(&self, p: f64, size: f64) -> f64 {
        let (mut below, mut allowed) = (0.0, p);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (below + allowed);
            if binomial_cdf(middle * size, size, p) >= self.tail {
                allowed = middle;
            } else {
                below = middle;
            }
        }
        allowed
    }

    /// Return the highest share that `size` independent observations may show if the true share is
    /// `p`. The result is at least `p`.
    pub fn highest(&self, p: f64, size: f64) -> f64 {
        1.0 - self.lowest(1.0 - p, size)
    }
}

/// Return the probability of at most `count` successes in `trials` trials with the success
/// probability `p`. Both numbers may be fractions.
fn binomial_cdf(count: f64, trials: f64, p: f64) -> f64 {
    let failures = trials - count;
    if p <= 0.0 || failures <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    if count.min(failures) >= MANY {
        return normal_cdf((count + 0.5 - trials * p) / (trials * p * (1.0 - p)).sqrt());
    }
    if trials <= POISSON_FROM {
        return 1.0 - beta_reg(count + 1.0, failures, p);
    }
    if count < failures {
        gamma_ur(count + 1.0, trials * p)
    } else {
        gamma_lr(failures, trials * (1.0 - p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the probability of at most `count` successes in `of` trials, as a sum over all
    /// numbers.
    fn binomial_at_most(count: u32, of: u32, p: f64) -> f64 {
        let mut log_mass = f64::from(of) * (1.0 - p).ln();
        let mut sum = log_mass.exp();
        for k in 1..=count {
            log_mass += (f64::from(of - k + 1) / f64::from(k) * p / (1.0 - p)).ln();
            sum += log_mass.exp();
        }
        sum
    }

    /// Checks the probabilities of the binomial distribution. Compares with the sum of the
    /// probabilities, `P(X = k) = C(n, k) p^k (1-p)^(n-k)`.
    #[test]
    fn tails_are_those_of_the_binomial_distribution() {
        for (count, of, p, within) in [
            (0, 10, 0.3, 1e-9),
            (3, 50, 0.01, 1e-9),
            (47, 50, 0.9, 1e-9),
            (12, 6000, 0.003, 2e-3),
            (5990, 6000, 0.997, 2e-3),
            (150, 2000, 0.08, 5e-3),
            (1780, 2000, 0.9, 5e-3),
        ] {
            let expected = binomial_at_most(count, of, p);
            let found = binomial_cdf(f64::from(count), f64::from(of), p);
            assert!(
                (found - expected).abs() < within,
                "{count} of {of} at {p}: {found} {expected}"
            );
        }
        assert_eq!(
            (binomial_cdf(10.0, 10.0, 0.5), binomial_cdf(2.0, 10.0, 0.0)),
            (1.0, 1.0)
        );
        assert_eq!(binomial_cdf(2.0, 10.0, 1.0), 0.0);
    }

    /// Checks the largest true share for which a sample may contain no success. A share of 0 among
    /// n observations is possible as long as (1-p)^n is at least the error probability `tail`.
    #[test]
    fn a_rare_success_may_be_absent_from_a_sample() {
        let test = ShareTest::new(10, 500, 0.95).unwrap().unwrap();
        let limit = 1.0 - 0.025f64.powf(1.0 / 500.0);
        assert!(test.lowest(0.99 * limit, 500.0) < 1e-12);
        assert!(test.lowest(1.01 * limit, 500.0) > 1e-6);
        assert!(test.highest(1.0 - 0.99 * limit, 500.0) > 1.0 - 1e-12);
        assert!(test.highest(1.0 - 1.01 * limit, 500.0) < 1.0 - 1e-6);
        assert_eq!(
            (test.lowest(0.0, 500.0), test.highest(1.0, 500.0)),
            (0.0, 1.0)
        );
    }

    /// Checks that the band for many observations is `p +- z sqrt(p (1-p) / n)`, minus the half
    /// observation of Clopper and Pearson.
    #[test]
    fn bands_are_those_of_the_normal_distribution() {
        let test = ShareTest::new(10, 100_000, 0.95).unwrap().unwrap();
        let (p, n) = (0.9f64, 100_000.0f64);
        let half = 1.959_964 * (p * (1.0 - p) / n).sqrt() + 0.5 / n;
        let (low, high) = (test.lowest(p, n), test.highest(p, n));
        assert!((low - (p - half)).abs() < 1e-3 * half, "{low}");
        assert!((high - (p + half)).abs() < 1e-3 * half, "{high}");
    }

    /// Checks that the effective sample size is smaller if the shares of the replications differ
    /// more than chance explains.
    #[test]
    fn scattered_replications_have_a_smaller_effective_size() {
        let test = ShareTest::new(4, 4000, 0.95).unwrap().unwrap();
        let apart = test.effective_size(&[0.3, 0.5, 0.4, 0.6]);
        // The variance of the mean is 0.0167 / 4. The effective number is therefore 0.2475 /
        // 0.00417 = 59.4, times (1.960 / 3.182)^2 because only 4 shares are known (quantile of the
        // t distribution).
        assert!((apart - 59.4 * (1.960f64 / 3.1824).powi(2)).abs() < 0.1);
        assert!(test.effective_size(&[0.44, 0.45, 0.46, 0.45]) > 1000.0);
        assert_eq!(test.effective_size(&[0.45; 4]), 4000.0);
        assert_eq!(test.effective_size(&[1.0; 4]), 4000.0);
        assert_eq!(ShareTest::new(1, 4000, 0.95).unwrap(), None);
    }
}
