//! Stable, saturated or undecided.

use crate::backlog::Backlog;
use crate::error::{Error, at_least, open_unit};
use crate::estimate::Estimate;

/// Samples that "stable" rests on: fewer replications than this are cut into sections. Longer
/// sections are better here, since the increments of a stable backlog cancel.
const SAMPLES_STABLE: usize = 10;
/// Samples that "saturated" rests on: the increments of a saturated backlog are as good as
/// independent, and more samples of them make a sharper test.
const SAMPLES_SATURATED: usize = 40;
/// Periods that a verdict on periodic demands rests on at least.
const PERIODS_MIN: usize = 4;
/// A saturated backlog gains as much in the second half of a run as in the first. A backlog on
/// its way to a steady state gains at most sqrt(2) - 1 = 0.41 times as much: it rises like the
/// square root of time while the run is short against the relaxation (reflected Brownian motion),
/// and flattens afterwards. One half separates the two.
const PERSISTENCE: f64 = 0.5;
/// Limits of the advice on how much longer to run.
const LENGTHEN: (f64, f64) = (1.5, 4.0);

/// Whether a point has a steady state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The backlog grows by less than the threshold.
    Stable,
    /// The backlog grows by more than the threshold, and keeps growing.
    Saturated,
    /// The runs are too short to tell.
    Undecided,
}

/// The test behind a [`Verdict`].
///
/// Let `g1` and `g2` be the backlog gained per offered demand in the first and in the second half
/// (in demands) of a run. In the long run `g2` is 0 below the knee and the share of the demands
/// that is never served above it; in an M/G/1 queue `max(0, 1 - 1/rho)`. With t tests over the
/// samples (see below), each at level `alpha / looks`:
///
/// - [`Verdict::Stable`] if `g2 < threshold` significantly, `g2` being the slope of the line of
///   least squares through the samples of the backlog: the fluctuations of a backlog without
///   growth average out over all samples, where the difference of two of them would need runs
///   several times as long, while a backlog that grows like a random walk with a drift gives it
///   away by its slope as well as by its ends (variances 6/5 to 1);
/// - [`Verdict::Saturated`] if `g2 > threshold` significantly, by the slope and by what is gained from end to
///   end, **and** `g2 > g1 / 2` significantly, which a slow transient near the knee does not pass however many replications
///   there are (it gains at most 0.41 times as much in the second half);
/// - [`Verdict::Undecided`] otherwise: lengthen the runs. A stable point then shows a growth that
///   falls like 1 / length, a saturated one a growth that stays.
///
/// **Error rates.** A point whose growth beyond the transient is at least `threshold` is called
/// stable, and a point whose growth is at most `threshold` or dies away is called saturated, with
/// probability at most `alpha` over all `looks` at ever longer runs together (Bonferroni; the two
/// conditions for saturated form an intersection-union test, which keeps the level of each). Both
/// hold as far as the samples are normal.
///
/// **Samples.** Ten or more replications give one sample each. Fewer are cut into
/// `ceil(10 / replications)` sections per half, so a single long run will do as well: the
/// increments of a saturated backlog are as good as independent, and those of a stable one are
/// negatively correlated, which makes the test conservative.
///
/// **What it cannot see.** A run shorter than a delay that fills the system linearly (such as a
/// disk access) looks saturated; and a growth that sets in only after the end of the run looks
/// stable. A load whose growth is below the threshold counts as stable: with 0.005 the knee of a
/// single queue is placed at rho = 1.005.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SaturationTest {
    /// Backlog growth per offered demand that separates the verdicts, between 0 and 1.
    pub threshold: f64,
    /// Probability of a wrong verdict over all looks, between 0 and 1/2.
    pub alpha: f64,
    /// How often the point will be judged at most, on ever longer runs.
    pub looks: u32,
}

impl Default for SaturationTest {
    /// Threshold 0.5 % of the offered demands, error rate 1 % over up to 4 looks.
    fn default() -> Self {
        Self {
            threshold: 0.005,
            alpha: 0.01,
            looks: 4,
        }
    }
}

/// A verdict and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Backlog gained per offered demand in the second half of the runs, with the interval whose
    /// ends are compared with the threshold (confidence `1 - 2 alpha / looks`).
    pub growth: Estimate,
    /// `g2 - g1 / 2`: above 0 if the growth persists.
    pub persistence: Estimate,
    /// How many times longer the runs should be before the next look, from 1.5 to 4; 1 if the
    /// verdict is final.
    pub lengthen: f64,
}

impl SaturationTest {
    /// Judges the replications of one point, given in a fixed order.
    ///
    /// # Errors
    /// [`Error::TooFew`] without replications, demands, or enough backlog samples
    /// (`2 ceil(10 / replications) + 1` in each), [`Error::OutOfRange`] for impossible parameters.
    pub fn judge(&self, replications: &[Backlog]) -> Result<Judgement, Error> {
        self.judge_by(replications, |count| SAMPLES_STABLE.div_ceil(count))
    }

