//! A whole scenario: its points and searches, on as many threads as wanted.

mod places;
mod told;

use crate::envelope::{Entry, Run};
use crate::error::{RunError, SetupError};
use crate::guard;
use crate::journal::{Journal, JournalError};
use crate::kind::{Built, Flaw, Kinds};
use crate::limits::{self, Memory};
use crate::machines::Machines;
use crate::measurement;
use crate::memory;
use crate::processors::threads;
use crate::progress::Progress;
use crate::replication::{Halt, Shared};
use crate::result::{
    Axis, AxisValue, Change, EndedBy, Load, Measure, Origin, PointResult, RunResult, SCHEMA,
    SearchResult, State, VerdictSummary,
};
use crate::rules::{PATIENCE, Rules};
use crate::search;
use crate::subject::{Overlay, Subject};
use crate::summary::Report;
use isthmus_scenario::{Described, Scenario, ScenarioError, Search, SearchLine};
use isthmus_units::Bytes;
use places::{place, search_values, values};
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use told::{check_measured, longest_period};

/// How a scenario is run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Master seed in place of the scenario's.
    pub seed: Option<u64>,
    /// Threads, as many as [`processors`](crate::processors) at most; 0 means one for each.
    pub jobs: usize,
    /// The shortened form: shorter runs, wider intervals.
    pub quick: bool,
    /// Folder for finished points, to resume from.
    pub journal: Option<PathBuf>,
    /// Memory that simulations may take; half of what this process may use if not given.
    pub memory: Option<Bytes>,
}

/// One point, ready to run.
#[derive(Debug)]
struct Job {
    index: usize,
    values: Vec<AxisValue>,
    machine: usize,
    workload: Described,
    subject: Arc<dyn Subject>,
    entry: Entry,
}

/// One search, ready to run.
#[derive(Debug)]
struct SearchJob {
    values: Vec<Option<AxisValue>>,
    machine: usize,
    search: Search,
    line: SearchLine,
    entry: Entry,
}

impl SearchJob {
    /// The point at this load.
    fn subject(&self, built: &Built, load: f64) -> Arc<dyn Subject> {
        let (_, workload) = self
            .line
            .at(load)
            .expect("loads within the range of a search are possible");
        (built.subject(&workload)).expect("the search's machine was checked with its workload")
    }
}

/// A scenario with its machines built, ready to run.
#[derive(Debug)]
pub struct Experiment {
    scenario: Scenario,
    options: Options,
    seed: u64,
    rules: Rules,
    machines: Machines,
    points: Vec<Job>,
    searches: Vec<SearchJob>,
    journal: Option<Journal>,
    progress: Arc<Progress>,
    memory: Arc<Memory>,
    /// What went wrong first.
    failure: Mutex<Option<RunError>>,
}

impl Experiment {
    /// Builds all machines of `scenario`, which is of one of `kinds`, and opens the journal.
    ///
    /// # Errors
    /// What is wrong with a machine or the journal; nothing has been changed then.
    pub fn new(kinds: &Kinds, scenario: Scenario, options: Options) -> Result<Self, SetupError> {
        Self::build(kinds, scenario, options, Arc::default())
    }

