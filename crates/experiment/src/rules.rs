//! How a point is measured and when it stops.

use isthmus_scenario::{Measure, Stop, StopRule, Verdict, Warmup};
use isthmus_statistics::{SaturationTest, WarmUp};
use isthmus_units::Time;

/// Looks at ever longer runs, at most; the error rate of a verdict is shared over them.
const LOOKS: u32 = 8;

/// Everything that decides how a point is measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rules {
    pub stop: Stop,
    pub measure: Measure,
    pub verdict: Verdict,
    /// Periods of whatever is periodic that a run of a fixed number of messages lasts at least.
    pub periods_min: u64,
    /// How many times as many messages as a point has at most a load of a search may have, if the bracket
    /// is too wide without.
    pub patience: u64,
    /// How many times as many messages as its measures a point may have for its verdict.
    pub decisive: u64,
    /// Where a run of fixed length was shortened, its length in full: messages, or a time in ps.
    pub in_full: Option<u64>,
}

/// Looks at a shortened run of fixed length, at most: the last at its length in full.
const QUICK_LOOKS: u32 = 4;

/// What [`Rules::patience`] is unless time is short.
pub(crate) const PATIENCE: u64 = 16;

/// Periods of whatever is periodic that a run keeps when it is shortened, and that runs of no fixed length
/// have at least.
pub(crate) const PERIODS_MIN: u64 = 5;

impl Rules {
    /// The shortened form for `--quick`: a tenth of a fixed number of messages or of a fixed time, and more up to
    /// its length in full while the verdict or a measure is not known; intervals three times as wide, an eighth of
    /// the longest run; only for the verdict on a point that is still missing it may be half as long as ever. Of
    /// what is periodic it keeps [`PERIODS_MIN`] periods, or all that there are.
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

    /// The form for loads that a search could not judge: longer runs, as far as its patience goes; none
    /// where runs have a fixed length.
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

    /// Messages that a point may have for its verdict, where its measures may have `max`.
    pub fn messages_of_verdict(&self, max: u64) -> u64 {
        max.saturating_mul(self.decisive)
    }

    /// The lengths at which a run of the fixed length `first` is looked at: more than that one only if it was
    /// shortened, in equal ratios.
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

    /// Looks that a point is given.
    pub fn looks(&self) -> u32 {
        match self.stop.rule {
            StopRule::Fixed { messages } => self.lengths(messages).len() as u32,
            StopRule::FixedTime { time } => self.lengths(time.ps()).len() as u32,
            StopRule::Precision { .. } => LOOKS,
        }
    }

    /// The measures asked for and their relative half-width; empty for fixed lengths.
    pub fn targets(&self) -> (&[String], f64) {
        match &self.stop.rule {
            StopRule::Fixed { .. } | StopRule::FixedTime { .. } => (&[], f64::INFINITY),
            StopRule::Precision { precision, of, .. } => (of, *precision),
        }
    }

    /// The test behind the verdict of a point.
    pub fn test(&self) -> SaturationTest {
        SaturationTest {
            threshold: self.verdict.growth,
            alpha: self.verdict.error_rate,
            looks: self.looks(),
        }
    }

    /// Which part of a series is warm-up.
    pub fn warm_up(&self) -> WarmUp {
        match self.stop.warmup {
            Warmup::None | Warmup::Fixed { .. } => WarmUp::Marked,
            Warmup::Mser5 => WarmUp::Mser,
        }
    }
}

/// A tenth of `time`, in whole periods and not fewer than [`PERIODS_MIN`] of them; never more than it.
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
        // A tenth is one period.
        assert_eq!(shortened(ms(100), ms(10)), ms(50));
        assert_eq!(shortened(ms(2_510), ms(10)), ms(260));
        assert_eq!(shortened(ms(30), ms(10)), ms(30));
        assert_eq!(shortened(ms(5), ms(10)), ms(5));
    }
}
