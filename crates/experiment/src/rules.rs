//! Rules that decide how a point is measured and when its runs stop.

use isthmus_scenario::{Measure, Stop, StopRule, Verdict, Warmup};
use isthmus_statistics::{SaturationTest, WarmUp};
use isthmus_units::Time;

/// Maximum number of looks (judgements of the results so far) at ever longer runs. The looks share the error
/// rate of a verdict.
const LOOKS: u32 = 8;

/// Rules that decide how a point is measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rules {
    /// Stopping rules of the scenario.
    pub stop: Stop,
    /// Quantities to measure.
    pub measure: Measure,
    /// Parameters of the test for saturation.
    pub verdict: Verdict,
    /// Minimum number of periods of a periodic process in a run with a fixed number of messages.
    pub periods_min: u64,
    /// Factor on the message limit of a point for the loads of a search, if the bracket is too wide with the
    /// limit alone.
    pub patience: u64,
    /// Factor on the message limit for the verdict on a point, relative to the limit for its measures.
    pub decisive: u64,
    /// Full length of a run of fixed length that was shortened, as a number of messages or as a time in ps.
    pub in_full: Option<u64>,
}

/// Maximum number of looks at a shortened run of fixed length. The last look is at the full length.
const QUICK_LOOKS: u32 = 4;

/// Value of [`Rules::patience`], except in quick runs.
pub(crate) const PATIENCE: u64 = 16;

/// Minimum number of periods of a periodic process in shortened runs and in runs without a fixed length.
pub(crate) const PERIODS_MIN: u64 = 5;

impl Rules {
    /// Return the shortened form for `--quick`. A fixed number of messages or a fixed time shrinks to a
    /// tenth, and grows up to its full length while the verdict or a measure is unknown. Intervals are three
    /// times as wide, and the longest run is an eighth. A point whose verdict is still missing may run half
    /// as long as in the full form. Periodic processes keep [`PERIODS_MIN`] periods, or all if there are
    /// fewer.
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

    /// Return the rules for loads on which a search has no verdict yet: runs are longer by the factor
    /// `patience`. Return `None` if runs have a fixed length.
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

    /// Return the message limit for the verdict on a point whose message limit for measures is `max`.
    pub fn messages_of_verdict(&self, max: u64) -> u64 {
        max.saturating_mul(self.decisive)
    }

    /// Return the lengths of the run at each look, if its fixed length is `first`: only that length, or
    /// several in equal ratios if the run was shortened.
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

    /// Return the number of looks at a point.
    pub fn looks(&self) -> u32 {
        match self.stop.rule {
            StopRule::Fixed { messages } => self.lengths(messages).len() as u32,
            StopRule::FixedTime { time } => self.lengths(time.ps()).len() as u32,
            StopRule::Precision { .. } => LOOKS,
        }
    }

    /// Return the names of the requested measures and their relative half-width; no names for runs of fixed
    /// length.
    pub fn targets(&self) -> (&[String], f64) {
        match &self.stop.rule {
            StopRule::Fixed { .. } | StopRule::FixedTime { .. } => (&[], f64::INFINITY),
            StopRule::Precision { precision, of, .. } => (of, *precision),
        }
    }

    /// Return the statistical test that decides the verdict on a point.
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

/// Return a tenth of `time` in whole periods, at least [`PERIODS_MIN`] of them and at most `time`.
fn shortened(time: Time, period: Time) -> Time {
    let tenth = (time.ps() / 10).max(1);
    if period == Time::ZERO {
        return Time::from_ps(tenth);
    }
    let periods = tenth.div_ceil(period.ps()).max(PERIODS_MIN);
    Time::from_ps(period.ps().saturating_mul(periods).min(time.ps()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_periods_are_kept_or_all_there_are() {
        let ms = |ms: u64| Time::from_us(1_000 * ms);
        assert_eq!(shortened(ms(100), Time::ZERO), ms(10));
        // A tenth of the time is only one period.
        assert_eq!(shortened(ms(100), ms(10)), ms(50));
        assert_eq!(shortened(ms(2_510), ms(10)), ms(260));
        assert_eq!(shortened(ms(30), ms(10)), ms(30));
        assert_eq!(shortened(ms(5), ms(10)), ms(5));
    }
}
