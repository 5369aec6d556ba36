//! Percentiles over replications, and what is known of them.

use crate::error::Error;
use crate::estimate::Estimate;
use crate::histogram::{Bucket, Histogram};
use crate::share::ShareTest;

/// Observations that must lie above a percentile for it to be a property of the distribution
/// rather than of the largest few values.
const FEWEST_ABOVE: f64 = 10.0;
/// Density of a bucket over that of its neighbours from which on it may hold a single value.
const STEP: f64 = 2.0;
/// By how much less observations are worth where it is not known whether there is a steady state: such
/// runs begin below it, at 90% of the knee of a hypercube by half a standard deviation of what they show.
const DOUBT: f64 = 1.5;

/// A percentile with its interval over replications.
///
/// The interval reaches from where the mean distribution of the replications comes to the lowest share
/// of observations that may be seen below the percentile, to where it rises above the highest (Woodruff,
/// Journal of the American Statistical Association 47(260), 1952). Both shares follow from how the
/// shares of the replications scatter at the percentile. Ends lie in buckets of the histogram by straight
/// line; a bucket that may hold a single value belongs to the interval as a whole. On a lattice the
/// interval is therefore a single value if that is clear.
///
/// It presumes a steady state, and that replications are independent, but not that they are long: how far
/// neighbours depend on one another is in how replications scatter.
#[derive(Debug, Clone, PartialEq)]
pub struct PercentileEstimate {
    /// Which percentile, from 0 to 100.
    pub percentile: f64,
    /// Where the mean distribution of the replications reaches it, within its bucket by straight
    /// line, in the unit of the values; never outside of what was seen.
    pub value: f64,
    /// Lower end of the interval, no less than the smallest value seen; minus infinity for a single
    /// replication.
    pub low: f64,
    /// Upper end; infinite where too little was seen above the percentile to tell, where it is not known
    /// whether there is a steady state, and for a single replication.
    pub high: f64,
    /// Whether every replication has at least ten observations above the percentile; otherwise
    /// it rests on the largest few values.
    pub resolved: bool,
    /// What each replication says of it, to compare results with: the value less how far the share of
    /// the replication at or below it is above the mean of these shares, on a scale that spreads as
    /// wide as the interval, its bins left out. Mean and value are the same.
    pub each: Vec<f64>,
}

