//! Backlog: the number of demands (requests to the simulated system) that are offered and not yet
//! served, over time.

use crate::error::{Error, at_least};
use serde::{Deserialize, Serialize};

/// Maximum number of samples that a backlog stores.
const CAPACITY: usize = 512;

/// Backlog of one replication over time. Each sample consists of the number of demands offered so
/// far and the number of these demands that are still in the system (including those that wait at
/// their source).
///
/// The type stores at most 512 samples. When it is full, it drops every second sample, and from
/// then on it stores only every second new sample. So the caller may sample for any time at any
/// regular interval. The latest sample is always stored. The caller should take the first sample
/// before the first demand.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Backlog {
    points: Vec<Point>,
    latest: Option<Point>,
    /// Number of samples to skip after each stored sample.
    skip: u64,
    /// Number of samples still to skip before the next one is stored.
    skip_left: u64,
}

/// A sample: the number of demands offered so far, and how many of them are not served.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Point {
    offered: u64,
    level: u64,
}

impl Backlog {
    /// Create a backlog from its values at the ends of blocks: it starts at `start`, and
    /// `blocks[i]` contains the number of demands offered during block i and the backlog at its
    /// end.
    #[cfg(test)]
    pub(crate) fn from_blocks(start: u64, blocks: &[(u64, u64)]) -> Self {
        let mut backlog = Self::default();
        backlog.sample(0, start);
        let mut offered = 0;
        for (during, level) in blocks {
            offered += during;
            backlog.sample(offered, *level);
        }
        backlog
    }

    /// Record a sample: `offered` demands since the start of the run, of which `level` are not
    /// served.
    pub fn sample(&mut self, offered: u64, level: u64) {
        let point = Point { offered, level };
        self.latest = Some(point);
        if self.skip_left > 0 {
            self.skip_left -= 1;
            return;
        }
        self.points.push(point);
        if self.points.len() == CAPACITY {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            // Store the next sample after the old interval, because halving has dropped the last of
            // an even number of samples.
            self.skip_left = self.skip;
            self.skip = 2 * self.skip + 1;
        } else {
            self.skip_left = self.skip;
        }
    }

    /// Return the stored samples, as (demands offered so far, backlog).
    pub fn samples(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let tail = self
            .latest
            .filter(|latest| self.points.last() != Some(latest));
        self.points
            .iter()
            .copied()
            .chain(tail)
            .map(|point| (point.offered, point.level))
    }

    /// Return the number of demands offered between the first and the latest sample.
    #[must_use]
    pub fn offered(&self) -> u64 {
        match (self.points.first(), self.latest) {
            (Some(first), Some(latest)) => latest.offered.saturating_sub(first.offered),
            _ => 0,
        }
    }

    /// Return the gain of the backlog per offered demand in each of `sections` equal parts of the
    /// run, with equal numbers of offered demands. Between samples the backlog is interpolated
    /// linearly.
    ///
    /// # Errors
    /// [`Error::TooFew`] with fewer samples than ends of sections or without demands,
    /// [`Error::OutOfRange`] if the number of offered demands ever decreases.
    pub(crate) fn growth(&self, sections: usize) -> Result<Vec<f64>, Error> {
        let points = self.valid_samples(sections)?;
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        let section = (last - first) / sections as f64;
        let mut before = points[0].1;
        Ok((1..=sections)
            .map(|end| {
                let level = if end == sections {
                    points[points.len() - 1].1
                } else {
                    level_at(&points, first + section * end as f64)
                };
                let growth = (level - before) / section;
                before = level;
                growth
            })
            .collect())
    }

    /// Return the gain of the backlog per offered demand in each of `sections` equal parts of the
    /// run, as the slope of the line of least squares through the samples of the part. For a
    /// backlog that only fluctuates, this is much more precise than [`Backlog::growth`], which uses
    /// only the samples at the two ends of a part.
    ///
    /// # Errors
    /// Those of [`Backlog::growth`].
    pub(crate) fn trends(&self, sections: usize) -> Result<Vec<f64>, Error> {
        let points = self.valid_samples(sections)?;
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        let section = (last - first) / sections as f64;
        let ends = self.growth(sections)?;
        let mut left = points.as_slice();
        let trends = ends.iter().enumerate().map(|(index, gained)| {
            let end = first + section * (index + 1) as f64;
            let within = if index + 1 == sections {
                left.len()
            } else {
                left.partition_point(|point| point.0 < end)
            };
            let (here, rest) = left.split_at(within);
            left = rest;
            slope(here).unwrap_or(*gained)
        });
        Ok(trends.collect())
    }

    /// Return the samples if they are valid and enough for this number of sections, else an error.
    fn valid_samples(&self, sections: usize) -> Result<Vec<(f64, f64)>, Error> {
        let points: Vec<(f64, f64)> = self.samples().map(|(o, l)| (o as f64, l as f64)).collect();
        at_least(
            sections + 1,
            "backlog samples of a replication",
            points.len(),
        )?;
        if let Some(pair) = points.windows(2).find(|pair| pair[1].0 < pair[0].0) {
            return Err(Error::OutOfRange {
                what: "number of demands offered so far",
                value: pair[1].0,
                wanted: "at least as large as in the sample before",
            });
        }
        at_least(
            1,
            "demands offered in a replication",
            self.offered() as usize,
        )?;
        Ok(points)
    }
}

