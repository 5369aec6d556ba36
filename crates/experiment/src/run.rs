//! Runs an experiment: all points of a scenario's sweep and all its searches for the saturation load, on several
//! threads.

mod build;
mod collected;
mod jobs;
mod keeping;
mod order;
mod part;
mod places;
mod preview;
mod whole;

pub use part::{Part, Selection};

use crate::error::RunError;
use crate::guard;
use crate::journal::Journal;
use crate::kept::Kept;
use crate::limits::{self, Memory};
use crate::machines::Machines;
use crate::measurement;
use crate::processors::threads;
use crate::progress::Progress;
use crate::replication::{Halt, Shared};
use crate::result::{
    Axis, AxisValue, Load, Measure, Origin, PointResult, RunResult, SCHEMA, SearchResult, State,
    VerdictSummary,
};
use crate::rules::Rules;
use crate::search;
use crate::subject::{Overlay, Subject};
use crate::summary::Report;
use isthmus_scenario::{Scenario, ScenarioError};
use isthmus_units::Bytes;
use jobs::{Job, SearchJob, built};
use order::run_in_order;
use places::position_text;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Options of a run, which the command line or the caller sets.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Master seed of the random numbers, instead of the seed of the scenario.
    pub seed: Option<u64>,
    /// Number of threads that simulate in parallel, at most [`processors`](crate::processors); 0 means one per
    /// processor.
    pub jobs: usize,
    /// Whether to run the shortened form of the scenario (`--quick`): shorter runs, wider confidence
    /// intervals.
    pub quick: bool,
    /// Folder in which finished points are stored, so that the run can resume.
    pub journal: Option<PathBuf>,
    /// Computing time after which the partial results of a point or search are written to the journal's
    /// folder again; by default some seconds.
    pub keep_after: Option<Duration>,
    /// Memory that all simulations together may use; by default half of the memory that this process may use.
    pub memory: Option<Bytes>,
    /// Whether this process does the whole run or shares it with other processes.
    pub extent: Extent,
}

/// How much of a run a process does: the whole run, or parts of a run that several processes share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// The whole run, by [`Experiment::run`]. All machines are built, and all points checked, before the
    /// first simulation.
    #[default]
    Whole,
    /// Parts of the run, by [`Experiment::run_part`]. Machines are built on first use, and checks of the
    /// whole run are left out. Processes share finished points through the journal's folder. A process claims
    /// a point by a file there. Other processes may take over the point after this time without a heartbeat
    /// of its process. Without a folder, finished points stay in memory until [`Experiment::give_away`].
    Parts(Duration),
}

/// An experiment, ready to run: a scenario with its points, its searches and its machines.
#[derive(Debug)]
pub struct Experiment {
    scenario: Scenario,
    options: Options,
    /// Master seed of the random numbers of the run.
    seed: u64,
    rules: Rules,
    machines: Machines,
    points: Vec<Job>,
    searches: Vec<SearchJob>,
    journal: Journal,
    progress: Arc<Progress>,
    memory: Arc<Memory>,
    /// The first error, which ends the run; `None` without an error.
    failure: Mutex<Option<RunError>>,
    /// The result of the run as JSON, if all points and searches were in the journal before the run.
    finished: Mutex<Option<Vec<u8>>>,
}

impl Experiment {
    /// Return the progress of the run, by which the caller can also cancel the run.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Run the points and searches that are missing from the journal. The result depends only on the
    /// scenario, the seed and `quick`, and on the memory if that ends a point. The result does not depend on
    /// the number of threads.
    ///
    /// # Errors
    /// The run ended early; finished points are in the journal.
    pub fn run(&self) -> Result<RunResult, RunError> {
        let pool = self.pool()?;
        let first = self.searches.len();
        let (points, searches) = pool.install(|| {
            // Start searches first: they take longest. If a search started last, all other threads would wait
            // for it.
            let mut all = run_in_order(first + self.points.len(), |at| {
                match at.checked_sub(first) {
                    None => (
                        None,
                        self.run_beside_others(&self.searches[at], Self::search),
                    ),
                    Some(at) => (self.run_beside_others(&self.points[at], Self::point), None),
                }
            });
            let points = all.split_off(first).into_iter().map(|(point, _)| point);
            let searches = all.into_iter().map(|(_, search)| search);
            // Run the points without a result again, one at a time: they may fit into memory alone.
            let points = self.one_by_one(&self.points, points, Self::point);
            let searches = self.one_by_one(&self.searches, searches, Self::search);
            (points, searches)
        });
        self.check_failure()?;
        match (points, searches) {
            (Some(points), Some(searches)) => Ok(self.result(points, searches)),
            _ => Err(RunError::Cancelled),
        }
    }