impl PercentileEstimate {
    /// Take away the upper end, unless the whole interval is a single value.
    pub(crate) fn leave_open(&mut self) {
        if self.low < self.high {
            self.high = f64::INFINITY;
        }
    }

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

/// Percentiles with intervals over replications of the same measure. Where it is not known whether
/// they are of a steady state (`steady`), the upper arm allows for runs that begin below it.
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
    let spread = Spread::new(replications, confidence, steady)?;
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

/// The distribution functions of all replications, step by step.
struct Spread {
    /// Every bucket that any of them uses, rising.
    buckets: Vec<Bucket>,
    /// For each bucket the share of each replication that is in or below it.
    shares: Vec<Vec<f64>>,
    min: u64,
    max: u64,
    test: Option<ShareTest>,
    /// By how much less the observations are worth for the upper end.
    doubt: f64,
}

/// One end of an interval.
struct End {
    at: f64,
    /// How far it is from the percentile, less what is due to the width of a bucket.
    apart: f64,
}

impl Spread {
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
            doubt: if steady { 1.0 } else { DOUBT },
        })
    }

    fn mean(&self, bucket: usize) -> f64 {
        let shares = &self.shares[bucket];
        shares.iter().sum::<f64>() / shares.len() as f64
    }

    /// Where the mean distribution reaches `p`, the interval, and what each replication says.
    fn at(&self, p: f64, confidence: f64) -> Result<PercentileEstimate, Error> {
        let here = self.reaches(p);
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
        let (below, above) = self.around(here, p);
        let low = self.low(test.lowest(p, test.worth(&below)), value);
        let high = self.high(test.highest(p, test.worth(&above) / self.doubt), value);
        let (mean, spread) = {
            let shares = Estimate::from_samples(&above, confidence)?;
            (shares.mean, shares.half_width)
        };
        let apart = low.apart.max(high.as_ref().map_or(0.0, |high| high.apart));
        let scale = if spread > 0.0 { apart / spread } else { 0.0 };
        let each = above.iter().map(|share| value - scale * (share - mean));
        Ok(PercentileEstimate {
            low: low.at,
            high: high.map_or(f64::INFINITY, |high| high.at),
            each: each.collect(),
            ..found
        })
    }

    /// The first bucket in or below which there is a share of `p`.
    fn reaches(&self, p: f64) -> usize {
        let last = self.buckets.len() - 1;
        // Sums of shares may miss a whole number by rounding.
        let reaches = |bucket: &usize| self.mean(*bucket) >= p * (1.0 - 1e-12);
        (0..last).find(reaches).unwrap_or(last)
    }

    /// The shares of the replications next to where the mean distribution reaches `p`: below and
    /// above the step there, or on the straight line.
    fn around(&self, here: usize, p: f64) -> (Vec<f64>, Vec<f64>) {
        let after = &self.shares[here];
        let before = here.checked_sub(1).map_or_else(
            || vec![0.0; after.len()],
            |before| self.shares[before].clone(),
        );
        if self.is_step(here) {
            return (before, after.clone());
        }
        let part = self.part(here, p);
        let on = |(before, after): (&f64, &f64)| before + part * (after - before);
        let line: Vec<f64> = before.iter().zip(after).map(on).collect();
        (line.clone(), line)
    }

    /// The lower end, where the mean distribution reaches `share`.
    fn low(&self, share: f64, value: f64) -> End {
        let bucket = self.reaches(share);
        let (lower, upper) = self.ends(bucket);
        let (at, near) = if self.is_step(bucket) {
            (lower, upper.min(value))
        } else {
            let at = self.within(bucket, share).min(value);
            (at, at)
        };
        End {
            at,
            apart: value - near,
        }
    }

    /// The upper end, where the mean distribution rises above `share`; none where it does not.
    fn high(&self, share: f64, value: f64) -> Option<End> {
        let bucket = (0..self.buckets.len()).find(|bucket| self.mean(*bucket) > share)?;
        let (lower, upper) = self.ends(bucket);
        let (at, near) = if self.is_step(bucket) {
            (upper, lower.max(value))
        } else {
            let at = self.within(bucket, share).max(value);
            (at, at)
        };
        Some(End {
            at,
            apart: near - value,
        })
    }

    /// Whether a bucket is a step of the distribution: it can hold one value alone, or it holds so
    /// much more than its neighbours that it may. Where in the bucket that value is, is not known.
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

    /// The place in a bucket: its values are taken as evenly spread over those that it can hold.
    fn within(&self, bucket: usize, p: f64) -> f64 {
        let (low, high) = self.ends(bucket);
        low + (high - low) * self.part(bucket, p)
    }

    /// The part of a bucket up to where the mean distribution reaches `p`.
    fn part(&self, bucket: usize, p: f64) -> f64 {
        let before = bucket
            .checked_sub(1)
            .map_or(0.0, |before| self.mean(before));
        let inside = self.mean(bucket) - before;
        ((p - before) / inside).clamp(0.0, 1.0)
    }

    /// The values that a bucket can hold: those seen end at the smallest and the largest.
    fn ends(&self, bucket: usize) -> (f64, f64) {
        let Bucket { lower, upper, .. } = self.buckets[bucket];
        (lower.max(self.min) as f64, upper.min(self.max) as f64)
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
        percentile_estimates(replications, &[percentile], 0.95, true)
            .unwrap()
            .remove(0)
    }

    proptest! {
        /// Whatever was seen: the value lies in it, and in the interval, which has the whole of a bucket
        /// that no other touches.
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

    /// Ten replications with each of 4096 values once: their shares do not differ, so that the median is
    /// as well known as from n = 40,960 independent observations, to 1.96 sqrt(1/4 / n) of the values
    /// and half an observation. That is less than the 32 values of a bucket.
    #[test]
    fn ends_lie_within_buckets() {
        let even: Vec<Histogram> = (0..10).map(|_| histogram(4096..8192)).collect();
        let found = one(&even, 50.0);
        let n = 40_960.0f64;
        let half = 4096.0 * (1.959_964 * (0.25 / n).sqrt() + 0.5 / n);
        assert!((half - 19.9).abs() < 0.1);
        assert!((found.value - 6143.5).abs() <= 32.0 / 2.0);
        // The last value of a bucket is one less than the first of the next.
        assert!((found.value - found.low - half).abs() <= 1.5, "{found:?}");
        assert!((found.high - found.value - half).abs() <= 1.5, "{found:?}");
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
        let found = percentile_estimates(&replications, &[50.0, 95.0], 0.95, true).unwrap();
        // 50, 51, 52 and 95, 96, 97; five observations lie above the latter.
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
