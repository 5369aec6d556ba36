//! Distributions of non-negative integers, such as latencies in cycles.

use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::estimate::Estimate;

/// Decimal digits that a bucket resolves: values up to 255 are exact, larger ones to 1/128.
const SIGNIFICANT_DIGITS: u8 = 2;
/// Observations that must lie above a percentile for it to be a property of the distribution
/// rather than of the largest few values.
const FEWEST_ABOVE: f64 = 10.0;

/// A log-linear histogram of `u64` values: exact up to 255, then 128 buckets per power of two,
/// for the whole range of `u64`. It grows with the largest value seen (1 KiB per power of two).
///
/// Recording takes about 2 ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    counts: Hdr<u64>,
}

/// One bucket that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Smallest value in it.
    pub lower: u64,
    /// Largest value in it (inclusive).
    pub upper: u64,
    /// Observations in it.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let counts = Hdr::new(SIGNIFICANT_DIGITS).expect("two digits are within the limits");
        Self { counts }
    }

    /// Records one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts
            .record(value)
            .expect("a resizing histogram has a bucket for every u64");
    }

    /// Records `count` observations of the same value.
    pub fn record_many(&mut self, value: u64, count: u64) {
        self.counts
            .record_n(value, count)
            .expect("a resizing histogram has a bucket for every u64");
    }

    /// Adds the observations of another histogram, such as of another replication.
    pub fn merge(&mut self, other: &Self) {
        self.counts
            .add(&other.counts)
            .expect("a resizing histogram has a bucket for every u64");
    }

    /// Number of observations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Lower end of the smallest value's bucket; none without observations.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (!self.counts.is_empty()).then(|| self.counts.lowest_equivalent(self.counts.min()))
    }

    /// Upper end of the largest value's bucket; none without observations.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (!self.counts.is_empty()).then(|| self.counts.max())
    }

    /// The smallest value v, up to the width of its bucket, such that at least `percentile`
    /// percent of the observations are at most v (nearest rank): the upper end of the bucket,
    /// above the exact value by less than 1/128 of it. None without observations.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless `0 <= percentile <= 100`.
    pub fn percentile(&self, percentile: f64) -> Result<Option<u64>, Error> {
        check_percentile(percentile)?;
        // The library gives the lower end of the bucket for percentile 0 alone.
        let value = || {
            self.counts
                .highest_equivalent(self.counts.value_at_percentile(percentile))
        };
        Ok((!self.counts.is_empty()).then(value))
    }

    /// Fraction of the observations that are at most `value`, up to the width of its bucket.
    #[must_use]
    pub fn fraction_at_most(&self, value: u64) -> f64 {
        if self.counts.is_empty() {
            return f64::NAN;
        }
        let top = self.counts.highest_equivalent(value);
        let below: u64 = self
            .buckets()
            .take_while(|bucket| bucket.upper <= top)
            .map(|bucket| bucket.count)
            .sum();
        below as f64 / self.count() as f64
    }

    /// The buckets that are not empty, in rising order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter_recorded().map(|step| {
            let value = step.value_iterated_to();
            Bucket {
                lower: self.counts.lowest_equivalent(value),
                upper: self.counts.highest_equivalent(value),
                count: step.count_at_value(),
            }
        })
    }
}

fn check_percentile(percentile: f64) -> Result<(), Error> {
    if (0.0..=100.0).contains(&percentile) {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what: "percentile",
        value: percentile,
        wanted: "from 0 to 100",
    })
}

/// A percentile with its interval over replications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PercentileEstimate {
    /// Which percentile, from 0 to 100.
    pub percentile: f64,
    /// Mean of the replications' percentiles with the t interval over them, in the unit of the
    /// values. Values above 255 carry the bucket width of 1/128 in addition.
    pub estimate: Estimate,
    /// Whether every replication has at least ten observations above the percentile; otherwise
    /// it rests on the largest few values and is biased low.
    pub resolved: bool,
}

