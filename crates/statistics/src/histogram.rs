//! Distributions of non-negative integers, such as latencies in cycles.

use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};

/// Number of decimal digits that a bucket resolves: values up to 255 are exact, larger ones have an
/// error of at most 1/128.
const SIGNIFICANT_DIGITS: u8 = 2;

/// A log-linear histogram of `u64` values. Values up to 255 are exact; larger ones have 128 buckets
/// per power of two, for the whole range of `u64`. The memory grows with the largest value (1 KiB
/// per power of two).
///
/// Recording a value takes about 2 ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Histogram {
    counts: Hdr<u64>,
    /// Smallest recorded value, exact. `max` is the largest.
    min: u64,
    max: u64,
}

/// Form in which a histogram is serialized: one value of each non-empty bucket, and the count of
/// the bucket.
#[derive(Serialize, Deserialize)]
struct Stored {
    buckets: Vec<(u64, u64)>,
    min: u64,
    max: u64,
}

impl From<Histogram> for Stored {
    /// Convert a histogram to its serialized form.
    fn from(histogram: Histogram) -> Self {
        Self {
            buckets: histogram.buckets().map(|b| (b.lower, b.count)).collect(),
            min: histogram.min,
            max: histogram.max,
        }
    }
}

impl From<Stored> for Histogram {
    /// Restore a histogram from its serialized form.
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

/// A non-empty bucket of a histogram: its range and its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest value that belongs to the bucket.
    pub lower: u64,
    /// Largest value that belongs to the bucket.
    pub upper: u64,
    /// Number of observations in the bucket.
    pub count: u64,
}

impl Default for Histogram {
    /// Return an empty histogram.
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Return an empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let counts = Hdr::new(SIGNIFICANT_DIGITS).expect("two digits are within the limits");
        Self {
            counts,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Record one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.counts
            .record(value)
            .expect("a resizing histogram has a bucket for every u64");
    }

    /// Add the observations of another histogram, such as that of another replication.
    pub fn merge(&mut self, other: &Self) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.counts
            .add(&other.counts)
            .expect("a resizing histogram has a bucket for every u64");
    }

    /// Return the number of observations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Return the exact smallest recorded value; `None` without observations.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.min)
    }

    /// Return the exact largest recorded value; `None` without observations.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.max)
    }

    /// Return the non-empty buckets, in ascending order.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks that all results of a histogram agree with the recorded values. Compares the
        /// histogram with the sorted vector of the values.
        #[test]
        fn agrees_with_sorted_values(
            mut values in prop::collection::vec(
                prop_oneof![0u64..300, 0u64..100_000, any::<u64>()], 1..200),
            split in 0usize..200,
        ) {
            let split = split.min(values.len());
            let (mut left, mut right) = (Histogram::new(), Histogram::new());
            values[..split].iter().for_each(|value| left.record(*value));
            values[split..].iter().for_each(|value| right.record(*value));
            left.merge(&right);
            values.sort_unstable();

            prop_assert_eq!(left.count(), values.len() as u64);
            let buckets: Vec<Bucket> = left.buckets().collect();
            prop_assert_eq!(buckets.iter().map(|b| b.count).sum::<u64>(), left.count());
            for bucket in &buckets {
                let inside = values.iter().filter(|v| (bucket.lower..=bucket.upper).contains(*v));
                prop_assert_eq!(inside.count() as u64, bucket.count);
                let width = bucket.upper - bucket.lower;
                prop_assert!(width <= bucket.lower / 128 && (width == 0 || bucket.lower >= 256));
            }
            prop_assert!(buckets.windows(2).all(|pair| pair[0].upper < pair[1].lower));
            let json = serde_json::to_string(&left).unwrap();
            let read: Histogram = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(read.buckets().collect::<Vec<_>>(), buckets);
            prop_assert_eq!(serde_json::to_string(&read).unwrap(), json);

            prop_assert_eq!(left.min(), values.first().copied());
            prop_assert_eq!(left.max(), values.last().copied());
        }
    }

    /// Checks that an empty histogram has neither a minimum nor a maximum.
    #[test]
    fn an_empty_histogram_has_no_minimum_or_maximum() {
        let empty = Histogram::new();
        assert_eq!((empty.max(), empty.min()), (None, None));
    }
}
