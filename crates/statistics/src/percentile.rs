//! Percentiles over replications, with confidence intervals.

use crate::error::Error;
use crate::estimate::Estimate;
use crate::histogram::{Bucket, Histogram};
use crate::share::ShareTest;

/// Minimum number of observations above a percentile. With fewer, the percentile depends on the
/// largest few values instead of the distribution.
const FEWEST_ABOVE: f64 = 10.0;
/// Minimum ratio of the density of observations in a histogram bucket to that in the adjacent buckets, at which all
/// observations of the bucket may have the same value.
const STEP: f64 = 2.0;
/// Divisor of the number of independent observations, for upper ends of intervals, if a steady state is
/// uncertain. Runs start below their steady state: for example, by half a standard deviation of the
/// observations for a hypercube at 90% of its saturation load.
const UNSTEADY_DIVISOR: f64 = 1.5;

/// A percentile with its confidence interval over replications.
///
/// The ends of the interval are points of the mean distribution of the replications: the point
/// where it reaches the lowest share of observations that may lie below the percentile, and the
/// point where it exceeds the highest such share (Woodruff, Journal of the American Statistical
/// Association 47(260), 1952). Both shares follow from the scatter of the shares of the
/// replications at the percentile. An end within a bucket of the histogram is interpolated
/// linearly. A bucket that may contain a single value belongs to the interval as a whole. So for
/// values on a lattice, the interval is a single value if that value is certain.
///
/// The interval assumes a steady state and independent replications. It does not assume long ones,
/// since a correlation of successive observations shows in the scatter of the replications.
#[derive(Debug, Clone, PartialEq)]
pub struct PercentileEstimate {
    /// The percentage, from 0 to 100.
    pub percentile: f64,
    /// The value at which the mean distribution of the replications reaches the percentage,
    /// interpolated linearly within its bucket, in the unit of the observations. It is always
    /// within the range of the observations.
    pub value: f64,
    /// Lower end of the interval, at least the smallest observation; minus infinity for a single
    /// replication.
    pub low: f64,
    /// Upper end of the interval. It is infinite with too few observations above the percentile,
    /// without a certain steady state, and for a single replication.
    pub high: f64,
    /// Whether every replication has at least ten observations above the percentile. Otherwise the
    /// percentile depends on the largest few values.
    pub resolved: bool,
    /// One value per replication, to compare results in pairs. It is lower than `value` if the
    /// replication has a larger share of observations at or below `value` than the mean of all
    /// replications, in proportion to the difference. The scale makes the spread of these values as
    /// wide as the interval without the width of histogram bins. Their mean is `value`.
    pub each: Vec<f64>,
}

impl PercentileEstimate {
    /// Set the upper end of the interval to infinity, unless both ends are the same value.
    pub(crate) fn remove_upper_end(&mut self) {
        if self.low < self.high {
            self.high = f64::INFINITY;
        }
    }

