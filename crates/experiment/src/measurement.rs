//! Runs one point until its rules are met.

use crate::progress::Progress;
use crate::recorders::Recorders;
use crate::replication::{Finished, Halt, Length, Replication};
use crate::result::Collapse;
use crate::rules::{PERIODS_MIN, Rules};
use crate::subject::Subject;
use crate::summary;
use isthmus_kernel::Cycles;
use isthmus_scenario::{StopRule, Warmup};
use isthmus_statistics::{Error, Judgement, Precision, SaturationTest, Target, Verdict};
use isthmus_units::Time;
use rayon::prelude::*;

/// The least growth of the run between two looks.
const LENGTHEN_MIN: f64 = 1.5;
/// Demands that a flow must have offered in all to be judged.
const DEMANDS_MIN: u64 = 200;

/// A point that has been run.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub replications: Vec<Finished>,
    /// The verdict, the flow that decides and what it rests on; none if there was too little to
    /// judge.
    pub verdict: Verdict,
    /// Position of the flow.
    pub flow: usize,
    pub judgement: Option<Judgement>,
    pub converged: bool,
}

impl Measurement {
    /// Why no message arrives any more in the first replication to which that happened, and in
    /// how many it did.
    pub fn collapse(&self) -> Option<Collapse> {
        let mut collapses = (self.replications.iter()).filter_map(|r| r.collapse.as_ref());
        let first = collapses.next()?.clone();
        Some(Collapse {
            replications: 1 + collapses.count() as u32,
            ..first
        })
    }

    /// Messages delivered in all replications together.
    pub fn messages(&self) -> u64 {
        self.replications
            .iter()
            .map(|replication| replication.recorders.delivered)
            .sum()
    }
}

/// Runs `subject` under `seed`. `test` gives the verdict; precision is only asked for if `precise`.
pub(crate) fn run(
    subject: &dyn Subject,
    seed: u64,
    rules: &Rules,
    test: &SaturationTest,
    precise: bool,
    progress: &Progress,
) -> Result<Measurement, Halt> {
    let plan = Plan {
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
        progress,
    };
    match rules.stop.rule {
        StopRule::Fixed { messages } => plan.fixed(Length::AtLeast {
            messages,
            cycles: rules.periods_min.saturating_mul(subject.period()),
        }),
        StopRule::FixedTime { time } => plan.fixed(Length::Until(plan.cycles(time))),
        StopRule::Precision {
            messages_first,
            messages_max,
            ..
        } => plan.sequential(messages_first, messages_max),
    }
}

/// How one point is run.
struct Plan<'a> {
    subject: &'a dyn Subject,
    seed: u64,
    rules: &'a Rules,
    test: &'a SaturationTest,
    precise: bool,
    cycles_min: Cycles,
    progress: &'a Progress,
}

