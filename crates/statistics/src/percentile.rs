//! Percentiles over replications, and what is known of them.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::estimate::Estimate;
use crate::histogram::{Bucket, Histogram, check_percentile};
use crate::sections::STRETCH_MAX;
use crate::share::{Share, ShareTest};

/// Observations that must lie above a percentile for it to be a property of the distribution
/// rather than of the largest few values.
const FEWEST_ABOVE: f64 = 10.0;

/// A percentile with its interval over replications.
///
/// The interval holds every value at which the distribution may reach the percentile, by the shares
/// of the replications at or below it (a test of the distribution function turned round: Woodruff,
/// Journal of the American Statistical Association 47(260), 1952). It is right for values on a
/// lattice, too, where it is a single value if that is clear, and it contains the whole bucket of
/// the histogram at either end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PercentileEstimate {
    /// Which percentile, from 0 to 100.
    pub percentile: f64,
    /// Where the mean distribution of the replications reaches it, within its bucket by straight
    /// line, in the unit of the values; never outside of what was seen.
    pub value: f64,
    /// Lower end of the interval, no less than the smallest value seen; minus infinity for a single
    /// replication.
    pub low: f64,
    /// Upper end; infinite where too little was seen above the percentile to tell, and for a single
    /// replication.
    pub high: f64,
    /// Whether every replication has at least ten observations above the percentile; otherwise
    /// it rests on the largest few values and is biased low.
    pub resolved: bool,
    /// What each replication says of it, to compare results with: the value less how far the share of
    /// the replication at or below it is above the mean of these shares, on a scale that spreads as
    /// wide as the interval, its bins left out. Mean and value are the same.
    pub each: Vec<f64>,
}

impl PercentileEstimate {
    /// The same for the measure times a positive `factor`, as in a change of unit.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            low: self.low * factor,
            high: self.high * factor,
            each: self.each.iter().map(|each| each * factor).collect(),
            ..*self
        }
    }
}

/// Percentiles with intervals over replications of the same measure. `stretch` is by how much more
/// than they show the replications may scatter: see
/// [`ReplicationMeans::stretch`](crate::ReplicationMeans::stretch).
///
/// # Errors
/// [`Error::TooFew`] without replications or if one is empty, [`Error::OutOfRange`] for an
/// impossible percentile or confidence.
pub fn percentile_estimates(
    replications: &[Histogram],
    percentiles: &[f64],
    confidence: f64,
    stretch: f64,
) -> Result<Vec<PercentileEstimate>, Error> {
    let spread = Spread::new(replications, confidence, stretch)?;
    let of = |&percentile: &f64| {
        check_percentile(percentile)?;
        let above = 1.0 - percentile / 100.0;
        let resolved = |histogram: &Histogram| histogram.count() as f64 * above >= FEWEST_ABOVE;
        Ok(PercentileEstimate {
            percentile,
            resolved: replications.iter().all(resolved),
            ..spread.at(percentile / 100.0, confidence)?
        })
    };
    percentiles.iter().map(of).collect()
}

/// The distribution functions of all replications, step by step.
struct Spread {
    /// Every bucket that any of them uses, rising.
    buckets: Vec<Bucket>,
    /// For each bucket the share of each replication that is in or below it.
    shares: Vec<Vec<f64>>,
    min: u64,
    max: u64,
    test: Option<ShareTest>,
    /// Whether the runs are too short to tell how far above a percentile may lie.
    short: bool,
}

impl Spread {
    fn new(replications: &[Histogram], confidence: f64, stretch: f64) -> Result<Self, Error> {
        let empty = replications.iter().any(|each| each.count() == 0);
        let mut all = Histogram::new();
        replications.iter().for_each(|each| all.merge(each));
        let (Some(min), Some(max), false) = (all.min(), all.max(), empty) else {
            return Err(Error::TooFew {
                what: "observations in a replication's histogram",
                got: 0,
                needed: 1,
            });
        };
        let buckets: Vec<Bucket> = all.buckets().collect();
        let mut shares = vec![vec![0.0; replications.len()]; buckets.len()];
        for (position, replication) in replications.iter().enumerate() {
            let (mut below, mut steps) = (0, replication.buckets().peekable());
            for (bucket, shares) in buckets.iter().zip(&mut shares) {
                if let Some(step) = steps.next_if(|step| step.lower == bucket.lower) {
                    below += step.count;
                }
                shares[position] = below as f64 / replication.count() as f64;
            }
        }
        let within = stretch.min(STRETCH_MAX);
        Ok(Self {
            buckets,
            shares,
            min,
            max,
            test: ShareTest::new(replications.len(), all.count(), confidence, within)?,
            short: stretch > within,
        })
    }

