//! Measurement of one point of a sweep: its simulation is run in several replications until the stopping rules are met.

mod replication_run;

use self::replication_run::ReplicationRun;
use crate::kept::stopwatch;
use crate::known::{self, Known};
use crate::limits::BacklogLimit;
use crate::recorders::Recorders;
use crate::replication::{Finished, Halt, Length, Replication, Shared};
use crate::result::{Collapse, EndedBy};
use crate::rules::Rules;
use crate::run_length::PERIODS_MIN;
use crate::subject::{Subject, Unended};
use crate::unended;
use isthmus_kernel::Cycles;
use isthmus_scenario::{StopRule, Warmup};
use isthmus_statistics::{Error, Judgement, SaturationTest, Verdict, more_work};
use isthmus_units::Time;
use rayon::prelude::*;

/// Minimum factor by which a run grows from one interim evaluation of its results to the next.
const LENGTHEN_MIN: f64 = 1.5;
/// Maximum factor by which a run may grow from one interim evaluation to the next, if the remaining evaluations could
/// otherwise not reach the maximum run length.
const LENGTHEN_MAX: f64 = 5.0;
/// If the backlog grows by more than this share of the offered demands, the machine serves less than half of the
/// offered load.
const HOPELESS_GROWTH: f64 = 0.5;
/// Largest relative half-width of the confidence intervals with which a `--quick` run of fixed length may end early.
const QUICK_WIDTH: f64 = 0.3;
/// Minimum number of demands that must be offered in a flow before a test of its backlog can show saturation.
const DEMANDS_MIN: u64 = 200;

/// Result of the simulation of one point: its finished replications, and the verdict on saturation.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub replications: Vec<Finished>,
    /// Verdict on saturation, with its evidence.
    pub judged: Judged,
    /// Whether the stopping rules of the scenario were met when the measurement ended.
    pub converged: bool,
    /// Reason why the measurement ended before its stopping rules were met, if it did.
    pub ended_by: Option<EndedBy>,
}

impl Measurement {
    /// Return the collapse of the first replication in which the machine stopped delivering messages, with the number
    /// of such replications. Return `None` if there is none.
    pub fn collapse(&self) -> Option<Collapse> {
        let mut collapses = (self.replications.iter()).filter_map(|r| r.collapse.as_ref());
        let first = collapses.next()?.clone();
        Some(Collapse {
            replications: 1 + collapses.count() as u32,
            ..first
        })
    }

    /// Return the number of messages delivered in all replications together.
    pub fn messages(&self) -> u64 {
        self.replications
            .iter()
            .map(|replication| replication.recorders.delivered)
            .sum()
    }
}

/// Simulate the point `subject` and measure it; `seed` is the master seed of the run. `test` decides the verdict on
/// saturation. The run goes on until the means have the precision of the stopping rules only if `precise`.
pub(crate) fn run(
    subject: &dyn Subject,
    seed: u64,
    rules: &Rules,
    test: &SaturationTest,
    precise: bool,
    shared: Shared<'_>,
) -> Result<Measurement, Halt> {
    let measurement = PointMeasurement {
        subject,
        seed,
        rules,
        test,
        precise,
        cycles_min: match rules.stop.rule {
            StopRule::Precision { .. } => subject
                .cycles_min()
                .max(PERIODS_MIN.saturating_mul(subject.period())),
            _ => subject.cycles_min(),
        },
        backlog: BacklogLimit::new(subject, rules.stop.replications, shared.memory.bound),
        shared,
    };
    if let Some(messages) = subject.exact() {
        return measurement.run_exact(messages);
    }
    match rules.stop.rule {
        StopRule::Fixed { messages } => {
            let lengths = rules.lengths(messages).into_iter();
            measurement.run_fixed(lengths.map(|messages| Length::AtLeast {
                messages,
                demands: u64::MAX,
                cycles: rules.periods_min.saturating_mul(subject.period()),
                wanted: (0, 0),
            }))
        }
        StopRule::FixedTime { time } => {
            let lengths = rules.lengths(time.ps()).into_iter();
            measurement.run_fixed(
                lengths.map(|ps| Length::Until(measurement.whole_periods(Time::from_ps(ps)))),
            )
        }
        StopRule::Precision {
            messages_first,
            messages_max,
            ..
        } => measurement.run_until_known(messages_first, messages_max),
    }
}

