//! Rules that decide how long the runs of a point are, and when they stop.

use crate::run_length::{PERIODS_MIN, shortened};
use isthmus_scenario::{Measure, Stop, StopRule, Verdict, Warmup};
use isthmus_statistics::{SaturationTest, WarmUp};
use isthmus_units::Time;

/// Maximum number of looks at one point: interim evaluations of its results, each after a longer run. All of them
/// together have the accepted error rate of a verdict.
const LOOKS: u32 = 8;

/// Rules that decide how a point is measured: those of the scenario, or the shorter ones of `--quick`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rules {
    /// Stopping rules of the scenario.
    pub stop: Stop,
    /// Quantities that the scenario requests, and how they are reported.
    pub measure: Measure,
    /// Parameters of the test that decides whether a point is saturated.
    pub verdict: Verdict,
    /// Minimum number of periods of a periodic process, such as a checkpoint, in a run with a fixed number of
    /// messages.
    pub periods_min: u64,
    /// Factor by which the message limit of a run grows if a search cannot find the saturation load precisely enough
    /// with the normal limit.
    pub patience: u64,
    /// Factor by which the message limit of a run is multiplied for the verdict on a point, if the verdict is
    /// undecided at the limit for the measures.
    pub decisive: u64,
    /// Original length, in messages or in ps, of a run of fixed length that `--quick` has shortened; `None` for other
    /// runs.
    pub in_full: Option<u64>,
}

/// Maximum number of interim evaluations of a run of fixed length that `--quick` has shortened. The last evaluation
/// takes place at the original length.
const QUICK_LOOKS: u32 = 4;

/// Value of [`Rules::patience`], the factor by which a search lengthens undecided runs, without `--quick`.
pub(crate) const PATIENCE: u64 = 16;

impl Rules {
    /// Return the rules of the shortened form of a run, for `--quick`. A fixed number of messages or a fixed
    /// time shrinks to a tenth, and grows up to its full length while the verdict or a measure is unknown.
    /// Intervals are three times as wide, and the maximum length of a run is an eighth. A point whose verdict
    /// is still missing may run half as long as in the full form. Periodic processes keep [`PERIODS_MIN`]
    /// periods, or all if there are fewer.
    pub fn quick(mut self, period: Time) -> Self {
        self.periods_min = PERIODS_MIN;
        self.patience = 1;
        match &mut self.stop.rule {
            StopRule::Fixed { messages } => {
                self.in_full = Some(*messages);
                *messages = messages.div_ceil(10).max(2);
            }
            StopRule::FixedTime { time } => {
                self.in_full = Some(time.ps());
                *time = shortened(*time, period);
            }
            StopRule::Precision {
                precision,
                messages_first,
                messages_max,
                ..
            } => {
                *precision = (*precision * 3.0).min(0.5);
                let longest = *messages_max;
                *messages_max = (longest / 8).max(*messages_first);
                self.decisive = (longest / 2).div_ceil(*messages_max).max(1);
            }
        }
        if let Warmup::Fixed { messages } = &mut self.stop.warmup {
            *messages /= 10;
        }
        self
    }

    /// Return the rules for a search whose verdict at a load is still open: runs may be longer by the factor
    /// `patience`. Return `None` if runs may not be lengthened.
    pub fn patient(&self) -> Option<Self> {
        let mut longer = self.clone();
        match &mut longer.stop.rule {
            StopRule::Precision { messages_max, .. } if self.patience > 1 => {
                *messages_max = messages_max.saturating_mul(self.patience);
                Some(longer)
            }
            _ => None,
        }
    }

    /// Return the maximum number of messages of a run whose verdict on saturation is still open. `max` is the maximum
    /// for the precision of the measures.
    pub fn messages_of_verdict(&self, max: u64) -> u64 {
        max.saturating_mul(self.decisive)
    }

    /// Return the lengths at which the results of a run of fixed length `first` are evaluated. This is only `first`
    /// itself, unless `--quick` has shortened the run: then a geometric series leads to the original length.
    pub fn lengths(&self, first: u64) -> Vec<u64> {
        let (looks, longer) = match self.in_full {
            Some(full) if full > first => (QUICK_LOOKS, full as f64 / first as f64),
            _ => (1, 1.0),
        };
        let length = |look: u32| {
            let share = f64::from(look) / f64::from(looks.max(2) - 1);
            (first as f64 * longer.powf(share)).round() as u64
        };
        (0..looks).map(length).collect()
    }

    /// Return the maximum number of looks at a point: interim evaluations that decide whether its simulation stops.
    pub fn looks(&self) -> u32 {
        match self.stop.rule {
            StopRule::Fixed { messages } => self.lengths(messages).len() as u32,
            StopRule::FixedTime { time } => self.lengths(time.ps()).len() as u32,
            StopRule::Precision { .. } => LOOKS,
        }
    }

    /// Return the names of the measures in the stopping rule, and the half-width relative to the mean that their
    /// confidence intervals must reach. For runs of fixed length, there are no names and the half-width is infinite.
    pub fn targets(&self) -> (&[String], f64) {
        match &self.stop.rule {
            StopRule::Fixed { .. } | StopRule::FixedTime { .. } => (&[], f64::INFINITY),
            StopRule::Precision { precision, of, .. } => (of, *precision),
        }
    }

    /// Return the statistical test for the verdict on saturation of a point.
    pub fn test(&self) -> SaturationTest {
        SaturationTest {
            threshold: self.verdict.growth,
            alpha: self.verdict.error_rate,
            looks: self.looks(),
        }
    }

    /// Return the rule that finds the end of the warm-up in a series of observations.
    pub fn warm_up(&self) -> WarmUp {
        match self.stop.warmup {
            Warmup::None | Warmup::Fixed { .. } => WarmUp::Marked,
            Warmup::Mser5 => WarmUp::Mser,
        }
    }
}
