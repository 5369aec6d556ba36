//! Test for saturation, with the verdicts stable, saturated and undecided.

use crate::backlog::Backlog;
use crate::error::{Error, at_least, open_unit};
use crate::estimate::Estimate;

/// Wanted number of samples for the verdict "stable". With fewer replications, runs are cut into
/// sections, each a sample. Few long sections are better for this verdict, since the increments of a
/// stable backlog cancel.
const SAMPLES_STABLE: usize = 10;
/// Wanted number of samples for the verdict "saturated". Many short sections of the runs make a
/// sharper test, since the increments of a saturated backlog are almost independent.
const SAMPLES_SATURATED: usize = 40;
/// Minimum number of periods for a verdict if the demands are periodic.
const PERIODS_MIN: usize = 4;
/// Minimum ratio of the growth in the second half of a run to that in the first. A saturated
/// backlog gains as much in the second half as in the first. A backlog on its way to a steady state
/// gains at most sqrt(2) - 1 = 0.41 times as much. It rises like the square root of time while the
/// run is short against the relaxation (reflected Brownian motion), and flattens afterwards. One
/// half separates the two.
const PERSISTENCE: f64 = 0.5;
/// Minimum and maximum of the factor by which the test advises to lengthen the runs.
const LENGTHEN: (f64, f64) = (1.5, 4.0);

/// Verdict on whether the system has a steady state at a point (one parameter setting) of an
/// experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The backlog grows by less than the threshold, so the point has a steady state.
    Stable,
    /// The backlog grows by more than the threshold, and the growth persists.
    Saturated,
    /// The runs are too short for a verdict.
    Undecided,
}

/// The test that gives a [`Verdict`] on the saturation of a point.
///
/// Let `g1` and `g2` be the backlog gained per offered demand in the first and in the second half
/// of a run, each with half of the demands. In the long run `g2` is 0 below the knee. Above the
/// knee it is the share of the demands that is never served; in an M/G/1 queue it is `max(0, 1 -
/// 1/rho)`. With t tests over the samples (see below), each at level `alpha / looks`, the verdict
/// is:
///
/// - [`Verdict::Stable`] if `g2 < threshold` significantly. Here `g2` is the slope of the line of
///   least squares through the samples of the backlog. The fluctuations of a backlog without growth
///   average out over all samples; a difference of two samples would need runs several times as
///   long. For a backlog that grows like a random walk with a drift, the slope is almost as precise
///   as the ends (variances 6/5 to 1).
/// - [`Verdict::Saturated`] if `g2 > threshold` significantly, both by the slope and by the gain
///   from end to end, **and** `g2 > g1 / 2` significantly. A slow transient near the knee does not
///   meet the last condition with any number of replications: it gains at most 0.41 times as much
///   in the second half.
/// - [`Verdict::Undecided`] otherwise. The caller should lengthen the runs. The growth of a stable
///   point then falls like 1 / length, and that of a saturated point does not change.
///
/// **Error rates.** Both errors have a probability of at most `alpha` over all `looks` at runs of
/// increasing length together. One error is the verdict "stable" for a point whose growth beyond
/// the transient is at least `threshold`. The other is the verdict "saturated" for a point whose
/// growth is at most `threshold` or ends. (Bonferroni; the two conditions for saturated form an
/// intersection-union test, which has at most the level of each.) Both rates apply as far as the
/// samples are normal.
///
/// **Samples.** Ten or more replications give one sample each. Fewer replications are cut into
/// `ceil(10 / replications)` sections per half, so that a single long run is enough. The increments
/// of a saturated backlog are almost independent. Those of a stable backlog are negatively
/// correlated, which makes the test conservative.
///
/// **Limits.** A run shorter than a delay that fills the system linearly (such as a disk access)
/// looks saturated. A growth that starts only after the end of the run looks stable. A load whose
/// growth is below the threshold counts as stable: with 0.005 the knee of a single queue is placed
/// at rho = 1.005.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SaturationTest {
    /// Backlog growth per offered demand that separates the verdicts, between 0 and 1.
    pub threshold: f64,
    /// Probability of a wrong verdict over all evaluations of one point, between 0 and 1/2.
    pub alpha: f64,
    /// Maximum number of times that the test judges the point, on runs of increasing length.
    pub looks: u32,
}