/// Parameters of the measurement of one point: its simulation, the rules for it, and its limits.
struct PointMeasurement<'a> {
    subject: &'a dyn Subject,
    seed: u64,
    rules: &'a Rules,
    /// Statistical test that decides whether the point is saturated.
    test: &'a SaturationTest,
    /// Whether the point must run until the means of its measures have the required precision.
    precise: bool,
    /// Minimum number of cycles of a run whose verdict on saturation counts.
    cycles_min: Cycles,
    /// Limit on waiting demands; a replication that reaches it ends.
    backlog: BacklogLimit,
    shared: Shared<'a>,
}

impl PointMeasurement<'_> {
    /// Start the simulation of replication `number`.
    fn replication(&self, number: u64) -> Result<Replication, Halt> {
        Replication::new(self.subject, (self.seed, number), self.backlog, self.shared)
    }

    /// Return the numbers of all replications of the point, for work on them in parallel.
    fn numbers(&self) -> impl IndexedParallelIterator<Item = u64> {
        (0..self.rules.stop.replications)
            .into_par_iter()
            .map(u64::from)
    }

    /// Return `time` in cycles, rounded to a whole number, at least 1.
    fn cycles(&self, time: Time) -> Cycles {
        let cycles = time.us() / self.subject.cycle_us();
        (cycles.round() as Cycles).max(1)
    }

    /// Return the number of cycles in `time`. In a run that `--quick` has shortened, round it to whole
    /// periods of the periodic process if it is more than [`PERIODS_MIN`] periods.
    fn whole_periods(&self, time: Time) -> Cycles {
        let (cycles, period) = (self.cycles(time), self.subject.period());
        match cycles.checked_div(period) {
            Some(periods) if self.rules.in_full.is_some() && periods > PERIODS_MIN => {
                periods.saturating_mul(period)
            }
            _ => cycles,
        }
    }

    /// Measure a point whose simulation uses no random numbers, by a single replication of `messages` messages.
    fn run_exact(&self, messages: u64) -> Result<Measurement, Halt> {
        let mut replication = self.replication(0)?;
        replication.mark();
        if self.rules.measure.channels && self.precise {
            replication.start_counting_channels();
        }
        let length = Length::AtLeast {
            messages,
            demands: u64::MAX,
            cycles: 0,
            wanted: (0, 0),
        };
        replication.run_to(length, self.shared.progress)?;
        let finished = replication.finish();
        let judged = judge(self.subject, &[&finished.recorders], self.test);
        Ok(Measurement {
            replications: vec![finished],
            judged,
            converged: true,
            ended_by: None,
        })
    }

    /// Run replications of fixed length. If there are several lengths, run them in turn until the results suffice.
    fn run_fixed(
        &self,
        lengths: impl ExactSizeIterator<Item = Length>,
    ) -> Result<Measurement, Halt> {
        let lengths: Vec<Length> = lengths.collect();
        let &[first, _, ..] = &lengths[..] else {
            return self.run_fixed_once(lengths[0]);
        };
        match self.run_lengthening(&lengths) {
            Err(Halt::Memory) => self.run_fixed_once(first),
            lengthened => lengthened,
        }
    }

    /// Run all replications to the first of `lengths`, then to longer ones, until the verdict and all means are known
    /// or the last length is reached.
    fn run_lengthening(&self, lengths: &[Length]) -> Result<Measurement, Halt> {
        let mut replications: Vec<Replication> = self
            .numbers()
            .map(|number| self.replication(number))
            .collect::<Result<_, _>>()?;
        for &length in lengths {
            replications.par_iter_mut().try_for_each(|replication| {
                if !replication.has_started() {
                    self.warm_up(replication, length)?;
                }
                replication.run_to(length, self.shared.progress)
            })?;
            if self.is_known(&replications) {
                break;
            }
        }
        let replications = replications.into_iter().map(Replication::finish);
        Ok(self.measurement_of(replications.collect()))
    }

    /// Return whether a longer run of these replications would change nothing: the verdict and all means are known, or
    /// the point ends early because of a collapse or its backlog.
    fn is_known(&self, replications: &[Replication]) -> bool {
        let recorders: Vec<&Recorders> = replications.iter().map(Replication::recorders).collect();
        if recorders.iter().any(|one| one.is_overfull())
            || replications.iter().any(Replication::has_collapsed)
        {
            return true;
        }
        let judged = judge(self.subject, &recorders, self.test);
        let mut cycles = replications.iter().map(Replication::cycles);
        let long_enough = cycles.all(|cycles| cycles >= self.cycles_wanted());
        match judged.verdict {
            Verdict::Saturated => long_enough,
            Verdict::Undecided if judged.served.is_none() => false,
            _ => {
                let unended: Vec<Unended> =
                    replications.iter().flat_map(Replication::unended).collect();
                long_enough
                    && !unended::leaves_late(&unended, &recorders)
                    && known::all_within(&recorders, self.rules, self.subject, QUICK_WIDTH)
            }
        }
    }

    /// Run all replications of a point to this length, and discard the simulation state of each finished one.
    fn run_fixed_once(&self, length: Length) -> Result<Measurement, Halt> {
        let whole = |number: u64| {
            if let Some(finished) = self.shared.kept.and_then(|kept| kept.part(number)) {
                return Ok(finished);
            }
            let began = stopwatch();
            let mut replication = self.replication(number)?;
            self.warm_up(&mut replication, length)?;
            replication.run_to(length, self.shared.progress)?;
            let finished = replication.finish();
            if let Some(kept) = self.shared.kept {
                let worth = finished.is_worth_keeping();
                kept.keep(number, began.elapsed(), || worth.then_some(&finished))?;
            }
            Ok(finished)
        };
        let together: Result<Vec<Finished>, Halt> =
            self.numbers().with_max_len(1).map(whole).collect();
        let replications = match together {
            // Not enough memory for one replication per thread: run all replications again, one after another.
            Err(Halt::Memory) => (0..u64::from(self.rules.stop.replications))
                .map(whole)
                .collect::<Result<_, _>>()?,
            together => together?,
        };
        Ok(self.measurement_of(replications))
    }

    /// Combine finished replications of fixed length to the measurement of the point, with its verdict on saturation.
    fn measurement_of(&self, replications: Vec<Finished>) -> Measurement {
        let recorders: Vec<&Recorders> = replications.iter().map(|r| &r.recorders).collect();
        let mut judged = judge(self.subject, &recorders, self.test);
        let long_enough = replications
            .iter()
            .all(|r| r.cycles >= self.cycles_wanted());
        let ended_by = self.ended_by(replications.iter().map(|r| r.overfull));
        judged.verdict = match ended_by {
            Some(_) => self.verdict_of_overfull(&judged, long_enough),
            None if long_enough => judged.verdict,
            None => Verdict::Undecided,
        };
        Measurement {
            converged: ended_by.is_none() && judged.verdict != Verdict::Saturated,
            judged,
            ended_by,
            replications,
        }
    }

    /// Return the minimum number of cycles that a run must last before its verdict on saturation counts.
    fn cycles_wanted(&self) -> Cycles {
        self.cycles_min.max(self.subject.cycles_wanted())
    }

    /// Return the reason why the measurement of the point ends early: too many demands wait in a replication. Return
    /// `None` if it does not. `overfull` has an entry for each replication.
    fn ended_by(&self, overfull: impl IntoIterator<Item = bool>) -> Option<EndedBy> {
        let by = if self.backlog.by_memory {
            EndedBy::Memory
        } else {
            EndedBy::Backlog
        };
        overfull.into_iter().any(|overfull| overfull).then_some(by)
    }

    /// Return the verdict on saturation of a point at which too many demands wait. `long_enough` says whether the
    /// minimum time of a run has passed. Before that time, demands may wait only because they are under way. They show
    /// saturation if more wait than fit into the delays of the machine, and their number grows by more than half of the
    /// offered load.
    fn verdict_of_overfull(&self, judged: &Judged, long_enough: bool) -> Verdict {
        let growth = judged
            .judgement
            .map_or(0.0, |judgement| judgement.growth.low);
        let beyond_delays = self.backlog.is_beyond_delays(self.subject, judged.flow);
        let hopeless = beyond_delays && growth > HOPELESS_GROWTH;
        match judged.verdict {
            Verdict::Saturated if long_enough || hopeless => Verdict::Saturated,
            _ => Verdict::Undecided,
        }
    }

    /// Run replications of `first` messages, then extend them up to `max` messages, until the verdict and all
    /// means are known.
    fn run_until_known(&self, first: u64, max: u64) -> Result<Measurement, Halt> {
        let (mut looks, mut replications) = self.begin_looks(first.min(max))?;
        let mut looks_left = self.rules.looks() - (looks.len() as u32 - 1);
        loop {
            replications
                .par_iter_mut()
                .try_for_each(|replication| self.go_on(replication, &looks, max))?;
            looks_left -= 1;
            let recorders: Vec<&Recorders> =
                replications.iter().map(ReplicationRun::recorders).collect();
            let mut judged = judge(self.subject, &recorders, self.test);
            let ended_by = self.ended_by(recorders.iter().map(|one| one.is_overfull()));
            let mut cycles = replications.iter().map(ReplicationRun::cycles);
            let long_enough = cycles.all(|cycles| cycles >= self.cycles_wanted());
            if ended_by.is_some() {
                judged.verdict = self.verdict_of_overfull(&judged, long_enough);
            } else if !long_enough && judged.verdict == Verdict::Stable {
                judged.verdict = Verdict::Undecided;
            }
            let collapsed = replications.iter().any(ReplicationRun::has_collapsed);
            let (converged, wanted) = match judged.verdict {
                _ if collapsed || ended_by.is_some() => (false, Wanted::default()),
                // Do not lengthen a saturated run: its latencies grow with its length, so they would mean no more.
                Verdict::Saturated => (false, Wanted::default()),
                _ => self.progress_of(&recorders, &judged),
            };
            let delivered = recorders.iter().map(|recorders| recorders.delivered);
            let reached = delivered.max().unwrap_or(0).max(looks[looks.len() - 1]);
            match self.next_look(wanted, reached, max, looks_left) {
                Some(next) => looks.push(next),
                None => {
                    return Ok(Measurement {
                        replications: replications
                            .into_iter()
                            .map(ReplicationRun::finish)
                            .collect(),
                        judged,
                        converged,
                        ended_by,
                    });
                }
            }
        }
    }

    /// Run a replication up to the start of its measurement, as `stop.warmup` defines it. For MSER-5, this is the end
    /// of the first quarter of the run up to the first interim evaluation; from then on, the use of channels is
    /// counted. MSER-5 finds the end of the warm-up for each measure afterwards.
    fn warm_up(&self, replication: &mut Replication, length: Length) -> Result<(), Halt> {
        let progress = self.shared.progress;
        let at_least = |messages, demands, cycles| Length::AtLeast {
            messages,
            demands,
            cycles,
            wanted: (0, 0),
        };
        match (self.rules.stop.warmup, length) {
            (Warmup::None, _) => replication.mark(),
            (Warmup::Fixed { messages }, Length::Until(end)) => {
                replication.run_to(Length::Within { messages, end }, progress)?;
                // Do not report a network that has collapsed: it delivers nothing more, however long it runs.
                if replication.cycles() >= end && !replication.has_collapsed() {
                    return Err(Halt::AllWarmUp { messages });
                }
                replication.mark();
            }
            (Warmup::Fixed { messages }, _) => {
                replication.run_to(at_least(messages, u64::MAX, 0), progress)?;
                replication.mark();
            }
            (
                Warmup::Mser5,
                Length::AtLeast {
                    messages,
                    demands,
                    cycles,
                    ..
                },
            ) => {
                replication.run_to(at_least(messages / 4, demands / 4, cycles / 4), progress)?;
            }
            (Warmup::Mser5, Length::Until(end) | Length::Within { end, .. }) => {
                replication.run_to(Length::Until(end / 4), progress)?;
            }
        }
        if self.rules.measure.channels && self.precise {
            replication.start_counting_channels();
        }
        Ok(())
    }

    /// Return the number of messages at the next interim evaluation of the results; `None` if a longer run
    /// would add nothing. A run may have `max` messages for its means, and [`Rules::messages_of_verdict`] for
    /// the verdict on a point. A search has no such extension for the verdict: it tries other loads instead.
    fn next_look(&self, wanted: Wanted, reached: u64, max: u64, looks_left: u32) -> Option<u64> {
        let next = |factor: Option<f64>, max: u64| {
            let factor = factor.filter(|_| looks_left > 0 && reached < max)?;
            let factor = factor.max(least_step(reached, max, looks_left));
            Some(((reached as f64 * factor).ceil() as u64).min(max))
        };
        let of_verdict = if self.precise {
            self.rules.messages_of_verdict(max)
        } else {
            max
        };
        next(wanted.measures, max).max(next(wanted.verdict, of_verdict))
    }

    /// Return whether every requested measure has the required precision, and the factors by which to
    /// lengthen the run if one does not.
    fn progress_of(&self, replications: &[&Recorders], judged: &Judged) -> (bool, Wanted) {
        let mut wanted = Wanted::default();
        if judged.verdict == Verdict::Undecided {
            wanted.verdict = Some(judged.judgement.map_or(LENGTHEN_MIN, |j| j.lengthen));
        }
        let (of, relative) = self.rules.targets();
        if !self.precise {
            return (judged.verdict == Verdict::Stable, wanted);
        }
        let mut converged = true;
        let mut estimates = Vec::new();
        for name in of {
            match known::estimate(replications, self.rules, self.subject, name) {
                Known::Estimate(estimate) => estimates.push(estimate),
                Known::TooFew => {
                    converged = false;
                    wanted.measures = Some(LENGTHEN_MIN);
                }
                Known::Absent => {}
            }
        }
        if let Some(factor) = more_work(&estimates, relative) {
            converged = false;
            wanted.measures = Some(wanted.measures.unwrap_or(1.0).max(factor));
        }
        (converged, wanted)
    }
}