    /// As [`Experiment::new`], heeding `progress`: once it is cancelled, no further machine is
    /// built.
    ///
    /// # Errors
    /// As [`Experiment::new`], and [`SetupError::Cancelled`].
    pub fn build(
        kinds: &Kinds,
        scenario: Scenario,
        options: Options,
        progress: Arc<Progress>,
    ) -> Result<Self, SetupError> {
        let kind = kinds.of(&scenario);
        let names = kind.measures(&scenario.workload);
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        scenario.check_measures(&known)?;
        if scenario.verdict.error_rate >= 0.5 {
            let problem = format!("{} is no better than a guess", scenario.verdict.error_rate);
            let error = scenario.error_at("verdict.error_rate", problem, "give less than 0.5");
            return Err(error.into());
        }
        let mut machines = Machines::new(kind);
        let refused = |flaw: Flaw, values: &[AxisValue]| {
            let problem = format!("{}{}", flaw.problem, place(&scenario, values));
            scenario.error_below(flaw.field, flaw.line, problem, flaw.hint)
        };
        let mut build = |machine: &Described, workload: &Described, values: &[AxisValue]| {
            let position = machines.position(machine);
            let position = position.map_err(|flaw| refused(flaw, values))?;
            let built = machines.get(position);
            let subject = built.subject(workload);
            let subject = subject.map_err(|flaw| refused(flaw, values))?;
            Ok::<_, ScenarioError>((position, subject))
        };
        let mut points = Vec::new();
        for point in scenario.points() {
            if progress.is_cancelled() {
                return Err(SetupError::Cancelled);
            }
            let values = values(&point.values);
            let (machine, subject) = build(&point.machine, &point.workload, &values)?;
            let at: Vec<_> = values.iter().cloned().map(Some).collect();
            let name = format!("point-{:05}", point.index);
            points.push(Job {
                entry: Entry::new(name, &point.machine, &point.workload, &at, &()),
                index: point.index,
                machine,
                values,
                workload: point.workload,
                subject,
            });
        }
        let mut searches = Vec::new();
        for line in scenario.search_lines() {
            if progress.is_cancelled() {
                return Err(SetupError::Cancelled);
            }
            let Some(search) = &scenario.search else {
                break;
            };
            let (described, workload) = line.at(search.low)?;
            let (machine, _) = build(&described, &workload, &[])?;
            let values = search_values(&scenario, &line);
            let name = format!("search-{:05}", line.index);
            searches.push(SearchJob {
                entry: Entry::new(name, &described, &workload, &values, search),
                machine,
                values,
                search: search.clone(),
                line,
            });
        }
        let seed = options.seed.unwrap_or(scenario.seed);
        let rules = Rules {
            stop: scenario.stop.clone(),
            measure: scenario.measure.clone(),
            verdict: scenario.verdict,
            periods_min: 0,
            patience: PATIENCE,
            decisive: 1,
        };
        if progress.is_cancelled() {
            return Err(SetupError::Cancelled);
        }
        let loads: Vec<&dyn Subject> = points.iter().map(|job: &Job| &*job.subject).collect();
        check_measured(&scenario, &loads)?;
        let period = longest_period(&loads);
        let run = Run {
            digest: scenario.digest(),
            seed,
            quick: options.quick,
        };
        let journal = match &options.journal {
            Some(folder) => Some(Journal::open(folder, run)?),
            None => None,
        };
        let memory = options
            .memory
            .map_or_else(memory::default_bound, Bytes::get);
        progress.set_total((points.len() + searches.len()) as u64);
        let experiment = Self {
            rules: if options.quick {
                rules.quick(period)
            } else {
                rules
            },
            scenario,
            seed,
            options,
            machines,
            points,
            searches,
            journal,
            progress,
            memory: Arc::new(Memory::new(memory)),
            failure: Mutex::new(None),
        };
        experiment.check_journal()?;
        Ok(experiment)
    }

