//! Runs one point until its rules are met.

use crate::progress::Progress;
use crate::recorders::{FlowCount, Recorders};
use crate::replication::{Finished, Halt, Replication};
use crate::rules::Rules;
use crate::summary;
use isthmus_kernel::Cycles;
use isthmus_machine::{Flow, Machine};
use isthmus_scenario::{StopRule, Warmup};
use isthmus_statistics::{Judgement, Precision, SaturationTest, Target, Verdict};
use isthmus_workload::spec::TrafficSpec;
use rayon::prelude::*;
use std::sync::Arc;

/// Zero-load round trips that a run must last before it is judged: a backlog that only fills the
/// delays of software and devices would look like saturation. The test compares the two halves of
/// a run, so the filling must be over well within the first.
const ROUND_TRIPS_MIN: u64 = 5;
/// The least growth of the run between two looks, so that the last look reaches the longest run.
const LENGTHEN_MIN: f64 = 2.0;
/// Demands that a flow must have offered in all to be judged.
const DEMANDS_MIN: u64 = 200;

/// A point that has been run.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub replications: Vec<Finished>,
    /// The verdict, the flow that decides and what it rests on; none if there was too little to
    /// judge.
    pub verdict: Verdict,
    pub flow: Flow,
    pub judgement: Option<Judgement>,
    pub converged: bool,
}

impl Measurement {
    /// Messages delivered in all replications together.
    pub fn messages(&self) -> u64 {
        self.replications
            .iter()
            .map(|replication| replication.recorders.delivered)
            .sum()
    }
}

/// The point to run.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub machine: Arc<Machine>,
    pub traffic: TrafficSpec,
    pub seed: u64,
}

impl Subject {
    /// Runs the point. `test` gives the verdict; precision is only asked for if `precise`.
    pub fn run(
        &self,
        rules: &Rules,
        test: &SaturationTest,
        precise: bool,
        progress: &Progress,
    ) -> Result<Measurement, Halt> {
        let (first, max) = rules.messages();
        let plan = Plan {
            subject: self,
            rules,
            test,
            precise,
            first,
            max,
            cycles_min: self.cycles_min(),
            progress,
        };
        match rules.stop.rule {
            StopRule::Fixed { .. } => plan.fixed(),
            StopRule::Precision { .. } => plan.sequential(),
        }
    }

    /// Cycles that a run must last before it is judged.
    fn cycles_min(&self) -> Cycles {
        let machine = &self.machine;
        let times = machine.times();
        let block = self.traffic.block.get();
        let disk = if times.hit.is_certain() {
            0.0
        } else {
            times.disk.mean_access(block)
        };
        // Request, forward and reply, each with its start-up and the length of a block.
        let flits = u64::from(machine.clock().flits(self.traffic.block));
        let round_trip = 3 * (machine.startup() + flits) + times.access + disk as Cycles;
        ROUND_TRIPS_MIN * round_trip
    }
}

/// How one point is run.
struct Plan<'a> {
    subject: &'a Subject,
    rules: &'a Rules,
    test: &'a SaturationTest,
    precise: bool,
    first: u64,
    max: u64,
    cycles_min: Cycles,
    progress: &'a Progress,
}