    /// Create the pool of threads that simulate the points of the run.
    fn pool(&self) -> Result<rayon::ThreadPool, RunError> {
        let jobs = threads(self.options.jobs);
        rayon::ThreadPoolBuilder::new()
            .num_threads(jobs)
            .start_handler(|_| guard::cover_thread())
            .build()
            .map_err(|error| RunError::Threads {
                jobs,
                problem: error.to_string(),
            })
    }

    /// Return `Err` with the first error of the run so far, otherwise `Ok`.
    fn check_failure(&self) -> Result<(), RunError> {
        let failure = self.failure.lock();
        let failure = failure.unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), Err)
    }

    /// Run a job (a point or a search) while other jobs run. Return `None` if it failed or needed more memory
    /// than is free.
    fn run_beside_others<J, R>(
        &self,
        job: &J,
        run: fn(&Self, &J) -> Result<R, RunError>,
    ) -> Option<R> {
        match self.attempt(|| run(self, job)) {
            Ok(result) => Some(result),
            Err(RunError::Memory { .. }) => None,
            Err(error) => self.fail(error),
        }
    }

    /// Run the jobs (points or searches) that have no result yet one after another, and return all results.
    /// Return `None` if a job fails.
    fn one_by_one<J, R>(
        &self,
        jobs: &[J],
        done: impl Iterator<Item = Option<R>>,
        run: fn(&Self, &J) -> Result<R, RunError>,
    ) -> Option<Vec<R>> {
        let all = jobs.iter().zip(done).map(|(job, done)| match done {
            Some(result) => Some(result),
            None => (self.attempt(|| run(self, job))).map_or_else(|error| self.fail(error), Some),
        });
        all.collect()
    }

    /// Call `run`, and convert a panic in it to an error. If the experiment has been stopped, return an error
    /// without the call.
    fn attempt<R>(&self, run: impl FnOnce() -> Result<R, RunError>) -> Result<R, RunError> {
        if self.progress.is_stopped() {
            return Err(RunError::Cancelled);
        }
        guard::catch(run).unwrap_or_else(|panic| Err(panic.into()))
    }

    /// Stop the experiment with this error, unless an earlier error has stopped it. Return `None`, as the
    /// missing result of the caller.
    fn fail<R>(&self, error: RunError) -> Option<R> {
        if !matches!(error, RunError::Cancelled) {
            let failure = self.failure.lock();
            failure
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(error);
            self.progress.stop();
        }
        None
    }

    /// Return what all replications of a point or search use together: progress, memory budget, and `kept`, its
    /// partial results.
    fn shared<'a>(&'a self, kept: &'a Kept<'a>) -> Shared<'a> {
        Shared {
            progress: &self.progress,
            memory: &self.memory,
            kept: Some(kept),
        }
    }

    /// Return the predictions of the analytic model for every point and search, without simulation.
    pub fn analyze(&self) -> RunResult {
        let points = self.points.iter().map(|job| self.analyzed(job)).collect();
        let nothing = search::Found::default();
        let searches = self.searches.iter();
        let searches = searches.map(|job| self.search_result(job, nothing.clone()));
        self.result(points, searches.collect())
    }

    /// Assemble the result of the run from the results of its points and searches.
    fn result(&self, points: Vec<PointResult>, searches: Vec<SearchResult>) -> RunResult {
        let scenario = &self.scenario;
        let axes: Vec<Axis> = scenario
            .axes
            .iter()
            .map(|axis| Axis {
                key: axis.key.clone(),
                label: axis.label.clone(),
                unit: axis.unit.clone(),
            })
            .collect();
        RunResult {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: scenario.name.clone(),
            title: scenario.title.clone(),
            description: scenario.description.clone(),
            changes: scenario.changes(),
            digest: scenario.digest(),
            seed: self.seed,
            quick: self.options.quick,
            confidence: self.rules.stop.confidence,
            load: Load::from(scenario.loads()),
            load_axis: (axes.iter()).position(|axis| scenario.is_load(&axis.key)),
            axes,
            machines: self.machines.summaries(),
            points,
            searches,
        }
    }

    /// Return the result of a point, from the journal or by simulation.
    fn point(&self, job: &Job) -> Result<PointResult, RunError> {
        self.kept(&job.entry, PointResult::is_whole, |kept| {
            let subject = &*self.subject(job)?;
            self.progress.set_started();
            let (rules, test) = (&self.rules, self.rules.test());
            let measurement =
                measurement::run(subject, self.seed, rules, &test, true, self.shared(kept))
                    .map_err(|halt| {
                        self.halt_error(halt, &job.values.iter().map(Some).collect::<Vec<_>>())
                    })?;
            let overlay = self.overlay(subject);
            let report = Report::new(&measurement, subject, rules, &test, &overlay);
            let cycles: u64 = measurement.replications.iter().map(|r| r.cycles).sum();
            Ok(PointResult {
                index: job.index,
                values: job.values.clone(),
                machine: job.machine,
                load: subject.load(),
                verdict: report.verdict,
                converged: measurement.converged,
                ended_by: measurement.ended_by,
                replications: measurement.replications.len() as u32,
                messages: measurement.messages(),
                simulated_ms: cycles as f64 * subject.cycle_us() / 1e3,
                measures: report.measures,
                histograms: report.histograms,
                channels: report.uses.rows,
                bottleneck: report.uses.bottleneck,
                nodes: report.nodes,
                jobs: subject.jobs(),
                servers: subject.servers(),
                collapse: measurement.collapse(),
                unmodelled: None,
            })
        })
    }

    /// Return the machine with the workload of a point, ready to be simulated; build it if necessary.
    fn subject(&self, job: &Job) -> Result<Arc<dyn Subject>, ScenarioError> {
        if let Some(subject) = &job.subject {
            return Ok(Arc::clone(subject));
        }
        built(
            &self.scenario,
            &self.machines,
            job.machine,
            &job.workload,
            &job.values.iter().map(Some).collect::<Vec<_>>(),
        )
    }

    /// Return the predictions of the analytic model for a point. They have no values if the scenario does not
    /// request the model.
    fn overlay(&self, subject: &dyn Subject) -> Overlay {
        if !self.rules.measure.analysis {
            return Overlay::default();
        }
        subject.overlay()
    }

    /// Return the result of a point that has only the predictions of the analytic model and no measured
    /// values.
    fn analyzed(&self, job: &Job) -> PointResult {
        let subject = job.built().as_ref();
        let overlay = self.overlay(subject);
        let load = subject.load();
        let verdict = match (load, overlay.saturation) {
            (Some(offered), Some(limit)) if offered >= limit => State::Saturated,
            (Some(_), Some(_)) => State::Stable,
            _ => State::Undecided,
        };
        PointResult {
            index: job.index,
            values: job.values.clone(),
            machine: job.machine,
            load,
            verdict: VerdictSummary {
                origin: Origin::Model,
                verdict,
                flow: (subject.flows().last()).map_or_else(String::new, |f| f.name.to_string()),
                growth: 0.0,
                growth_low: 0.0,
                growth_high: 0.0,
                threshold: self.rules.verdict.growth,
                error_rate: 0.0,
            },
            converged: true,
            ended_by: None,
            replications: 0,
            messages: 0,
            simulated_ms: 0.0,
            measures: modelled(subject, &overlay),
            histograms: Vec::new(),
            channels: Vec::new(),
            bottleneck: None,
            nodes: Vec::new(),
            jobs: subject.jobs(),
            servers: subject.servers(),
            collapse: None,
            unmodelled: overlay.absent,
        }
    }

    /// Return the result of a search, from the journal or by simulation.
    fn search(&self, job: &SearchJob) -> Result<SearchResult, RunError> {
        self.kept(&job.entry, SearchResult::is_whole, |kept| {
            let search = &job.search;
            let range = search::Range {
                from: search.low,
                to: search.high,
                resolution: self.resolution(job),
            };
            let known: Vec<_> = job.values.iter().map(Option::as_ref).collect();
            let (_, workload) = job.line.at(search.low)?;
            built(
                &self.scenario,
                &self.machines,
                job.machine,
                &workload,
                &known,
            )?;
            self.progress.set_started();
            let built = self.machines.get(job.machine);
            let subject_at = |load: f64| job.subject(built, load);
            let shared = self.shared(kept);
            let found = search::run(&range, self.seed, &self.rules, subject_at, shared);
            let found = found.map_err(|halt| self.halt_error(halt, &known))?;
            Ok(self.search_result(job, found))
        })
    }

    /// Return the requested width of the interval around the saturation load, relative to its middle. With
    /// `--quick` it is twice the width in the scenario.
    fn resolution(&self, job: &SearchJob) -> f64 {
        job.search.resolution * if self.options.quick { 2.0 } else { 1.0 }
    }

    /// Return the result of a search: the loads that it found, and the predictions of the analytic model.
    fn search_result(&self, job: &SearchJob, found: search::Found) -> SearchResult {
        let built = self.machines.get(job.machine);
        let overlay = self.overlay(job.subject(built, job.search.low).as_ref());
        SearchResult {
            values: job.values.clone(),
            machine: job.machine,
            highest_stable: found.bracket.stable,
            lowest_saturated: found.bracket.saturated,
            undecided: found.bracket.undecided,
            resolution: self.resolution(job),
            reached: found.reached,
            trials: found.trials,
            analytic: overlay.saturation,
            analytic_bottleneck: overlay.bottleneck,
            error_rate: self.rules.verdict.error_rate,
        }
    }

    /// Return the error of the run for a replication that stopped early for the reason `halt`. `values` are the
    /// axis values of its point.
    fn halt_error(&self, halt: Halt, values: &[Option<&AxisValue>]) -> RunError {
        match halt {
            // Report only the cancellation if partial results could not be stored: the function `kept`
            // returns the error of the storage.
            Halt::Cancelled | Halt::Unkept => RunError::Cancelled,
            Halt::AllWarmUp { messages } => RunError::AllWarmUp {
                place: position_text(&self.scenario, values),
                messages,
            },
            Halt::Stuck { under_way } => RunError::Standstill {
                place: position_text(&self.scenario, values),
                under_way,
            },
            Halt::TooLong { cycle_us } => RunError::TooLong {
                place: position_text(&self.scenario, values),
                limit: limits::longest(cycle_us),
            },
            Halt::Memory => RunError::Memory {
                place: position_text(&self.scenario, values),
                bound: limits::amount(self.memory.bound),
            },
        }
    }
}

/// Return the measures that the analytic model predicts, without measured values.
fn modelled(subject: &dyn Subject, overlay: &Overlay) -> Vec<Measure> {
    let rates = subject.rates().into_iter();
    let rates = rates.map(|rate| (rate.name.into_owned(), rate.unit));
    let latencies = subject.measures().iter().map(|name| (name.clone(), "us"));
    let measure = |(name, unit): (String, &str)| {
        let (analytic, outside) = overlay.split(&name);
        if analytic.is_none() && outside.is_none() {
            return None;
        }
        Some(Measure {
            name,
            unit: unit.to_owned(),
            analytic,
            outside,
            ..Measure::default()
        })
    };
    rates.chain(latencies).filter_map(measure).collect()
}