impl Default for SaturationTest {
    /// Return the default parameters: backlog growth of 0.5 % of the offered demands separates the verdicts,
    /// and a point is tested at most 4 times with an error probability of 1 % in total.
    fn default() -> Self {
        Self {
            threshold: 0.005,
            alpha: 0.01,
            looks: 4,
        }
    }
}

/// A verdict on saturation, with the estimates that it is based on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict on the point.
    pub verdict: Verdict,
    /// Growth of the backlog per offered demand in the second half of the runs, with a confidence
    /// interval (confidence `1 - 2 alpha / looks`). Its ends are compared with the threshold.
    pub growth: Estimate,
    /// Growth of the backlog per demand in the second half of the runs minus half that of the first half
    /// (`g2 - g1 / 2`, see [`SaturationTest`]): above 0 if the growth persists.
    pub persistence: Estimate,
    /// Factor by which to lengthen the runs before the next test, from 1.5 to 4; 1 if the verdict
    /// is final.
    pub lengthen: f64,
}

impl SaturationTest {
    /// Judge the replications of one point, which must be in a fixed order.
    ///
    /// # Errors
    /// [`Error::TooFew`] without replications, demands, or enough backlog samples
    /// (`2 ceil(10 / replications) + 1` in each), [`Error::OutOfRange`] for impossible parameters.
    pub fn judge(&self, replications: &[Backlog]) -> Result<Judgement, Error> {
        self.judge_by(replications, |count| SAMPLES_STABLE.div_ceil(count))
    }

    /// Judge demands that all arrive at the start of a period. Each sample is the backlog that
    /// earlier periods leave at the start of a period. A period is one observation, however many
    /// demands it has. With few periods there are fewer sections.
    ///
    /// # Errors
    /// Those of [`judge`](Self::judge). [`Error::TooFew`] if a replication has samples of fewer than four
    /// whole periods.
    pub fn judge_periodic(&self, replications: &[Backlog]) -> Result<Judgement, Error> {
        self.judge_by(replications, |_| PERIODS_MIN / 2)
    }

    /// Judge the replications. `fewest` returns, for the number of replications, the minimum number of
    /// sections into which each half of a run is cut.
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

    /// Return the factor by which to lengthen the runs, so that a test of them can give a verdict. The
    /// new half-widths must be smaller than the distances of the present means from their bounds.
    /// Half-widths fall in proportion to 1 / sqrt(length) or faster; that of the growth of a backlog
    /// that does not grow falls in proportion to 1 / length.
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
        // The factor may be NaN (0 / 0). The function `max` at the end maps NaN to the lower limit.
        let longer = if margin > 0.0 {
            let missing = (gained.half_width / margin)
                .max(persistence.half_width / persistence.mean.max(0.0));
            missing * missing
        } else {
            // A backlog that does not grow stays within bounds, so the half-width of its growth falls in
            // proportion to 1 / length. Lengthen the runs by the ratio of the half-width to the margin.
            growth.half_width / margin.abs()
        };
        longer.max(LENGTHEN.0).min(LENGTHEN.1)
    }
}

/// Growth of the backlog per demand, in each section of the first half and of the second half of all runs.
struct Halves {
    first: Vec<f64>,
    second: Vec<f64>,
    /// Number of sections into which one half of one run is cut.
    sections: usize,
}

impl Halves {
    /// Cut each half of each run into sections and compute the growth of the backlog in each. There are
    /// enough sections for the verdict "saturated" if the backlogs have enough samples, and at least
    /// `fewest`.
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

    /// Return an estimate of the growth of the backlog per demand in the second half of the runs, from
    /// lines of least squares. The second halves are cut into enough sections for the verdict "stable".
    fn trend(replications: &[Backlog], fewest: usize, confidence: f64) -> Result<Estimate, Error> {
        let sections = sections(replications, SAMPLES_STABLE, fewest);
        let mut trends = Vec::new();
        for backlog in replications {
            trends.extend_from_slice(&backlog.trends(2 * sections)?[sections..]);
        }
        Estimate::from_samples(&trends, confidence)
    }

    /// Return an estimate of the growth of the backlog per demand in the second half of the runs.
    fn second(&self, confidence: f64) -> Result<Estimate, Error> {
        Estimate::from_samples(&self.second, confidence)
    }

