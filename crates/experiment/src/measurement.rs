//! Runs one point until its rules are met.

use crate::progress::Progress;
use crate::recorders::Recorders;
use crate::replication::{Finished, Halt, Replication};
use crate::rules::Rules;
use crate::summary;
use isthmus_kernel::Cycles;
use isthmus_machine::hypercube::{Flow, Machine};
use isthmus_scenario::{StopRule, Warmup};
use isthmus_statistics::{Error, Judgement, Precision, SaturationTest, Target, Verdict};
use isthmus_units::Bytes;
use isthmus_workload::spec::TrafficSpec;
use rayon::prelude::*;
use std::sync::Arc;

/// Zero-load round trips that a run must last before it is judged: a backlog that only fills the
/// delays of software and devices would look like saturation. The test compares the two halves of
/// a run, so the filling must be over well within the first.
const ROUND_TRIPS_MIN: u64 = 5;
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
        let blocks = self
            .traffic
            .file_blocks_max
            .min(self.traffic.file_blocks_split);
        let data = Bytes::new(self.traffic.block.get() * u64::from(blocks));
        let disk = if times.hit.is_certain() {
            0.0
        } else {
            times.disk.mean_access(data.get())
        };
        // Request, forward and reply, each with its start-up and the length of the largest data.
        let flits = u64::from(machine.clock().flits(data));
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
                    // In equal factors the last look comes to the longest run.
                    let left = self.max as f64 / reached as f64;
                    let even = left.powf(1.0 / f64::from(looks_left));
                    let longer = reached as f64 * factor.max(LENGTHEN_MIN).max(even);
                    messages = (longer.ceil() as u64).min(self.max);
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

/// The verdict over both flows: saturated if either is, stable if both are. Where there are two,
/// each is tested at half the error rate, since either can be wrong about saturation.
fn judge(replications: &[&Recorders], test: &SaturationTest) -> (Verdict, Flow, Option<Judgement>) {
    let offered = |flow: Flow| -> u64 {
        let counts = replications
            .iter()
            .map(|recorders| &recorders.flows[flow as usize]);
        counts.map(|count| count.offered).sum()
    };
    let flows: Vec<Flow> = [Flow::Messages, Flow::Io]
        .into_iter()
        .filter(|&flow| offered(flow) > 0)
        .collect();
    let test = SaturationTest {
        alpha: test.alpha / flows.len().max(1) as f64,
        ..*test
    };
    let mut worst: Option<(Verdict, Flow, Option<Judgement>)> = None;
    for flow in flows {
        let backlogs: Vec<_> = replications
            .iter()
            .map(|recorders| recorders.flows[flow as usize].backlog.clone())
            .collect();
        let judged = match test.judge(&backlogs) {
            Ok(judgement) if offered(flow) >= DEMANDS_MIN => {
                (judgement.verdict, flow, Some(judgement))
            }
            Ok(_) | Err(Error::TooFew { .. }) => (Verdict::Undecided, flow, None),
            Err(error) => unreachable!("the scenario has checked the test: {error}"),
        };
        if worst
            .as_ref()
            .is_none_or(|other| rank(&judged) > rank(other))
        {
            worst = Some(judged);
        }
    }
    worst.unwrap_or((Verdict::Undecided, Flow::Messages, None))
}

/// How bad a judged flow is: by its verdict, then by its growth.
fn rank((verdict, _, judgement): &(Verdict, Flow, Option<Judgement>)) -> (u8, f64) {
    let severity = match verdict {
        Verdict::Stable => 0,
        Verdict::Undecided => 1,
        Verdict::Saturated => 2,
    };
    (
        severity,
        judgement.map_or(0.0, |judgement| judgement.growth.mean),
    )
}