    /// Reads every finished entry once, so that a damaged one is found before any work.
    fn check_journal(&self) -> Result<(), JournalError> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        for job in &self.points {
            journal.read::<PointResult>(&job.entry)?;
        }
        for job in &self.searches {
            journal.read::<SearchResult>(&job.entry)?;
        }
        Ok(())
    }

    /// What the run tells while it goes on, and how to stop it.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Runs what the journal does not have yet. The result depends on the scenario, the seed and
    /// `quick` only, and on the memory where that ends a point; never on the number of threads.
    ///
    /// # Errors
    /// Why the run ended early; what was finished is in the journal.
    pub fn run(&self) -> Result<RunResult, RunError> {
        let jobs = threads(self.options.jobs);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs)
            .start_handler(|_| guard::cover_thread())
            .build()
            .map_err(|error| RunError::Threads {
                jobs,
                problem: error.to_string(),
            })?;
        let (points, searches) = pool.install(|| {
            let (points, searches) = rayon::join(
                || self.in_parallel(&self.points, Self::point),
                || self.in_parallel(&self.searches, Self::search),
            );
            // What did not fit beside others may fit alone.
            let points = self.one_by_one(&self.points, points, Self::point);
            (
                points,
                self.one_by_one(&self.searches, searches, Self::search),
            )
        });
        let failure = self.failure.lock();
        if let Some(error) = failure.unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        match (points, searches) {
            (Some(points), Some(searches)) => Ok(self.result(points, searches)),
            _ => Err(RunError::Cancelled),
        }
    }

    /// Does these on all threads. None for what was not done.
    fn in_parallel<J: Sync, R: Send>(
        &self,
        jobs: &[J],
        run: fn(&Self, &J) -> Result<R, RunError>,
    ) -> Vec<Option<R>> {
        let jobs = jobs.par_iter().with_max_len(1);
        jobs.map(|job| match self.attempt(|| run(self, job)) {
            Ok(result) => Some(result),
            Err(RunError::Memory { .. }) => None,
            Err(error) => self.fail(error),
        })
        .collect()
    }

    /// Does one after another what is not done yet. None if that fails.
    fn one_by_one<J, R>(
        &self,
        jobs: &[J],
        done: Vec<Option<R>>,
        run: fn(&Self, &J) -> Result<R, RunError>,
    ) -> Option<Vec<R>> {
        let all = jobs.iter().zip(done).map(|(job, done)| match done {
            Some(result) => Some(result),
            None => (self.attempt(|| run(self, job))).map_or_else(|error| self.fail(error), Some),
        });
        all.collect()
    }

    /// `run`, unless the run has ended.
    fn attempt<R>(&self, run: impl FnOnce() -> Result<R, RunError>) -> Result<R, RunError> {
        if self.progress.is_stopped() {
            return Err(RunError::Cancelled);
        }
        guard::catch(run).unwrap_or_else(|panic| Err(panic.into()))
    }

    /// Ends the run; what went wrong first is what it says.
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

    fn shared(&self) -> Shared<'_> {
        Shared {
            progress: &self.progress,
            memory: &self.memory,
        }
    }

    /// The analytic model's values for every point and search; nothing is simulated.
    pub fn analyze(&self) -> RunResult {
        let points = self.points.iter().map(|job| self.analyzed(job)).collect();
        let nothing = search::Found::default();
        let searches = self.searches.iter();
        let searches = searches.map(|job| self.search_result(job, nothing.clone()));
        self.result(points, searches.collect())
    }

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
            changes: scenario.changes().into_iter().map(Change::from).collect(),
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

    fn point(&self, job: &Job) -> Result<PointResult, RunError> {
        // With more memory it would not have ended there.
        let whole = |result: &PointResult| result.ended_by != Some(EndedBy::Memory);
        self.kept(&job.entry, whole, || {
            let subject = job.subject.as_ref();
            let (rules, test) = (&self.rules, self.rules.test());
            let measurement =
                measurement::run(subject, self.seed, rules, &test, true, self.shared())
                    .map_err(|halt| self.halted(halt, &job.values))?;
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
            })
        })
    }

    fn overlay(&self, subject: &dyn Subject) -> Overlay {
        if !self.rules.measure.analysis {
            return Overlay::default();
        }
        subject.overlay()
    }

    fn analyzed(&self, job: &Job) -> PointResult {
        let subject = job.subject.as_ref();
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
        }
    }

    fn search(&self, job: &SearchJob) -> Result<SearchResult, RunError> {
        // With more memory none of its trials would have ended there.
        let whole = |found: &SearchResult| {
            !found
                .trials
                .iter()
                .any(|trial| trial.ended_by == Some(EndedBy::Memory))
        };
        self.kept(&job.entry, whole, || {
            let search = &job.search;
            let range = search::Range {
                from: search.low,
                to: search.high,
                resolution: self.resolution(job),
            };
            let built = self.machines.get(job.machine);
            let subject_at = |load: f64| job.subject(built, load);
            let found = search::run(&range, self.seed, &self.rules, subject_at, self.shared());
            let found = found.map_err(|halt| {
                let known: Vec<AxisValue> = job.values.iter().flatten().cloned().collect();
                self.halted(halt, &known)
            })?;
            Ok(self.search_result(job, found))
        })
    }

    /// The width of the bracket asked for, relative to its middle: twice that of the scenario when time is
    /// short.
    fn resolution(&self, job: &SearchJob) -> f64 {
        job.search.resolution * if self.options.quick { 2.0 } else { 1.0 }
    }

    /// What was found, with what the model says about the line beside it.
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

    /// The entry from the journal, or else what `compute` gives, which is then kept if it is `whole`.
    fn kept<T>(
        &self,
        entry: &Entry,
        whole: impl Fn(&T) -> bool,
        compute: impl FnOnce() -> Result<T, RunError>,
    ) -> Result<T, RunError>
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        let journal = self.journal.as_ref();
        let found = match journal {
            Some(journal) => journal.read(entry)?,
            None => None,
        };
        let result = match found {
            Some(result) => result,
            None => {
                let result = compute()?;
                if let Some(journal) = journal.filter(|_| whole(&result)) {
                    journal.write(entry, &result)?;
                }
                result
            }
        };
        self.progress.add_done();
        Ok(result)
    }

    fn halted(&self, halt: Halt, values: &[AxisValue]) -> RunError {
        match halt {
            Halt::Cancelled => RunError::Cancelled,
            Halt::AllWarmUp { messages } => RunError::AllWarmUp {
                place: place(&self.scenario, values),
                messages,
            },
            Halt::Stuck { under_way } => RunError::Standstill {
                place: place(&self.scenario, values),
                under_way,
            },
            Halt::TooLong { cycle_us } => RunError::TooLong {
                place: place(&self.scenario, values),
                limit: limits::longest(cycle_us),
            },
            Halt::Memory => RunError::Memory {
                place: place(&self.scenario, values),
                bound: limits::amount(self.memory.bound),
            },
        }
    }
}

/// The measures that the model has something to say of, nothing being simulated.
fn modelled(subject: &dyn Subject, overlay: &Overlay) -> Vec<Measure> {
    let rates = subject.rates().into_iter();
    let rates = rates.map(|rate| (rate.name.into_owned(), rate.unit));
    let latencies = subject.measures().iter().map(|name| (name.clone(), "us"));
    let measure = |(name, unit): (String, &str)| {
        let analytic = overlay.measures.get(&name).copied()?;
        Some(Measure {
            name,
            unit: unit.to_owned(),
            mean: None,
            low: None,
            high: None,
            each: Vec::new(),
            samples: 0,
            percentiles: Vec::new(),
            analytic: Some(analytic),
            residual: None,
            target: None,
            warmup_share: 0.0,
        })
    };
    rates.chain(latencies).filter_map(measure).collect()
}