    fn mean(&self, bucket: usize) -> f64 {
        let shares = &self.shares[bucket];
        shares.iter().sum::<f64>() / shares.len() as f64
    }

    /// Where the mean distribution reaches `p`, the interval, and what each replication says.
    fn at(&self, p: f64, confidence: f64) -> Result<PercentileEstimate, Error> {
        let last = self.buckets.len() - 1;
        // Sums of shares may miss a whole number by rounding.
        let reaches = |bucket: &usize| self.mean(*bucket) >= p * (1.0 - 1e-12);
        let here = (0..last).find(reaches).unwrap_or(last);
        let value = self.within(here, p);
        let (low, high) = self.interval(here, p);
        let found = PercentileEstimate {
            percentile: 100.0 * p,
            value,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            resolved: false,
            each: vec![value; self.shares[here].len()],
        };
        if self.test.is_none() {
            return Ok(found);
        }
        let seen = high.unwrap_or(here);
        let below = if low < here {
            value - self.ends(low).1
        } else {
            0.0
        };
        let above = if seen > here {
            self.ends(seen).0 - value
        } else {
            0.0
        };
        let (mean, shares) = (self.mean(here), &self.shares[here]);
        let spread = Estimate::from_samples(shares, confidence)?.half_width;
        let scale = if spread > 0.0 {
            below.max(above) / spread
        } else {
            0.0
        };
        let each = shares.iter().map(|share| value - scale * (share - mean));
        Ok(PercentileEstimate {
            low: self.ends(low).0,
            high: high.map_or(f64::INFINITY, |high| self.ends(high).1),
            each: each.collect(),
            ..found
        })
    }

    /// The place in a bucket: its values are taken as evenly spread over those that it can hold.
    fn within(&self, bucket: usize, p: f64) -> f64 {
        let (low, high) = self.ends(bucket);
        let before = bucket
            .checked_sub(1)
            .map_or(0.0, |before| self.mean(before));
        let inside = self.mean(bucket) - before;
        let part = ((p - before) / inside).clamp(0.0, 1.0);
        low + (high - low) * part
    }

    /// The values that a bucket can hold: those seen end at the smallest and the largest.
    fn ends(&self, bucket: usize) -> (f64, f64) {
        let Bucket { lower, upper, .. } = self.buckets[bucket];
        (lower.max(self.min) as f64, upper.min(self.max) as f64)
    }

