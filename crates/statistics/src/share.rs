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

/// A share over replications, each of which counts alike, and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    /// Mean of the shares.
    pub value: f64,
    /// Independent observations that it is worth.
    pub worth: f64,
}

/// How shares are judged.
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
    /// For intervals of `confidence` over so many replications with so many observations in all.
    /// They may scatter by `stretch`, which is finite, more than they show. A single replication says nothing of how
    /// they scatter: none.
    pub fn new(
        replications: usize,
        observations: u64,
        confidence: f64,
        stretch: f64,
    ) -> Result<Option<Self>, Error> {
        let tail = 0.5 - 0.5 * confidence;
        let normal = normal_quantile(1.0 - tail)?;
        if replications < 2 {
            return Ok(None);
        }
        let ratio = normal / t_quantile(1.0 - tail, replications - 1)? / stretch;
        Ok(Some(Self {
            tail,
            observations: observations as f64 / (stretch * stretch),
            few: ratio * ratio,
        }))
    }

    /// The share over replications with these shares. Where they are all 0 or all 1, or do not
    /// differ, how they scatter is taken from `like`, if given.
    pub fn share(&self, shares: &[f64], like: Option<&Share>) -> Share {
        let (value, variance) = mean_and_variance(shares);
        let variance = variance.unwrap_or(0.0) / shares.len() as f64;
        let worth = if variance > 0.0 && value > 0.0 && value < 1.0 {
            self.few * value * (1.0 - value) / variance
        } else {
            like.map_or(self.observations, |like| like.worth)
        };
        Share {
            value,
            worth: worth.min(MOST_ALIKE * self.observations).max(1.0),
        }
    }

    /// Whether the true share may be as high as `p`.
    pub fn may_reach(&self, share: &Share, p: f64) -> bool {
        share.value >= p || at_most(share.value * share.worth, share.worth, p) >= self.tail
    }

    /// Whether the true share may be as low as `p`.
    pub fn may_be_down_at(&self, share: &Share, p: f64) -> bool {
        let failures = (1.0 - share.value) * share.worth;
        share.value <= p || at_most(failures, share.worth, 1.0 - p) >= self.tail
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

    /// None of n: the share may be p as long as (1-p)^n is no less than the tail.
    #[test]
    fn nothing_seen_leaves_room_above() {
        let test = ShareTest::new(10, 500, 0.95, 1.0).unwrap().unwrap();
        let none = test.share(&[0.0; 10], None);
        let limit = 1.0 - 0.025f64.powf(1.0 / 500.0);
        assert!(test.may_reach(&none, 0.99 * limit) && !test.may_reach(&none, 1.01 * limit));
        assert!(test.may_be_down_at(&none, 0.0));
        let all = test.share(&[1.0; 10], None);
        assert!(test.may_be_down_at(&all, 1.0 - 0.99 * limit));
        assert!(!test.may_be_down_at(&all, 1.0 - 1.01 * limit));
    }

    #[test]
    fn replications_that_scatter_are_worth_less() {
        let test = ShareTest::new(4, 4000, 0.95, 1.0).unwrap().unwrap();
        let apart = test.share(&[0.3, 0.5, 0.4, 0.6], None);
        let alike = test.share(&[0.44, 0.45, 0.46, 0.45], None);
        // Variance of the mean 0.0167 / 4: 0.2475 / 0.00417 = 59.4, times (1.960 / 3.182)^2.
        assert!((apart.worth - 59.4 * (1.960f64 / 3.1824).powi(2)).abs() < 0.1);
        assert!(alike.worth > 1000.0);
        assert_eq!(test.share(&[0.45; 4], None).worth, 4000.0);
        assert_eq!(test.share(&[1.0; 4], Some(&apart)).worth, apart.worth);
        assert_eq!(ShareTest::new(1, 4000, 0.95, 1.0).unwrap(), None);
    }
}