    /// Judges demands that all come at the beginning of a period, whose samples are what earlier periods have
    /// left at the beginning of each. A period is one observation, however many demands it has; with few of
    /// them there are fewer sections.
    ///
    /// # Errors
    /// As [`judge`](Self::judge), but with samples of fewer than four whole periods in a replication.
    pub fn judge_periodic(&self, replications: &[Backlog]) -> Result<Judgement, Error> {
        self.judge_by(replications, |_| PERIODS_MIN / 2)
    }

    /// `fewest` sections of each half of so many replications are enough.
    fn judge_by(
        &self,
        replications: &[Backlog],
        fewest: impl Fn(usize) -> usize,
    ) -> Result<Judgement, Error> {
        open_unit("growth threshold", self.threshold)?;
        if !(self.alpha > 0.0 && self.alpha < 0.5) {
            return Err(Error::OutOfRange {
                what: "error rate alpha",
                value: self.alpha,
                wanted: "strictly between 0 and 1/2",
            });
        }
        at_least(1, "replications to judge", replications.len())?;
        let confidence = 1.0 - 2.0 * self.alpha / f64::from(self.looks.max(1));
        let fewest = fewest(replications.len());
        let growth = Halves::trend(replications, fewest, confidence)?;
        let fine = Halves::new(replications, fewest)?;
        let (gained, persistence) = (fine.second(confidence)?, fine.persistence(confidence)?);
        let verdict = if growth.high < self.threshold {
            Verdict::Stable
        } else if growth.low.min(gained.low) > self.threshold && persistence.low > 0.0 {
            Verdict::Saturated
        } else {
            Verdict::Undecided
        };
        Ok(Judgement {
            verdict,
            growth,
            persistence,
            lengthen: self.lengthen(verdict, &growth, &gained, &persistence),
        })
    }

    /// Half-widths fall at least like 1 / sqrt(length), that of the trend of a backlog without
    /// growth like 1 / length: the length at which they would fit between the present means and
    /// what they are compared with.
    fn lengthen(
        &self,
        verdict: Verdict,
        growth: &Estimate,
        gained: &Estimate,
        persistence: &Estimate,
    ) -> f64 {
        if verdict != Verdict::Undecided {
            return 1.0;
        }
        let margin = growth.mean - self.threshold;
        // A NaN from 0 / 0 is clamped to the lower limit by `max`.
        let longer = if margin > 0.0 {
            let missing = (gained.half_width / margin)
                .max(persistence.half_width / persistence.mean.max(0.0));
            missing * missing
        } else {
            // A backlog without growth moves within bounds: its trend falls with the length.
            growth.half_width / margin.abs()
        };
        longer.max(LENGTHEN.0).min(LENGTHEN.1)
    }
}

/// Backlog gained per demand in the sections of the first and of the second half of all runs.
struct Halves {
    first: Vec<f64>,
    second: Vec<f64>,
    /// Sections of one half of one run.
    sections: usize,
}

impl Halves {
    /// Cuts each half of each run so that a "saturated" rests on all sections, or into as many as the
    /// backlogs have samples for, though not less than the `fewest`.
    fn new(replications: &[Backlog], fewest: usize) -> Result<Self, Error> {
        let sections = sections(replications, SAMPLES_SATURATED, fewest);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for backlog in replications {
            let gained = backlog.growth(2 * sections)?;
            let (early, late) = gained.split_at(sections);
            first.extend_from_slice(early);
            second.extend_from_slice(late);
        }
        Ok(Self {
            first,
            second,
            sections,
        })
    }

    /// What the second half gains per demand, by the trends of as many sections as a "stable"
    /// rests on.
    fn trend(replications: &[Backlog], fewest: usize, confidence: f64) -> Result<Estimate, Error> {
        let sections = sections(replications, SAMPLES_STABLE, fewest);
        let mut trends = Vec::new();
        for backlog in replications {
            trends.extend_from_slice(&backlog.trends(2 * sections)?[sections..]);
        }
        Estimate::from_samples(&trends, confidence)
    }

    fn second(&self, confidence: f64) -> Result<Estimate, Error> {
        Estimate::from_samples(&self.second, confidence)
    }

    /// `g2 - PERSISTENCE * g1`.
    fn persistence(&self, confidence: f64) -> Result<Estimate, Error> {
        let pairs = self.first.iter().zip(&self.second);
        let contrasts: Vec<f64> = pairs.map(|(g1, g2)| g2 - PERSISTENCE * g1).collect();
        let persistence = Estimate::from_samples(&contrasts, confidence)?;
        if self.sections == 1 {
            return Ok(persistence);
        }
        // The filling of the system at the start would count as noise among the sections of the
        // first half; a random walk is as noisy in the second.
        let half_width =
            self.second(confidence)?.half_width * (1.0 + PERSISTENCE * PERSISTENCE).sqrt();
        Ok(Estimate::new(
            persistence.mean,
            half_width,
            confidence,
            contrasts.len(),
        ))
    }
}

