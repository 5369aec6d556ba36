//! How well a share of observations is known.
//!
//! With independent observations the interval of Clopper and Pearson (Biometrika 26(4), 1934) is
//! exact. Observations of one replication are not independent: they count as fewer, as many as
//! would scatter like the shares of the replications do, which is the interval of Korn and
//! Graubard (Survey Methodology 24(2), 1998) with replications as clusters.

use statrs::function::beta::beta_reg;
use statrs::function::gamma::{gamma_lr, gamma_ur};

use crate::error::Error;
use crate::estimate::mean_and_variance;
use crate::quantile::{normal_cdf, normal_quantile, t_quantile};

/// Observations count as this many times their number at most, however alike replications are.
const MOST_ALIKE: f64 = 8.0;
/// Successes and failures from which on the normal distribution gives the binomial one.
const MANY: f64 = 100.0;
/// Observations from which on few successes are as good as Poisson.
const POISSON_FROM: f64 = 3000.0;

/// Steps in which an end of a band is halved: to 2^-50.
const HALVINGS: u32 = 50;

/// How shares over replications, each of which counts alike, are judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ShareTest {
    /// Probability of an error to one side.
    tail: f64,
    /// Observations that all replications have together, or are worth where they do not differ.
    observations: f64,
    /// What few replications cost: the square of the quotient of the normal and the t quantile.
    few: f64,
}

impl ShareTest {
    /// For intervals of `confidence` over `replications` with `observations` in all. None for a
    /// single replication, which says nothing of how they scatter.
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
            few: ratio * ratio,
        }))
    }

    /// Return how many independent observations are worth as much as these shares of the
    /// replications. Shares that do not differ are worth the observations there are.
    pub fn worth(&self, shares: &[f64]) -> f64 {
        let (value, variance) = mean_and_variance(shares);
        let variance = variance.unwrap_or(0.0) / shares.len() as f64;
        let worth = if variance > 0.0 && value > 0.0 && value < 1.0 {
            self.few * value * (1.0 - value) / variance
        } else {
            self.observations
        };
        worth.min(MOST_ALIKE * self.observations).max(1.0)
    }

    /// Return the lowest share that may be seen where the true one is `p`, of so many independent
    /// observations. It is no more than `p`.
    pub fn lowest(&self, p: f64, worth: f64) -> f64 {
        let (mut below, mut allowed) = (0.0, p);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (below + allowed);
            if at_most(middle * worth, worth, p) >= self.tail {
                allowed = middle;
            } else {
                below = middle;
            }
        }
        allowed
    }

    /// Return the highest share that may be seen where the true one is `p`. It is no less than `p`.
    pub fn highest(&self, p: f64, worth: f64) -> f64 {
        1.0 - self.lowest(1.0 - p, worth)
    }
}

/// Probability of at most `count` successes, not necessarily whole, of `of` with probability `p`.
fn at_most(count: f64, of: f64, p: f64) -> f64 {
    let failures = of - count;
    if p <= 0.0 || failures <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    if count.min(failures) >= MANY {
        return normal_cdf((count + 0.5 - of * p) / (of * p * (1.0 - p)).sqrt());
    }
    if of <= POISSON_FROM {
        return 1.0 - beta_reg(count + 1.0, failures, p);
    }
    if count < failures {
        gamma_ur(count + 1.0, of * p)
    } else {
        gamma_lr(failures, of * (1.0 - p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binomial_at_most(count: u32, of: u32, p: f64) -> f64 {
        let mut log_mass = f64::from(of) * (1.0 - p).ln();
        let mut sum = log_mass.exp();
        for k in 1..=count {
            log_mass += (f64::from(of - k + 1) / f64::from(k) * p / (1.0 - p)).ln();
            sum += log_mass.exp();
        }
        sum
    }

    /// Against the sum of the masses, `P(X = k) = C(n, k) p^k (1-p)^(n-k)`.
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
            let found = at_most(f64::from(count), f64::from(of), p);
            assert!(
                (found - expected).abs() < within,
                "{count} of {of} at {p}: {found} {expected}"
            );
        }
        assert_eq!(
            (at_most(10.0, 10.0, 0.5), at_most(2.0, 10.0, 0.0)),
            (1.0, 1.0)
        );
        assert_eq!(at_most(2.0, 10.0, 1.0), 0.0);
    }

    /// None of n may be seen as long as (1-p)^n is no less than the tail.
    #[test]
    fn nothing_is_seen_of_what_is_rare() {
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

    /// With many observations the band is `p +- z sqrt(p (1-p) / n)`, less the half of the
    /// observation that Clopper and Pearson count more.
    #[test]
    fn bands_are_those_of_the_normal_distribution() {
        let test = ShareTest::new(10, 100_000, 0.95).unwrap().unwrap();
        let (p, n) = (0.9f64, 100_000.0f64);
        let half = 1.959_964 * (p * (1.0 - p) / n).sqrt() + 0.5 / n;
        let (low, high) = (test.lowest(p, n), test.highest(p, n));
        assert!((low - (p - half)).abs() < 1e-3 * half, "{low}");
        assert!((high - (p + half)).abs() < 1e-3 * half, "{high}");
    }

    #[test]
    fn replications_that_scatter_are_worth_less() {
        let test = ShareTest::new(4, 4000, 0.95).unwrap().unwrap();
        let apart = test.worth(&[0.3, 0.5, 0.4, 0.6]);
        // Variance of the mean 0.0167 / 4: 0.2475 / 0.00417 = 59.4, times (1.960 / 3.182)^2.
        assert!((apart - 59.4 * (1.960f64 / 3.1824).powi(2)).abs() < 0.1);
        assert!(test.worth(&[0.44, 0.45, 0.46, 0.45]) > 1000.0);
        assert_eq!(test.worth(&[0.45; 4]), 4000.0);
        assert_eq!(test.worth(&[1.0; 4]), 4000.0);
        assert_eq!(ShareTest::new(1, 4000, 0.95).unwrap(), None);
    }
}