    /// Return an estimate of `g2 - PERSISTENCE * g1`. g1 and g2 are the growth of the backlog per
    /// demand in the first and in the second half of the run.
    fn persistence(&self, confidence: f64) -> Result<Estimate, Error> {
        let pairs = self.first.iter().zip(&self.second);
        let contrasts: Vec<f64> = pairs.map(|(g1, g2)| g2 - PERSISTENCE * g1).collect();
        let persistence = Estimate::from_samples(&contrasts, confidence)?;
        if self.sections == 1 {
            return Ok(persistence);
        }
        // Compute the half-width from the noise of the second half only. The first half contains the growth
        // of the backlog at the start, which would count as noise; otherwise both halves are equally noisy.
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

/// Return the number of sections into which each half of a run is cut, at least `fewest`. `samples` is
/// the wanted number of sections of all runs together. There may be fewer, because each section needs
/// samples of the backlog.
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

    /// Return a backlog without noise, with `count` samples 100 demands apart; the level after n
    /// demands is `level(n)`.
    fn exact(count: u64, level: impl Fn(f64) -> f64) -> Backlog {
        let blocks: Vec<(u64, u64)> = (1..=count)
            .map(|block| (100, level(block as f64 * 100.0).round() as u64))
            .collect();
        Backlog::from_blocks(0, &blocks)
    }

    /// Checks that the verdicts for backlogs without noise are correct: constant, linear, late
    /// growth, and a square-root transient.
    #[test]
    fn backlogs_without_noise_have_the_right_verdict() {
        let test = SaturationTest::default();
        let verdict = |backlog: Backlog| test.judge(&[backlog]).unwrap().verdict;
        assert_eq!(verdict(exact(400, |_| 40.0)), Verdict::Stable);
        assert_eq!(verdict(exact(400, |n| 0.02 * n)), Verdict::Saturated);
        assert_eq!(
            verdict(exact(400, |n| 100.0 + 0.02 * n)),
            Verdict::Saturated
        );
        // Growth that starts late also counts as growth.
        assert_eq!(
            verdict(exact(400, |n| 0.1 * (n - 15_000.0).max(0.0))),
            Verdict::Saturated
        );
        // Expect "undecided" for a backlog of 10 sqrt(n). In the second half of 40,000 demands it grows by
        // 586, or 2.9 % of the demands, but this growth does not persist.
        let slow = test.judge(&[exact(400, |n| 10.0 * n.sqrt())]).unwrap();
        assert!((slow.growth.mean - 0.0293).abs() < 1e-4);
        assert!(slow.growth.low > test.threshold && slow.persistence.high < 0.0);
        assert_eq!(slow.verdict, Verdict::Undecided);
        assert_eq!(slow.lengthen, 4.0);
    }

    /// Checks that backlogs which grow only at the start of a run are not judged as saturated, however
    /// many replications there are.
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

    /// Checks the verdicts for periodic demands by the backlog at the end of each period. Each
    /// period leaves no backlog, always the same backlog, or a fifth of its hundred demands more
    /// than the period before. Without scatter, four periods are enough for a verdict.
    #[test]
    fn periodic_demands_are_judged_by_the_remaining_backlog() {
        let test = SaturationTest::default();
        let verdict = |count: u64, level: fn(f64) -> f64| {
            let runs = [exact(count, level), exact(count, level)];
            test.judge_periodic(&runs).map(|judged| judged.verdict)
        };
        assert_eq!(verdict(4, |_| 0.0), Ok(Verdict::Stable));
        assert_eq!(verdict(10, |_| 30.0), Ok(Verdict::Stable));
        assert_eq!(verdict(4, |n| 0.2 * n), Ok(Verdict::Saturated));
        assert_eq!(verdict(50, |n| 0.2 * n), Ok(Verdict::Saturated));
        // Expect "stable": the backlog grows only in the first part of the run, up to 40.
        assert_eq!(verdict(8, |n| (0.2 * n).min(40.0)), Ok(Verdict::Stable));
        assert!(verdict(3, |n| 0.2 * n).is_err());
    }

    /// Checks that impossible error probabilities, thresholds and numbers of samples are refused.
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