    /// The first bucket at which the distribution may have reached `p`, and the last before which it may
    /// not have; none where that cannot be told.
    fn interval(&self, here: usize, p: f64) -> (usize, Option<usize>) {
        let Some(test) = &self.test else {
            return (0, None);
        };
        let share = |bucket: usize, like: Option<&Share>| test.share(&self.shares[bucket], like);
        let mut low = here;
        let mut like = share(here, None);
        while low > 0 {
            let below = share(low - 1, Some(&like));
            if !test.may_reach(&below, p) {
                break;
            }
            (low, like) = (low - 1, below);
        }
        let mut high = here;
        let mut like = share(here, None);
        while test.may_be_down_at(&like, p) {
            high += 1;
            if high == self.buckets.len() {
                return (low, None);
            }
            like = share(high, Some(&like));
        }
        let clear = low == high && self.shares[here].iter().all(|share| *share == 1.0);
        (low, (clear || !self.short).then_some(high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    fn one(replications: &[Histogram], percentile: f64) -> PercentileEstimate {
        percentile_estimates(replications, &[percentile], 0.95, 1.0)
            .unwrap()
            .remove(0)
    }

    proptest! {
        /// Whatever was seen: the value lies in it, and in the interval, which has the whole bucket.
        #[test]
        fn nothing_beyond_what_was_seen(
            values in prop::collection::vec(
                prop::collection::vec(prop_oneof![0u64..300, 900u64..1100, any::<u32>().prop_map(u64::from)], 1..60),
                2..6),
            percentile in prop_oneof![Just(0.0), Just(50.0), Just(99.0), Just(100.0), 0.0..100.0f64],
        ) {
            let replications: Vec<Histogram> = values.iter().map(|v| histogram(v.clone())).collect();
            let all = values.concat();
            let (min, max) = (*all.iter().min().unwrap(), *all.iter().max().unwrap());
            let found = one(&replications, percentile);
            prop_assert!(found.value >= min as f64 && found.value <= max as f64, "{found:?}");
            prop_assert!(found.low <= found.value && found.value <= found.high, "{found:?}");
            prop_assert!(found.low >= min as f64);
            prop_assert!(found.high == f64::INFINITY || found.high <= max as f64);
            let mean = found.each.iter().sum::<f64>() / found.each.len() as f64;
            prop_assert!((mean - found.value).abs() <= 1e-9 * found.value.abs(), "{found:?}");
            let mut merged = Histogram::new();
            replications.iter().for_each(|each| merged.merge(each));
            let bucket = merged.buckets().find(|b| b.upper as f64 >= found.value).unwrap();
            prop_assert!(found.low <= bucket.lower.max(min) as f64, "{found:?} {bucket:?}");
            prop_assert!(found.high >= bucket.upper.min(max) as f64, "{found:?} {bucket:?}");
        }
    }

    /// All is 10,066: the bucket is 10,048 to 10,111, but no value outside of what was seen is given.
    #[test]
    fn a_single_value_is_itself() {
        let same: Vec<Histogram> = (0..10).map(|_| histogram([10_066; 500])).collect();
        for percentile in [0.0, 50.0, 99.0, 100.0] {
            let found = one(&same, percentile);
            assert_eq!(
                (found.value, found.low),
                (10_066.0, 10_066.0),
                "{percentile}"
            );
        }
        assert_eq!(one(&same, 50.0).high, 10_066.0);
    }

    /// On a lattice of 40, 41, 42 with steps at 30% and 89%, the 90th percentile may be 41 or 42 as
    /// long as that is what the replications differ by; the median is clear.
    #[test]
    fn lattices_give_a_value_where_it_is_clear_and_both_where_not() {
        let replications: Vec<Histogram> = (0..10u64)
            .map(|i| {
                histogram((0..1000).map(|j| match j {
                    0..300 => 40,
                    j if j < 880 + 2 * i + i % 2 => 41,
                    _ => 42,
                }))
            })
            .collect();
        let (median, high) = (one(&replications, 50.0), one(&replications, 90.0));
        assert_eq!((median.value, median.low, median.high), (41.0, 41.0, 41.0));
        assert_eq!((high.value, high.low, high.high), (42.0, 42.0, 42.0));
        let (edge, far) = (one(&replications, 89.0), one(&replications, 87.0));
        assert_eq!((edge.low, edge.high), (41.0, 42.0));
        assert_eq!((far.low, far.high), (41.0, 41.0));
    }

    /// Ten replications of 20 say nothing of how far the 99th percentile may lie: (0.99)^200 = 13%.
    #[test]
    fn what_too_little_was_seen_of_has_no_upper_end() {
        let few: Vec<Histogram> = (0..10).map(|i| histogram(i..i + 20)).collect();
        let found = one(&few, 99.0);
        assert!(!found.resolved && found.high.is_infinite() && found.low < found.value);
        let single = one(&few[..1], 50.0);
        assert_eq!(
            (single.low, single.high),
            (f64::NEG_INFINITY, f64::INFINITY)
        );
    }

    #[test]
    fn percentiles_of_replications() {
        let replications: Vec<Histogram> = (0..3).map(|i| histogram(1 + i..=100 + i)).collect();
        let found = percentile_estimates(&replications, &[50.0, 95.0], 0.95, 1.0).unwrap();
        // 50, 51, 52 and 95, 96, 97; five observations lie above the latter.
        assert_eq!((found[0].value, found[0].resolved), (51.0, true));
        assert_eq!((found[1].value, found[1].resolved), (96.0, false));
        let half = found[0].scaled(0.5);
        assert_eq!((half.value, half.low), (25.5, found[0].low / 2.0));
        let wider = percentile_estimates(&replications, &[50.0], 0.95, 2.0)
            .unwrap()
            .remove(0);
        assert!(wider.low < found[0].low && wider.high > found[0].high);
        let short = percentile_estimates(&replications, &[50.0], 0.95, f64::INFINITY)
            .unwrap()
            .remove(0);
        assert_eq!((short.low, short.high), (wider.low, f64::INFINITY));
        let same = [histogram([7; 50]), histogram([7; 60])];
        let same = percentile_estimates(&same, &[50.0], 0.95, f64::INFINITY)
            .unwrap()
            .remove(0);
        assert_eq!((same.low, same.high), (7.0, 7.0));
    }

    #[test]
    fn empty_histograms_and_impossible_percentiles() {
        let empty = Histogram::new();
        assert!(matches!(
            percentile_estimates(&[empty], &[50.0], 0.95, 1.0),
            Err(Error::TooFew { .. })
        ));
        assert!(percentile_estimates(&[], &[50.0], 0.95, 1.0).is_err());
        let some = [histogram([1, 2])];
        assert!(percentile_estimates(&some, &[100.1], 0.95, 1.0).is_err());
    }
}
