//! Distributions of non-negative integers, such as latencies in cycles.

use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Decimal digits that a bucket resolves: values up to 255 are exact, larger ones to 1/128.
const SIGNIFICANT_DIGITS: u8 = 2;

/// A log-linear histogram of `u64` values: exact up to 255, then 128 buckets per power of two,
/// for the whole range of `u64`. It grows with the largest value seen (1 KiB per power of two).
///
/// Recording takes about 2 ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Histogram {
    counts: Hdr<u64>,
    /// The smallest and the largest value, exactly.
    min: u64,
    max: u64,
}

/// A histogram as it is written: a value of each bucket that is not empty, and how many it has.
#[derive(Serialize, Deserialize)]
struct Stored {
    buckets: Vec<(u64, u64)>,
    min: u64,
    max: u64,
}

impl From<Histogram> for Stored {
    fn from(histogram: Histogram) -> Self {
        Self {
            buckets: histogram.buckets().map(|b| (b.lower, b.count)).collect(),
            min: histogram.min,
            max: histogram.max,
        }
    }
}

impl From<Stored> for Histogram {
    fn from(stored: Stored) -> Self {
        let mut histogram = Self::new();
        for (value, count) in stored.buckets {
            (histogram.counts.record_n(value, count))
                .expect("a resizing histogram has a bucket for every u64");
        }
        (histogram.min, histogram.max) = (stored.min, stored.max);
        histogram
    }
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
        Self {
            counts,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Records one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.counts
            .record(value)
            .expect("a resizing histogram has a bucket for every u64");
    }

    /// Adds the observations of another histogram, such as of another replication.
    pub fn merge(&mut self, other: &Self) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.counts
            .add(&other.counts)
            .expect("a resizing histogram has a bucket for every u64");
    }

    /// Number of observations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The smallest value, exactly; none without observations.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.min)
    }

    /// The largest value, exactly; none without observations.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.max)
    }

    /// The smallest value v, up to the width of its bucket, such that at least `percentile`
    /// percent of the observations are at most v (nearest rank): the upper end of the bucket,
    /// above the exact value by less than 1/128 of it, or the largest value seen. None without
    /// observations.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless `0 <= percentile <= 100`.
    pub fn percentile(&self, percentile: f64) -> Result<Option<u64>, Error> {
        check_percentile(percentile)?;
        // The library gives the lower end of the bucket for percentile 0 alone.
        let value = || {
            self.counts
                .highest_equivalent(self.counts.value_at_percentile(percentile))
                .min(self.max)
        };
        Ok((!self.counts.is_empty()).then(value))
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

pub(crate) fn check_percentile(percentile: f64) -> Result<(), Error> {
    if (0.0..=100.0).contains(&percentile) {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what: "percentile",
        value: percentile,
        wanted: "from 0 to 100",
    })
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
            values[split..].iter().for_each(|value| right.record(*value));
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
            let json = serde_json::to_string(&left).unwrap();
            let read: Histogram = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(
                read.percentile(percentile).unwrap(),
                left.percentile(percentile).unwrap()
            );
            prop_assert_eq!(read.buckets().collect::<Vec<_>>(), buckets);
            prop_assert_eq!(serde_json::to_string(&read).unwrap(), json);

            prop_assert_eq!(left.min(), values.first().copied());
            prop_assert_eq!(left.max(), values.last().copied());
        }
    }

    #[test]
    fn empty_histograms_and_impossible_percentiles() {
        let empty = Histogram::new();
        assert_eq!(
            (empty.percentile(50.0).unwrap(), empty.max(), empty.min()),
            (None, None, None)
        );
        for percentile in [-1.0, 100.1, f64::NAN] {
            assert!(empty.percentile(percentile).is_err());
        }
    }
}