/// Percentiles with intervals over replications of the same measure.
///
/// # Errors
/// [`Error::TooFew`] without replications or if one is empty, [`Error::OutOfRange`] for an
/// impossible percentile or confidence.
pub fn percentile_estimates(
    replications: &[Histogram],
    percentiles: &[f64],
    confidence: f64,
) -> Result<Vec<PercentileEstimate>, Error> {
    percentiles
        .iter()
        .map(|&percentile| {
            let mut samples = Vec::with_capacity(replications.len());
            let mut resolved = true;
            for histogram in replications {
                let value = histogram.percentile(percentile)?.ok_or(Error::TooFew {
                    what: "observations in a replication's histogram",
                    got: 0,
                    needed: 1,
                })?;
                samples.push(value as f64);
                let above = histogram.count() as f64 * (1.0 - percentile / 100.0);
                resolved &= above >= FEWEST_ABOVE;
            }
            Ok(PercentileEstimate {
                percentile,
                estimate: Estimate::from_samples(&samples, confidence)?,
                resolved,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the sorted vector, nearest rank.
        #[test]
        fn agrees_with_sorted_values(
            mut values in prop::collection::vec(
                prop_oneof![0u64..300, 0u64..100_000, any::<u64>()], 1..200),
            percentile in prop_oneof![Just(0.0), Just(50.0), Just(100.0), 0.0..100.0f64],
            split in 0usize..200,
        ) {
            let split = split.min(values.len());
            let (mut left, mut right) = (Histogram::new(), Histogram::new());
            values[..split].iter().for_each(|value| left.record(*value));
            values[split..].iter().for_each(|value| right.record_many(*value, 1));
            left.merge(&right);
            values.sort_unstable();

            prop_assert_eq!(left.count(), values.len() as u64);
            // In percent the product may miss an integer by rounding: allow the neighbour.
            let rank = |slack: f64| {
                let exact = percentile / 100.0 * values.len() as f64 + slack;
                (exact.ceil().max(1.0) as usize).min(values.len()) - 1
            };
            let found = left.percentile(percentile).unwrap().unwrap();
            let (low, high) = (values[rank(-1e-9)], values[rank(1e-9)]);
            prop_assert!(found >= low, "{found} below {low}");
            prop_assert!(found as f64 <= high as f64 * (1.0 + 1.0 / 128.0), "{found} {high}");
            if high < 256 {
                prop_assert!(found == low || found == high, "exact below 256");
            }

            let buckets: Vec<Bucket> = left.buckets().collect();
            prop_assert_eq!(buckets.iter().map(|b| b.count).sum::<u64>(), left.count());
            for bucket in &buckets {
                let inside = values.iter().filter(|v| (bucket.lower..=bucket.upper).contains(*v));
                prop_assert_eq!(inside.count() as u64, bucket.count);
            }
            prop_assert!(buckets.windows(2).all(|pair| pair[0].upper < pair[1].lower));
            let at_most = values.iter().filter(|v| **v <= found).count() as f64;
            prop_assert_eq!(left.fraction_at_most(found), at_most / values.len() as f64);
            prop_assert!(left.min().unwrap() <= values[0]);
            prop_assert!(left.max().unwrap() >= values[values.len() - 1]);
        }
    }

    #[test]
    fn percentiles_of_replications() {
        let replications: Vec<Histogram> = (0..3u64)
            .map(|shift| {
                let mut histogram = Histogram::new();
                (1..=100).for_each(|value| histogram.record(value + shift));
                histogram
            })
            .collect();
        let found = percentile_estimates(&replications, &[50.0, 95.0], 0.95).unwrap();
        // 50, 51, 52 and 95, 96, 97; five observations lie above the latter.
        assert_eq!((found[0].estimate.mean, found[0].resolved), (51.0, true));
        assert_eq!((found[1].estimate.mean, found[1].resolved), (96.0, false));
        assert_eq!(found[0].estimate.samples, 3);
    }

    #[test]
    fn empty_histograms_and_impossible_percentiles() {
        let empty = Histogram::new();
        assert_eq!(
            (empty.percentile(50.0).unwrap(), empty.max(), empty.min()),
            (None, None, None)
        );
        assert!(empty.fraction_at_most(7).is_nan());
        assert!(matches!(
            percentile_estimates(std::slice::from_ref(&empty), &[50.0], 0.95),
            Err(Error::TooFew { .. })
        ));
        for percentile in [-1.0, 100.1, f64::NAN] {
            assert!(empty.percentile(percentile).is_err());
        }
    }
}
