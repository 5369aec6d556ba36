//! Whether a run may stop, and how much longer it must go on.

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;

/// How well a measure must be known: its half-width must not exceed
/// `max(relative * |mean|, absolute)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Half-width over the absolute mean, such as 0.02.
    pub relative: f64,
    /// A half-width in the unit of the measure that is good enough whatever the mean is; 0 for
    /// none. It lets a measure with a mean near zero be met.
    pub absolute: f64,
}

impl Target {
    /// A relative half-width only.
    #[must_use]
    pub fn relative(relative: f64) -> Self {
        Self {
            relative,
            absolute: 0.0,
        }
    }

    /// Half-width over the one allowed: at most 1 if the target is met.
    fn excess(&self, estimate: &Estimate) -> f64 {
        let allowed = (self.relative * estimate.mean.abs()).max(self.absolute);
        if estimate.half_width == 0.0 {
            0.0
        } else {
            estimate.half_width / allowed
        }
    }
}

/// A sequential stopping rule with few looks.
///
/// After every round the caller computes its estimates and asks; if a target is missed, the rule
/// returns the factor by which to increase the work (number of replications, or their length),
/// under the law that half-widths fall like 1 / sqrt(work). A rule that looks at the half-width
/// often stops preferably when the spread happens to be underestimated, and covers less than it
/// states. Therefore the work grows by at least `factor_min` between looks and by `reserve` more
/// than what seems needed, which makes three to four looks the rule, and fewer than
/// [`Precision::SAMPLES_MIN`] samples never meet a target; it grows by `factor_max` at most, since
/// half-widths of short runs are rough and fall faster than the law says, so that a run that
/// believed the first of them would overshoot its target. With
/// [`ReplicationMeans::estimate`](crate::ReplicationMeans::estimate), M/M/1 at rho = 0.5 and a
/// target of 3 %, 95.8 % of the intervals stated at 95 % cover if replications are lengthened and
/// 94.5 % if some are added, of 400 each; adding takes a sixth less work, as the number of samples
/// grows too (`tests/coverage.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// Least increase of the work between two looks.
    pub factor_min: f64,
    /// Greatest increase at once, since an early half-width may be far off.
    pub factor_max: f64,
    /// Work proposed over work that seems needed.
    pub reserve: f64,
}

impl Default for Precision {
    /// Steps of 1.5 to 2.5 times, with a reserve of 1.2.
    fn default() -> Self {
        Self {
            factor_min: 1.5,
            factor_max: 2.5,
            reserve: 1.2,
        }
    }
}

/// Which targets are met, and what is needed for the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// For each measure whether its target is met.
    pub met: Vec<bool>,
    /// By which factor to increase the total work before the next look; 1 if all are met.
    pub factor: f64,
    /// The measure that needs the most work, if one misses its target.
    pub worst: Option<usize>,
}

impl Assessment {
    /// Whether every target is met.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.worst.is_none()
    }
}

impl Precision {
    /// Samples below which a half-width is not trusted to end a run.
    pub const SAMPLES_MIN: usize = 10;

    /// Compares the measures with their targets.
    #[must_use]
    pub fn assess(&self, measures: &[(Estimate, Target)]) -> Assessment {
        let mut assessment = Assessment {
            met: Vec::with_capacity(measures.len()),
            factor: 1.0,
            worst: None,
        };
        let mut largest = 0.0;
        for (index, (estimate, target)) in measures.iter().enumerate() {
            let excess = target.excess(estimate);
            let met = excess <= 1.0 && estimate.samples >= Self::SAMPLES_MIN;
            assessment.met.push(met);
            if !met && (assessment.worst.is_none() || excess > largest) {
                assessment.worst = Some(index);
                largest = excess;
            }
        }
        if assessment.worst.is_some() {
            let needed = self.reserve * largest * largest;
            assessment.factor = needed.max(self.factor_min).min(self.factor_max);
        }
        assessment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, half_width: f64) -> Estimate {
        Estimate::new(mean, half_width, 0.95, 10)
    }

    #[test]
    fn the_worst_measure_sets_the_factor() {
        let rule = Precision::default();
        let target = Target::relative(0.02);
        let all = [
            (estimate(100.0, 1.9), target),
            (estimate(-100.0, 2.8), target),
            (estimate(100.0, 2.5), target),
        ];
        let found = rule.assess(&all);
        assert_eq!(
            (found.met.as_slice(), found.worst),
            (&[true, false, false][..], Some(1))
        );
        // (2.8 / 2)^2 * 1.2 = 2.352
        assert!((found.factor - 2.352).abs() < 1e-12 && !found.is_done());
        let done = rule.assess(&all[..1]);
        assert!(done.is_done() && done.factor == 1.0);
        assert!(rule.assess(&[]).is_done());
    }

    #[test]
    fn factors_are_limited() {
        let rule = Precision::default();
        let target = Target::relative(0.02);
        assert_eq!(rule.assess(&[(estimate(1.0, 0.0201), target)]).factor, 1.5);
        for hopeless in [
            estimate(1.0, 10.0),
            estimate(1.0, f64::INFINITY),
            estimate(0.0, 1.0),
        ] {
            assert_eq!(rule.assess(&[(hopeless, target)]).factor, 2.5);
        }
    }

    #[test]
    fn small_means_and_few_samples() {
        let rule = Precision::default();
        let near_zero = Target {
            relative: 0.02,
            absolute: 0.5,
        };
        assert!(rule.assess(&[(estimate(0.0, 0.4), near_zero)]).is_done());
        assert!(
            rule.assess(&[(estimate(0.0, 0.0), Target::relative(0.02))])
                .is_done()
        );
        let few = Estimate::new(100.0, 0.1, 0.95, 9);
        assert!(!rule.assess(&[(few, near_zero)]).is_done(), "nine samples");
    }
}