/// Return the slope of the line of least squares through these points, which is the gain of the
/// backlog per offered demand. The result is `None` for fewer than three points.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let mean_of = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (offered, level) = (mean_of(|point| point.0), mean_of(|point| point.1));
    let (mut products, mut squares) = (0.0, 0.0);
    for point in points {
        products += (point.0 - offered) * (point.1 - level);
        squares += (point.0 - offered).powi(2);
    }
    (squares > 0.0).then_some(products / squares)
}

/// Return the backlog when `offered` demands have been offered; `offered` must lie within the
/// samples.
fn level_at(points: &[(f64, f64)], offered: f64) -> f64 {
    let after = points.partition_point(|point| point.0 <= offered);
    match (
        after.checked_sub(1).map(|before| points[before]),
        points.get(after),
    ) {
        (Some(before), Some(after)) => {
            before.1 + (after.1 - before.1) * (offered - before.0) / (after.0 - before.0)
        }
        (Some(before), None) => before.1,
        (None, _) => points[0].1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks that the stored samples are evenly spaced and include the first and the last, and
        /// that the growth computed from them is that of all samples.
        #[test]
        fn samples_are_thinned_evenly(count in 1u64..20_000) {
            let mut backlog = Backlog::default();
            (0..count).for_each(|index| backlog.sample(10 * index, 3 * index));
            let kept: Vec<(u64, u64)> = backlog.samples().collect();
            prop_assert!(kept.len() <= CAPACITY && (count < 512 || kept.len() >= CAPACITY / 2));
            prop_assert_eq!(kept[0], (0, 0));
            prop_assert_eq!(kept[kept.len() - 1], (10 * (count - 1), 3 * (count - 1)));
            let steps: Vec<u64> = kept.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
            let regular = &steps[..steps.len().saturating_sub(1)];
            prop_assert!(regular.windows(2).all(|pair| pair[0] == pair[1]), "{steps:?}");
            if count >= 16 {
                for growth in backlog.growth(10).unwrap() {
                    prop_assert!((growth - 0.3).abs() < 1e-9);
                }
            }
        }
    }

    /// Checks that the growth of the backlog is per offered demand, not per time.
    #[test]
    fn growth_is_counted_per_demand() {
        // After each block of 100 demands the backlog is 20, 30, 40 and 50.
        let backlog = Backlog::from_blocks(0, &[(100, 20), (100, 30), (100, 40), (100, 50)]);
        assert_eq!(backlog.offered(), 400);
        assert_eq!(backlog.growth(2).unwrap(), [30.0 / 200.0, 20.0 / 200.0]);
        assert_eq!(backlog.growth(4).unwrap(), [0.2, 0.1, 0.1, 0.1]);
        let uneven = Backlog::from_blocks(5, &[(100, 15), (300, 45)]);
        assert_eq!(uneven.growth(2).unwrap(), [0.1, 0.1]);
    }

    /// Checks the slopes for an alternating backlog of 40 +- 3 in sections of 20 demands. The ends
    /// of a section differ by up to 6, but the line through 1,000 samples rises by less than 3
    /// sqrt(12 / 1,000) in all.
    #[test]
    fn trends_are_those_of_all_samples() {
        let ramp = Backlog::from_blocks(0, &[(100, 20), (100, 40), (100, 60), (100, 80)]);
        assert_eq!(ramp.trends(1).unwrap(), [0.2]);
        // Each section has samples only at its two ends, which determine the trend.
        assert_eq!(ramp.trends(4).unwrap(), [0.2, 0.2, 0.2, 0.2]);
        let blocks: Vec<(u64, u64)> = (0..400)
            .map(|i| (20, if i % 2 == 0 { 37 } else { 43 }))
            .collect();
        let noisy = Backlog::from_blocks(40, &blocks);
        let demands = 8_000.0;
        for trend in noisy.trends(2).unwrap() {
            assert!(
                trend.abs() * demands / 2.0 < 3.0 * (12.0f64 / 200.0).sqrt(),
                "{trend}"
            );
        }
    }

    /// Checks that a backlog with too few samples, without demands, or with decreasing times is
    /// refused.
    #[test]
    fn unusable_backlogs_are_refused() {
        assert!(matches!(
            Backlog::default().growth(1),
            Err(Error::TooFew { .. })
        ));
        let idle = Backlog::from_blocks(0, &[(0, 0), (0, 0)]);
        assert!(
            matches!(idle.growth(2), Err(Error::TooFew { what, .. }) if what.contains("demands"))
        );
        let mut backwards = Backlog::from_blocks(0, &[(10, 1)]);
        backwards.sample(5, 1);
        assert!(matches!(backwards.growth(1), Err(Error::OutOfRange { .. })));
    }
}