/// Factors by which to lengthen a run for two results, each `None` if this result suffices already.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Wanted {
    /// Factor by which a run must become longer so that the means have the required precision; `None` if it need not.
    measures: Option<f64>,
    /// Factor by which a run must become longer so that the verdict on saturation can be decided; `None` if it need
    /// not.
    verdict: Option<f64>,
}

/// Return the minimum factor by which a run of `reached` messages must grow before its next interim evaluation, so that
/// the remaining evaluations can still reach `max` messages. No step may exceed [`LENGTHEN_MAX`].
fn least_step(reached: u64, max: u64, looks_left: u32) -> f64 {
    let left = max as f64 / reached.max(1) as f64;
    let steps_after = i32::try_from(looks_left.saturating_sub(1)).unwrap_or(i32::MAX);
    LENGTHEN_MIN.max(left / LENGTHEN_MAX.powi(steps_after))
}

/// The verdict on saturation of a point, and its evidence.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub verdict: Verdict,
    /// Number of the flow (group of demands) whose test decided the verdict on saturation.
    pub flow: usize,
    /// Result of the test for saturation of the flow that decided the verdict; `None` if it had too few demands.
    pub judgement: Option<Judgement>,
    /// Whether the run served all demands of the flows without a steady state, whose demands arrive only
    /// once. `None` if no such flow exists or another flow is saturated.
    pub served: Option<bool>,
}