impl Plan<'_> {
    fn replication(&self, number: u64) -> Replication {
        let Subject {
            machine,
            traffic,
            seed,
        } = self.subject;
        Replication::new(Arc::clone(machine), traffic, *seed, number)
    }

    fn numbers(&self) -> impl IndexedParallelIterator<Item = u64> {
        (0..self.rules.stop.replications)
            .into_par_iter()
            .map(u64::from)
    }

    /// Runs of fixed length; only those at work are held in memory.
    fn fixed(&self) -> Result<Measurement, Halt> {
        let replications: Vec<Finished> = self
            .numbers()
            .with_max_len(1)
            .map(|number| {
                let mut replication = self.replication(number);
                self.warm_up(&mut replication)?;
                replication.run_to(self.max, 0, self.progress)?;
                Ok(replication.finish())
            })
            .collect::<Result<_, _>>()?;
        let recorders: Vec<&Recorders> = replications.iter().map(|r| &r.recorders).collect();
        let (verdict, flow, judgement) = judge(&recorders, self.test);
        let long_enough = replications.iter().all(|r| r.cycles >= self.cycles_min);
        Ok(Measurement {
            replications,
            verdict: if long_enough {
                verdict
            } else {
                Verdict::Undecided
            },
            flow,
            judgement,
            converged: true,
        })
    }

    /// Ever longer runs until everything is known.
    fn sequential(&self) -> Result<Measurement, Halt> {
        let mut replications: Vec<Replication> = self
            .numbers()
            .map(|number| self.replication(number))
            .collect();
        let mut messages = self.first.min(self.max);
        let mut looks_left = self.rules.looks();
        loop {
            replications.par_iter_mut().try_for_each(|replication| {
                if !replication.has_begun() {
                    self.warm_up(replication)?;
                }
                replication.run_to(messages, self.cycles_min, self.progress)
            })?;
            looks_left -= 1;
            let recorders: Vec<&Recorders> =
                replications.iter().map(Replication::recorders).collect();
            let (verdict, flow, judgement) = judge(&recorders, self.test);
            let (converged, factor) = match verdict {
                // Latencies of a saturated run depend on its length: more of it tells nothing.
                Verdict::Saturated => (false, None),
                _ => self.progress_of(&recorders, verdict, judgement.as_ref()),
            };
            let delivered = recorders.iter().map(|recorders| recorders.delivered);
            let reached = delivered.max().unwrap_or(messages);
            match factor {
                Some(factor) if looks_left > 0 && reached < self.max => {
                    let longer = reached as f64 * factor.max(LENGTHEN_MIN);
                    messages = (longer as u64).min(self.max);
                }
                _ => {
                    return Ok(Measurement {
                        replications: replications.into_iter().map(Replication::finish).collect(),
                        verdict,
                        flow,
                        judgement,
                        converged,
                    });
                }
            }
        }
    }

    /// Runs up to where measuring may begin. MSER-5 finds that place for each measure afterwards;
    /// channels leave out the first quarter of the first look.
    fn warm_up(&self, replication: &mut Replication) -> Result<(), Halt> {
        let progress = self.progress;
        match self.rules.stop.warmup {
            Warmup::Fixed { messages } => {
                replication.run_to(messages, 0, progress)?;
                replication.mark();
            }
            Warmup::Mser5 => replication.run_to(self.first / 4, self.cycles_min / 4, progress)?,
        }
        if self.rules.measure.channels && self.precise {
            replication.count_channels();
        }
        Ok(())
    }

    /// Whether every measure asked for is known, and by how much to lengthen the run if that or
    /// the verdict is missing.
    fn progress_of(
        &self,
        replications: &[&Recorders],
        verdict: Verdict,
        judgement: Option<&Judgement>,
    ) -> (bool, Option<f64>) {
        let mut factor: Option<f64> = match verdict {
            Verdict::Undecided => Some(judgement.map_or(LENGTHEN_MIN, |j| j.lengthen)),
            _ => None,
        };
        let (of, relative) = self.rules.targets();
        if !self.precise {
            return (verdict == Verdict::Stable, factor);
        }
        let mut converged = true;
        let mut estimates = Vec::new();
        for name in of {
            match summary::estimate(replications, self.rules, name) {
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

/// The verdict over both flows: saturated if either is, stable if both are.
fn judge(replications: &[&Recorders], test: &SaturationTest) -> (Verdict, Flow, Option<Judgement>) {
    let mut decisive: Option<(Verdict, Flow, Judgement)> = None;
    let mut unjudged = None;
    for flow in [Flow::Messages, Flow::Io] {
        let counts: Vec<&FlowCount> = replications
            .iter()
            .map(|recorders| &recorders.flows[flow as usize])
            .collect();
        let offered: u64 = counts.iter().map(|count| count.offered).sum();
        if offered == 0 {
            continue;
        }
        let backlogs: Vec<_> = counts.iter().map(|count| count.backlog.clone()).collect();
        let judgement = match test.judge(&backlogs) {
            Ok(judgement) if offered >= DEMANDS_MIN => judgement,
            _ => {
                unjudged = Some(flow);
                continue;
            }
        };
        let severity = |verdict| match verdict {
            Verdict::Stable => 0,
            Verdict::Undecided => 1,
            Verdict::Saturated => 2,
        };
        let candidate = (judgement.verdict, flow, judgement);
        let worse = decisive.as_ref().is_none_or(|(verdict, _, other)| {
            let (new, old) = (severity(candidate.0), severity(*verdict));
            new > old || new == old && candidate.2.growth.mean > other.growth.mean
        });
        if worse {
            decisive = Some(candidate);
        }
    }
    match (decisive, unjudged) {
        (Some((Verdict::Stable, _, judgement)), Some(flow)) => {
            (Verdict::Undecided, flow, Some(judgement))
        }
        (Some((verdict, flow, judgement)), _) => (verdict, flow, Some(judgement)),
        (None, flow) => (Verdict::Undecided, flow.unwrap_or(Flow::Messages), None),
    }
}