    /// Return the percentile of the measure multiplied by a positive `factor`, as in a change of
    /// unit.
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

/// Return percentiles of the observations of all `replications`, each with its confidence interval.
/// If `steady` is false, the runs may have started below the steady state, and the upper end of each
/// interval is raised accordingly.
///
/// # Errors
/// [`Error::TooFew`] without replications or if one is empty, [`Error::OutOfRange`] for an
/// impossible percentile or confidence.
pub fn percentile_estimates(
    replications: &[Histogram],
    percentiles: &[f64],
    confidence: f64,
    steady: bool,
) -> Result<Vec<PercentileEstimate>, Error> {
    let spread = Distributions::new(replications, confidence, steady)?;
    let of = |&percentile: &f64| {
        if !(0.0..=100.0).contains(&percentile) {
            return Err(Error::OutOfRange {
                what: "percentile",
                value: percentile,
                wanted: "from 0 to 100",
            });
        }
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

/// The distribution functions of the observations, one for each replication, over the same histogram buckets.
struct Distributions {
    /// All histogram buckets in which any replication has observations, in ascending order of values.
    buckets: Vec<Bucket>,
    /// For each bucket, the share of the observations of each replication in or below the bucket.
    shares: Vec<Vec<f64>>,
    min: u64,
    max: u64,
    test: Option<ShareTest>,
    /// The upper end of an interval is computed as if there were fewer independent observations: their number is
    /// divided by this.
    upper_divisor: f64,
}

/// One end of a percentile's confidence interval: its value, and its distance from the percentile.
struct End {
    at: f64,
    /// Distance of the end from the percentile. If the end is that of a histogram bucket, the width of the bucket
    /// does not count.
    distance: f64,
}

impl Distributions {
    /// Return the distribution functions of the observations, one for each replication's histogram.
    fn new(replications: &[Histogram], confidence: f64, steady: bool) -> Result<Self, Error> {
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
        Ok(Self {
            buckets,
            shares,
            min,
            max,
            test: ShareTest::new(replications.len(), all.count(), confidence)?,
            upper_divisor: if steady { 1.0 } else { UNSTEADY_DIVISOR },
        })
    }

    /// Return the share of observations in or below a histogram bucket, as the mean over the replications.
    fn mean(&self, bucket: usize) -> f64 {
        let shares = &self.shares[bucket];
        shares.iter().sum::<f64>() / shares.len() as f64
    }

    /// Return the percentile for the share `p` of observations, from 0 to 1, with its confidence interval and
    /// a value for each replication.
    fn at(&self, p: f64, confidence: f64) -> Result<PercentileEstimate, Error> {
        let here = self.bucket_reaching(p);
        let value = self.within(here, p);
        let found = PercentileEstimate {
            percentile: 100.0 * p,
            value,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            resolved: false,
            each: vec![value; self.shares[here].len()],
        };
        let Some(test) = &self.test else {
            return Ok(found);
        };
        let (below, above) = self.shares_around(here, p);
        let low = self.low(test.lowest(p, test.effective_size(&below)), value);
        let high = self.high(
            test.highest(p, test.effective_size(&above) / self.upper_divisor),
            value,
        );
        let (mean, spread) = {
            let shares = Estimate::from_samples(&above, confidence)?;
            (shares.mean, shares.half_width)
        };
        let distance = low
            .distance
            .max(high.as_ref().map_or(0.0, |high| high.distance));
        let scale = if spread > 0.0 { distance / spread } else { 0.0 };
        let each = above.iter().map(|share| value - scale * (share - mean));
        Ok(PercentileEstimate {
            low: low.at,
            high: high.map_or(f64::INFINITY, |high| high.at),
            each: each.collect(),
            ..found
        })
    }

    /// Return the first bucket for which a share of `p` of the observations is in or below it.
    fn bucket_reaching(&self, p: f64) -> usize {
        let last = self.buckets.len() - 1;
        // Accept a sum of shares slightly below `p`, which may be due to rounding errors.
        let is_reached = |bucket: &usize| self.mean(*bucket) >= p * (1.0 - 1e-12);
        (0..last).find(is_reached).unwrap_or(last)
    }

    /// Return two lists with one share of observations per replication: those below the value where
    /// the mean distribution function reaches `p`, and those at or below it. The lists differ only if
    /// the function has a step at this value.
    fn shares_around(&self, here: usize, p: f64) -> (Vec<f64>, Vec<f64>) {
        let after = &self.shares[here];
        let before = here.checked_sub(1).map_or_else(
            || vec![0.0; after.len()],
            |before| self.shares[before].clone(),
        );
        if self.is_step(here) {
            return (before, after.clone());
        }
        let fraction = self.fraction(here, p);
        let on = |(before, after): (&f64, &f64)| before + fraction * (after - before);
        let line: Vec<f64> = before.iter().zip(after).map(on).collect();
        (line.clone(), line)
    }

    /// Return the lower end of a percentile's interval, at most `value`: the point where the mean distribution
    /// function reaches `share`.
    fn low(&self, share: f64, value: f64) -> End {
        let bucket = self.bucket_reaching(share);
        let (lower, upper) = self.value_range(bucket);
        let (at, near) = if self.is_step(bucket) {
            (lower, upper.min(value))
        } else {
            let at = self.within(bucket, share).min(value);
            (at, at)
        };
        End {
            at,
            distance: value - near,
        }
    }

    /// Return the upper end of a percentile's interval, at least `value`: the point where the mean
    /// distribution function exceeds `share`; `None` if it never does.
    fn high(&self, share: f64, value: f64) -> Option<End> {
        let bucket = (0..self.buckets.len()).find(|bucket| self.mean(*bucket) > share)?;
        let (lower, upper) = self.value_range(bucket);
        let (at, near) = if self.is_step(bucket) {
            (upper, lower.max(value))
        } else {
            let at = self.within(bucket, share).max(value);
            (at, at)
        };
        Some(End {
            at,
            distance: near - value,
        })
    }

    /// Return whether a histogram bucket may be a step of the distribution function, with one value only.
    /// That is so if the bucket can contain only one value, or is much denser than the adjacent buckets.
    /// The position of that value in the bucket is unknown.
    fn is_step(&self, bucket: usize) -> bool {
        let density =
            |bucket: &Bucket| bucket.count as f64 / (bucket.upper - bucket.lower + 1) as f64;
        let here = &self.buckets[bucket];
        let below = bucket.checked_sub(1).map(|below| &self.buckets[below]);
        let below = below.filter(|below| below.upper + 1 == here.lower);
        let above = self.buckets.get(bucket + 1);
        let above = above.filter(|above| here.upper + 1 == above.lower);
        let beside = below.map_or(0.0, density).max(above.map_or(0.0, density));
        here.lower == here.upper || density(here) > STEP * beside
    }

    /// Return the value at which the mean distribution reaches `p` within a bucket. The
    /// observations are assumed to be spread evenly over the bucket.
    fn within(&self, bucket: usize, p: f64) -> f64 {
        let (low, high) = self.value_range(bucket);
        low + (high - low) * self.fraction(bucket, p)
    }

    /// Return the fraction of a bucket of the histogram, from 0 to 1, that lies below the point where the
    /// mean distribution function reaches `p`.
    fn fraction(&self, bucket: usize, p: f64) -> f64 {
        let before = bucket
            .checked_sub(1)
            .map_or(0.0, |before| self.mean(before));
        let inside = self.mean(bucket) - before;
        ((p - before) / inside).clamp(0.0, 1.0)
    }

    /// Return the smallest and the largest value that an observation in a bucket of the histogram may have.
    fn value_range(&self, bucket: usize) -> (f64, f64) {
        let Bucket { lower, upper, .. } = self.buckets[bucket];
        (lower.max(self.min) as f64, upper.min(self.max) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Return the histogram of these values.
    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    /// Return the estimate of one percentile.
    fn one(replications: &[Histogram], percentile: f64) -> PercentileEstimate {
        percentile_estimates(replications, &[percentile], 0.95, true)
            .unwrap()
            .remove(0)
    }

    proptest! {
        /// Checks, for any observations, that the value lies within their range and in the
        /// interval, and that the interval contains the whole of a bucket that touches no other.
        #[test]
        fn percentiles_lie_within_the_observations(
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
            let widest = found.each.iter().fold(0.0f64, |most, each| most.max(each.abs()));
            prop_assert!((mean - found.value).abs() <= 1e-12 * widest, "{found:?}");
            let mut merged = Histogram::new();
            replications.iter().for_each(|each| merged.merge(each));
            let buckets: Vec<Bucket> = merged.buckets().collect();
            let at = buckets.iter().position(|b| b.upper as f64 >= found.value).unwrap();
            let bucket = buckets[at];
            let touched = at > 0 && buckets[at - 1].upper + 1 == bucket.lower
                || buckets.get(at + 1).is_some_and(|next| bucket.upper + 1 == next.lower);
            if !touched && percentile < 100.0 {
                prop_assert!(found.low <= bucket.lower.max(min) as f64, "{found:?} {bucket:?}");
                prop_assert!(found.high >= bucket.upper.min(max) as f64, "{found:?} {bucket:?}");
            }
        }
    }

    /// Checks that the percentile of equal observations is exactly their value. All observations are 10,066. Their
    /// bucket is 10,048 to 10,111, but no value outside the range of the observations is returned.
    #[test]
    fn equal_observations_give_their_exact_value() {
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

    /// Checks the intervals of percentiles of integers with few different values. The observations are 40, 41 or 42,
    /// with steps of the distribution at 30% and 89%. The 90th percentile may be 41 or 42 if the replications differ by
    /// that; the median is certain.
    #[test]
    fn intervals_of_integers_contain_one_or_two_values() {
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

    /// Checks that an end of an interval is interpolated within a bucket of the histogram. Ten replications have each
    /// of 4096 values once. Their shares do not differ, so the median is as precise as from n = 40,960 independent
    /// observations: up to 1.96 sqrt(1/4 / n) of the values plus half an observation. That is less than the 32 values
    /// of a bucket.
    #[test]
    fn ends_lie_within_buckets() {
        let even: Vec<Histogram> = (0..10).map(|_| histogram(4096..8192)).collect();
        let found = one(&even, 50.0);
        let n = 40_960.0f64;
        let half = 4096.0 * (1.959_964 * (0.25 / n).sqrt() + 0.5 / n);
        assert!((half - 19.9).abs() < 0.1);
        assert!((found.value - 6143.5).abs() <= 32.0 / 2.0);
        // Intervals end at integers, and the last value of a bucket is 1 less than the first of the next:
        // tolerate 1.5.
        assert!((found.value - found.low - half).abs() <= 1.5, "{found:?}");
        assert!((found.high - found.value - half).abs() <= 1.5, "{found:?}");
    }

    /// Checks that a percentile with too few observations above it has no upper end. Ten replications of 20
    /// observations give its confidence interval no upper end for the 99th percentile: with probability
    /// (0.99)^200 = 13%, all observations lie below the percentile.
    #[test]
    fn too_few_observations_give_no_upper_end() {
        let few: Vec<Histogram> = (0..10).map(|i| histogram(i..i + 20)).collect();
        let found = one(&few, 99.0);
        assert!(!found.resolved && found.high.is_infinite() && found.low < found.value);
        let single = one(&few[..1], 50.0);
        assert_eq!(
            (single.low, single.high),
            (f64::NEG_INFINITY, f64::INFINITY)
        );
    }

    /// Checks that the result is the mean of the percentiles of three replications, and that a percentile with few
    /// observations above it is marked as not resolved.
    #[test]
    fn percentiles_of_replications() {
        let replications: Vec<Histogram> = (0..3).map(|i| histogram(1 + i..=100 + i)).collect();
        let found = percentile_estimates(&replications, &[50.0, 95.0], 0.95, true).unwrap();
        // The percentiles of the replications are 50, 51, 52 and 95, 96, 97; five observations lie
        // above the latter.
        assert_eq!((found[0].value, found[0].resolved), (51.0, true));
        assert_eq!((found[1].value, found[1].resolved), (96.0, false));
        let half = found[0].scaled(0.5);
        assert_eq!((half.value, half.low), (25.5, found[0].low / 2.0));
        let doubtful = percentile_estimates(&replications, &[50.0], 0.95, false).unwrap();
        assert_eq!(doubtful[0].low, found[0].low);
        assert!(doubtful[0].high > found[0].high);
        let same = [histogram([7; 50]), histogram([7; 60])];
        let same = one(&same, 50.0);
        assert_eq!((same.low, same.high), (7.0, 7.0));
    }

    /// Checks that empty histograms and percentiles above 100 are refused.
    #[test]
    fn empty_histograms_and_impossible_percentiles() {
        let empty = Histogram::new();
        assert!(matches!(
            percentile_estimates(&[empty], &[50.0], 0.95, true),
            Err(Error::TooFew { .. })
        ));
        assert!(percentile_estimates(&[], &[50.0], 0.95, true).is_err());
        let some = [histogram([1, 2])];
        assert!(percentile_estimates(&some, &[100.1], 0.95, true).is_err());
    }
}