impl Judged {
    /// Return a rank for sorting, in which the most severe verdict is the highest. Equal verdicts rank by the growth of
    /// the backlog.
    fn rank(&self) -> (u8, f64) {
        let severity = match self.verdict {
            Verdict::Stable => 0,
            Verdict::Undecided => 1,
            Verdict::Saturated => 2,
        };
        (severity, self.growth())
    }

    /// Return by how much the backlog grows per offered demand; 0 if there were too few demands for the test.
    pub fn growth(&self) -> f64 {
        self.judgement.map_or(0.0, |j| j.growth.mean)
    }
}

/// Return the verdict on saturation of a point: saturated if one flow of demands is, stable if all flows are. The error
/// rate of the test is divided among the flows. A flow with a single period in the run is not tested; its verdict is
/// whether that period was served.
fn judge(subject: &dyn Subject, replications: &[&Recorders], test: &SaturationTest) -> Judged {
    let offered = |flow: usize| -> u64 {
        let counts = replications.iter().map(|recorders| &recorders.flows[flow]);
        counts.map(|count| count.offered()).sum()
    };
    let is_single = |flow: &usize| {
        let mut counts = replications.iter().map(|recorders| &recorders.flows[*flow]);
        subject.flows()[*flow].periodic && counts.all(|count| count.backlog.offered() == 0)
    };
    let (single, flows): (Vec<usize>, Vec<usize>) = (0..subject.flows().len())
        .filter(|&flow| offered(flow) > 0)
        .partition(is_single);
    let waits = |flow: &usize| {
        let mut counts = replications.iter().map(|recorders| &recorders.flows[*flow]);
        counts.any(|count| count.waiting() > 0)
    };
    let late = single.iter().copied().find(waits);
    let test = SaturationTest {
        alpha: test.alpha / flows.len().max(1) as f64,
        ..*test
    };
    let mut worst = Judged {
        verdict: if subject.limits_itself() {
            Verdict::Stable
        } else {
            Verdict::Undecided
        },
        flow: single.first().copied().unwrap_or(0),
        judgement: None,
        served: (!single.is_empty()).then_some(true),
    };
    for (position, &flow) in flows.iter().enumerate() {
        let backlogs: Vec<_> = replications
            .iter()
            .map(|recorders| recorders.flows[flow].backlog.clone())
            .collect();
        let periodic = subject.flows()[flow].periodic;
        let judgement = match periodic {
            true => test.judge_periodic(&backlogs),
            false => test.judge(&backlogs),
        };
        let enough = periodic || offered(flow) >= DEMANDS_MIN;
        let (verdict, judgement) = match judgement {
            Ok(judgement) if enough => (judgement.verdict, Some(judgement)),
            Ok(_) | Err(Error::TooFew { .. }) => (Verdict::Undecided, None),
            Err(error) => unreachable!("the scenario has checked the test: {error}"),
        };
        let judged = Judged {
            verdict,
            flow,
            judgement,
            served: None,
        };
        if position == 0 || judged.rank() > worst.rank() {
            worst = judged;
        }
    }
    match late {
        Some(flow) if worst.verdict != Verdict::Saturated => Judged {
            verdict: Verdict::Undecided,
            flow,
            judgement: None,
            served: Some(false),
        },
        _ => worst,
    }
}
