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
}

impl Rules {
    /// The shortened form for `--quick`: a tenth of a fixed number of messages, a quarter of a fixed
    /// time, intervals three times as wide, an eighth of the longest run.
    pub fn quick(mut self) -> Self {
        match &mut self.stop.rule {
            StopRule::Fixed { messages } => *messages = messages.div_ceil(10).max(2),
            StopRule::FixedTime { time } => *time = Time::from_ps((time.ps() / 4).max(1)),
            StopRule::Precision {
                precision,
                messages_first,
                messages_max,
                ..
            } => {
                *precision = (*precision * 3.0).min(0.5);
                *messages_max = (*messages_max / 8).max(*messages_first);
            }
        }
        if let Warmup::Fixed { messages } = &mut self.stop.warmup {
            *messages /= 10;
        }
        self
    }

    /// Looks that a point is given.
    pub fn looks(&self) -> u32 {
        match self.stop.rule {
            StopRule::Fixed { .. } | StopRule::FixedTime { .. } => 1,
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