/// Sections of each half of a run of which there are to be so many in all: as far as the backlogs have
/// samples for them, and not less than the `fewest`.
fn sections(replications: &[Backlog], samples: usize, fewest: usize) -> usize {
    let most = replications
        .iter()
        .map(|backlog| (backlog.samples().count().max(1) - 1) / 2);
    let wanted = samples.div_ceil(replications.len());
    wanted.min(most.min().unwrap_or(0)).max(fewest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A backlog of exactly `level(demands)` after each hundred of `count * 100` demands.
    fn exact(count: u64, level: impl Fn(f64) -> f64) -> Backlog {
        let blocks: Vec<(u64, u64)> = (1..=count)
            .map(|block| (100, level(block as f64 * 100.0).round() as u64))
            .collect();
        Backlog::from_blocks(0, &blocks)
    }

    #[test]
    fn noiseless_shapes() {
        let test = SaturationTest::default();
        let verdict = |backlog: Backlog| test.judge(&[backlog]).unwrap().verdict;
        assert_eq!(verdict(exact(400, |_| 40.0)), Verdict::Stable);
        assert_eq!(verdict(exact(400, |n| 0.02 * n)), Verdict::Saturated);
        assert_eq!(
            verdict(exact(400, |n| 100.0 + 0.02 * n)),
            Verdict::Saturated
        );
        // Growth that starts late is growth.
        assert_eq!(
            verdict(exact(400, |n| 0.1 * (n - 15_000.0).max(0.0))),
            Verdict::Saturated
        );
        // The square-root law gains 10 sqrt(40,000) (1 - sqrt(1/2)) = 586 over 20,000 demands,
        // 2.9 %, and still is only a transient.
        let slow = test.judge(&[exact(400, |n| 10.0 * n.sqrt())]).unwrap();
        assert!((slow.growth.mean - 0.0293).abs() < 1e-4);
        assert!(slow.growth.low > test.threshold && slow.persistence.high < 0.0);
        assert_eq!(slow.verdict, Verdict::Undecided);
        assert_eq!(slow.lengthen, 4.0);
    }

    #[test]
    fn many_replications_do_not_turn_a_transient_into_saturation() {
        let test = SaturationTest {
            looks: 1,
            ..SaturationTest::default()
        };
        let replications: Vec<Backlog> = (0..200)
            .map(|i| exact(100, move |n| (10.0 + f64::from(i % 7)) * n.sqrt()))
            .collect();
        let judgement = test.judge(&replications).unwrap();
        assert_eq!(judgement.growth.samples, 200);
        assert!(judgement.growth.low > 0.02);
        assert_eq!(judgement.verdict, Verdict::Undecided);
    }

    /// What is left of each period: nothing, always the same, or a fifth of its hundred demands more each
    /// time. Nothing scatters, so that four periods decide.
    #[test]
    fn periods_decide_by_what_they_leave() {
        let test = SaturationTest::default();
        let verdict = |count: u64, level: fn(f64) -> f64| {
            let runs = [exact(count, level), exact(count, level)];
            test.judge_periodic(&runs).map(|judged| judged.verdict)
        };
        assert_eq!(verdict(4, |_| 0.0), Ok(Verdict::Stable));
        assert_eq!(verdict(10, |_| 30.0), Ok(Verdict::Stable));
        assert_eq!(verdict(4, |n| 0.2 * n), Ok(Verdict::Saturated));
        assert_eq!(verdict(50, |n| 0.2 * n), Ok(Verdict::Saturated));
        // Filled by the first two periods, and full since.
        assert_eq!(verdict(8, |n| (0.2 * n).min(40.0)), Ok(Verdict::Stable));
        assert!(verdict(3, |n| 0.2 * n).is_err());
    }

    #[test]
    fn impossible_tests_are_refused() {
        let backlog = [exact(100, |_| 3.0)];
        let default = SaturationTest::default();
        for alpha in [0.0, 0.5, f64::NAN] {
            assert!(SaturationTest { alpha, ..default }.judge(&backlog).is_err());
        }
        for threshold in [0.0, 1.0, f64::NAN] {
            assert!(
                SaturationTest {
                    threshold,
                    ..default
                }
                .judge(&backlog)
                .is_err()
            );
        }
        assert!(matches!(default.judge(&[]), Err(Error::TooFew { .. })));
        let short = default.judge(&[exact(19, |_| 3.0)]).unwrap_err();
        assert_eq!(
            short.to_string(),
            "backlog samples of a replication: 20 given, at least 21 needed"
        );
    }
}