impl Plan<'_> {
    fn replication(&self, number: u64) -> Replication {
        Replication::new(self.subject, self.seed, number)
    }

    fn numbers(&self) -> impl IndexedParallelIterator<Item = u64> {
        (0..self.rules.stop.replications)
            .into_par_iter()
            .map(u64::from)
    }

    /// Whole cycles in `time`, one at least.
    fn cycles(&self, time: Time) -> Cycles {
        let cycles = time.us() / self.subject.cycle_us();
        (cycles.round() as Cycles).max(1)
    }

    /// Runs of fixed length; only those at work are held in memory.
    fn fixed(&self, length: Length) -> Result<Measurement, Halt> {
        let replications: Vec<Finished> = self
            .numbers()
            .with_max_len(1)
            .map(|number| {
                let mut replication = self.replication(number);
                self.warm_up(&mut replication, length)?;
                replication.run_to(length, self.progress)?;
                Ok(replication.finish())
            })
            .collect::<Result<_, _>>()?;
        let recorders: Vec<&Recorders> = replications.iter().map(|r| &r.recorders).collect();
        let judged = judge(self.subject, &recorders, self.test);
        let long_enough = replications.iter().all(|r| r.cycles >= self.cycles_min);
        Ok(Measurement {
            verdict: if long_enough {
                judged.verdict
            } else {
                Verdict::Undecided
            },
            flow: judged.flow,
            judgement: judged.judgement,
            converged: true,
            replications,
        })
    }

    /// Ever longer runs until everything is known.
    fn sequential(&self, first: u64, max: u64) -> Result<Measurement, Halt> {
        let mut replications: Vec<Replication> = self
            .numbers()
            .map(|number| self.replication(number))
            .collect();
        let mut messages = first.min(max);
        let mut looks_left = self.rules.looks();
        loop {
            replications.par_iter_mut().try_for_each(|replication| {
                let length = Length::AtLeast {
                    messages,
                    cycles: self.cycles_min,
                };
                if !replication.has_begun() {
                    self.warm_up(replication, length)?;
                }
                replication.run_to(length, self.progress)
            })?;
            looks_left -= 1;
            let recorders: Vec<&Recorders> =
                replications.iter().map(Replication::recorders).collect();
            let judged = judge(self.subject, &recorders, self.test);
            let collapsed = replications.iter().any(Replication::has_collapsed);
            let (converged, factor) = match judged.verdict {
                _ if collapsed => (false, None),
                // Latencies of a saturated run depend on its length: more of it tells nothing.
                Verdict::Saturated => (false, None),
                _ => self.progress_of(&recorders, &judged),
            };
            let delivered = recorders.iter().map(|recorders| recorders.delivered);
            let reached = delivered.max().unwrap_or(messages);
            match factor {
                Some(factor) if looks_left > 0 && reached < max => {
                    // In equal factors the last look comes to the longest run.
                    let left = max as f64 / reached as f64;
                    let even = left.powf(1.0 / f64::from(looks_left));
                    let longer = reached as f64 * factor.max(LENGTHEN_MIN).max(even);
                    messages = (longer.ceil() as u64).min(max);
                }
                _ => {
                    return Ok(Measurement {
                        replications: replications.into_iter().map(Replication::finish).collect(),
                        verdict: judged.verdict,
                        flow: judged.flow,
                        judgement: judged.judgement,
                        converged,
                    });
                }
            }
        }
    }

    /// Runs up to where measuring may begin, in a run of `length`. MSER-5 finds that place for each
    /// measure afterwards; channels leave out the first quarter of the first look.
    fn warm_up(&self, replication: &mut Replication, length: Length) -> Result<(), Halt> {
        let progress = self.progress;
        let at_least = |messages, cycles| Length::AtLeast { messages, cycles };
        match (self.rules.stop.warmup, length) {
            (Warmup::None, _) => replication.mark(),
            (Warmup::Fixed { messages }, _) => {
                replication.run_to(at_least(messages, 0), progress)?;
                // A fabric that has collapsed delivers no more, however long it runs.
                if let Length::Until(end) = length
                    && replication.now() >= end
                    && !replication.has_collapsed()
                {
                    return Err(Halt::AllWarmUp { messages });
                }
                replication.mark();
            }
            (Warmup::Mser5, Length::AtLeast { messages, cycles }) => {
                replication.run_to(at_least(messages / 4, cycles / 4), progress)?;
            }
            (Warmup::Mser5, Length::Until(cycles)) => {
                replication.run_to(Length::Until(cycles / 4), progress)?;
            }
        }
        if self.rules.measure.channels && self.precise {
            replication.count_channels();
        }
        Ok(())
    }

    /// Whether every measure asked for is known, and by how much to lengthen the run if that or
    /// the verdict is missing.
    fn progress_of(&self, replications: &[&Recorders], judged: &Judged) -> (bool, Option<f64>) {
        let mut factor: Option<f64> = match judged.verdict {
            Verdict::Undecided => Some(judged.judgement.map_or(LENGTHEN_MIN, |j| j.lengthen)),
            _ => None,
        };
        let (of, relative) = self.rules.targets();
        if !self.precise {
            return (judged.verdict == Verdict::Stable, factor);
        }
        let mut converged = true;
        let mut estimates = Vec::new();
        for name in of {
            match summary::estimate(replications, self.rules, self.subject, name) {
                summary::Known::Estimate(estimate) => {
                    estimates.push((estimate, Target::relative(relative)));
                }
                summary::Known::TooFew => {
                    converged = false;
                    factor = Some(factor.unwrap_or(LENGTHEN_MIN).max(LENGTHEN_MIN));
                }
                summary::Known::Absent => {}
            }
        }
        let assessment = Precision::default().assess(&estimates);
        if !assessment.is_done() {
            converged = false;
            factor = Some(factor.unwrap_or(1.0).max(assessment.factor));
        }
        (converged, factor)
    }
}

/// A verdict and what it rests on.
#[derive(Debug, Clone)]
struct Judged {
    verdict: Verdict,
    flow: usize,
    judgement: Option<Judgement>,
}

impl Judged {
    /// How bad it is: by the verdict, then by the growth.
    fn rank(&self) -> (u8, f64) {
        let severity = match self.verdict {
            Verdict::Stable => 0,
            Verdict::Undecided => 1,
            Verdict::Saturated => 2,
        };
        (severity, self.judgement.map_or(0.0, |j| j.growth.mean))
    }
}

/// The verdict over all flows: saturated if one is, stable if all are. Where there are several,
/// each is tested at its share of the error rate, since each can be wrong about saturation.
fn judge(subject: &dyn Subject, replications: &[&Recorders], test: &SaturationTest) -> Judged {
    let offered = |flow: usize| -> u64 {
        let counts = replications.iter().map(|recorders| &recorders.flows[flow]);
        counts.map(|count| count.offered()).sum()
    };
    let flows: Vec<usize> = (0..subject.flows().len())
        .filter(|&flow| offered(flow) > 0)
        .collect();
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
        flow: 0,
        judgement: None,
    };
    for (position, &flow) in flows.iter().enumerate() {
        let backlogs: Vec<_> = replications
            .iter()
            .map(|recorders| recorders.flows[flow].backlog.clone())
            .collect();
        let (verdict, judgement) = match test.judge(&backlogs) {
            Ok(judgement) if offered(flow) >= DEMANDS_MIN => (judgement.verdict, Some(judgement)),
            Ok(_) | Err(Error::TooFew { .. }) => (Verdict::Undecided, None),
            Err(error) => unreachable!("the scenario has checked the test: {error}"),
        };
        let judged = Judged {
            verdict,
            flow,
            judgement,
        };
        if position == 0 || judged.rank() > worst.rank() {
            worst = judged;
        }
    }
    worst
}
