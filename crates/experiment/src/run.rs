//! A whole scenario: its points and searches, on as many threads as wanted.

use crate::capacity::Capacity;
use crate::hypercube::Queueing;
use crate::journal::{Header, Journal, JournalError};
use crate::machines::{self, Built, Machines, Refusal};
use crate::measurement;
use crate::progress::Progress;
use crate::replication::Halt;
use crate::result::{
    Axis, AxisValue, Measure, Origin, PointResult, RunResult, SCHEMA, SearchResult, VerdictSummary,
};
use crate::rules::{PERIODS_MIN, Rules};
use crate::search;
use crate::subject::{Overlay, Subject};
use crate::summary::Report;
use isthmus_scenario::{
    Load, Machine, Scenario, ScenarioError, Search, SearchLine, StopRule, Workload,
};
use isthmus_units::Time;
use rayon::prelude::*;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// How a scenario is run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Master seed in place of the scenario's.
    pub seed: Option<u64>,
    /// Threads, as many as there are cores at most; 0 means one per core.
    pub jobs: usize,
    /// The shortened form: shorter runs, wider intervals.
    pub quick: bool,
    /// Folder for finished points, to resume from.
    pub journal: Option<PathBuf>,
}

/// Why an experiment cannot be set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Why a run ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// It was asked to stop.
    #[error("stopped; finished points are kept")]
    Cancelled,
    /// Messages block one another for ever.
    #[error(
        "{place}: the machine has come to a standstill with {under_way} messages under way; this \
         is an error of isthmus, please report it with the scenario"
    )]
    Standstill {
        /// The point.
        place: String,
        /// Messages that wait.
        under_way: u64,
    },
    /// A run of a fixed time was over before its warm-up.
    #[error(
        "stop.warmup_messages: the run is over before its warm-up of {messages} messages{place}; give \
         fewer, or a longer stop.time"
    )]
    AllWarmUp {
        /// The point.
        place: String,
        /// Messages to discard.
        messages: u64,
    },
    /// A finished point could not be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// No threads.
    #[error("cannot start {jobs} threads: {problem}")]
    Threads {
        /// Threads wanted.
        jobs: usize,
        /// What the system says.
        problem: String,
    },
}

/// One point, ready to run.
#[derive(Debug)]
struct Job {
    index: usize,
    values: Vec<AxisValue>,
    machine: usize,
    workload: Workload,
    subject: Arc<dyn Subject>,
}

/// One search, ready to run.
#[derive(Debug)]
struct SearchJob {
    index: usize,
    values: Vec<Option<AxisValue>>,
    machine: usize,
    search: Search,
    line: SearchLine,
}

impl Job {
    /// Whether `entry` is of this point.
    fn owns(&self, entry: &PointResult) -> bool {
        entry.index == self.index && entry.values == self.values
    }
}

impl SearchJob {
    /// Whether `entry` is of this search.
    fn owns(&self, entry: &SearchResult) -> bool {
        entry.values == self.values
    }

    /// The point at this load.
    fn subject(&self, built: &Built, load: Load) -> Arc<dyn Subject> {
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
}

impl Experiment {
    /// Builds all machines of `scenario` and opens the journal.
    ///
    /// # Errors
    /// What is wrong with a machine or the journal; nothing has been changed then.
    pub fn new(scenario: Scenario, options: Options) -> Result<Self, SetupError> {
        let names = machines::measure_names(&scenario.machine, &scenario.workload);
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        scenario.check_measures(&known)?;
        if scenario.verdict.error_rate >= 0.5 {
            let problem = format!("{} is no better than a guess", scenario.verdict.error_rate);
            let error = scenario.error_at("verdict.error_rate", problem, "give less than 0.5");
            return Err(error.into());
        }
        let mut machines = Machines::default();
        let refused = |refusal: Refusal, values: &[AxisValue]| {
            let problem = format!("{}{}", refusal.problem, place(&scenario, values));
            scenario.error_at(refusal.field, problem, refusal.hint)
        };
        let mut build = |machine: &Machine, workload: &Workload, values: &[AxisValue]| {
            let position = machines.position(machine);
            let position = position.map_err(|refusal| refused(refusal, values))?;
            let built = machines.get(position);
            let subject = built.subject(workload);
            let subject = subject.map_err(|refusal| refused(refusal, values))?;
            Ok::<_, ScenarioError>((position, subject))
        };
        let mut points = Vec::new();
        for point in scenario.points() {
            let values = values(&point.values);
            let (machine, subject) = build(&point.machine, &point.workload, &values)?;
            points.push(Job {
                index: point.index,
                machine,
                values,
                workload: point.workload,
                subject,
            });
        }
        let mut searches = Vec::new();
        for line in scenario.search_lines() {
            let Some(search) = &scenario.search else {
                break;
            };
            let (machine, workload) = line.at(search.low)?;
            let (machine, _) = build(&machine, &workload, &[])?;
            searches.push(SearchJob {
                index: line.index,
                machine,
                values: search_values(&scenario, &line),
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
        };
        let loads: Vec<&dyn Subject> = points.iter().map(|job: &Job| &*job.subject).collect();
        check_measured(&scenario, &loads)?;
        let period = longest_period(&loads);
        let header = Header::new(scenario.digest(), seed, options.quick);
        let journal = match &options.journal {
            Some(folder) => Some(Journal::open(folder, &header)?),
            None => None,
        };
        let progress = Progress::default();
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
            progress: Arc::new(progress),
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
            journal.read(&point_name(job.index), |entry| job.owns(entry))?;
        }
        for job in &self.searches {
            journal.read(&search_name(job.index), |entry| job.owns(entry))?;
        }
        Ok(())
    }

    /// What the run tells while it goes on, and how to stop it.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// The machines of the sweep, in figures.
    pub fn machines(&self) -> Vec<crate::result::MachineSummary> {
        self.machines.summaries()
    }

    /// The machines of the sweep that are SCI fabrics, in the order of [`Experiment::machines`];
    /// `None` for other kinds.
    pub fn fabrics(&self) -> impl Iterator<Item = Option<&isthmus_machine::sci::Machine>> {
        self.machines.all().map(|built| match built {
            Built::Sci(built) => Some(built.machine()),
            Built::Hypercube(_) | Built::FatTree(_) => None,
        })
    }

    /// Demand and supply of the parts of each variant, at the highest load of its points; of a search
    /// without points, at its highest load.
    pub fn capacity(&self) -> Vec<Capacity> {
        let load_axis =
            (self.scenario.axes.iter()).position(|axis| self.scenario.is_load(&axis.key));
        let of_variant = |values: &[AxisValue]| -> Vec<String> {
            let values = values.iter().enumerate();
            let values = values.filter(|(axis, _)| Some(*axis) != load_axis);
            values.map(|(_, value)| value.text.clone()).collect()
        };
        let mut variants: Vec<(Vec<String>, Arc<dyn Subject>)> = Vec::new();
        for job in &self.points {
            let variant = of_variant(&job.values);
            match variants.iter_mut().find(|(known, _)| *known == variant) {
                None => variants.push((variant, Arc::clone(&job.subject))),
                Some((_, highest)) if highest.load() < job.subject.load() => {
                    *highest = Arc::clone(&job.subject);
                }
                Some(_) => {}
            }
        }
        if variants.is_empty() {
            for job in &self.searches {
                let values = job.values.iter().flatten();
                let subject = job.subject(self.machines.get(job.machine), job.search.high);
                variants.push((values.map(|value| value.text.clone()).collect(), subject));
            }
        }
        let capacity = |(variant, subject): (Vec<String>, Arc<dyn Subject>)| Capacity {
            variant,
            load: subject.load(),
            ..subject.capacity()
        };
        variants.into_iter().map(capacity).collect()
    }

    /// What may mislead in a run of this length: one line each.
    pub fn warnings(&self) -> Vec<String> {
        let subjects: Vec<&dyn Subject> = self.points.iter().map(|job| &*job.subject).collect();
        let period = longest_period(&subjects);
        if period == Time::ZERO {
            return Vec::new();
        }
        let enough = Time::from_ps(period.ps().saturating_mul(PERIODS_MIN));
        let mut warnings = Vec::new();
        match self.scenario.stop.rule {
            StopRule::FixedTime { time } if time < period => warnings.push(format!(
                "stop.time: {time} is less than a period of the checkpoints, {period}: rates would be \
                 those of one checkpoint; give {enough} or more"
            )),
            StopRule::FixedTime { time } if self.options.quick && time < enough => {
                warnings.push(format!(
                    "stop.time: {time} holds fewer than {PERIODS_MIN} periods of the checkpoints, \
                     {period}, so --quick does not shorten it"
                ));
            }
            StopRule::Fixed { messages } => {
                let least = subjects.iter().map(|subject| subject.period_messages()).max();
                let least = least.unwrap_or(0);
                if messages < least && !self.options.quick {
                    warnings.push(format!(
                        "stop.messages: {messages} are less than a checkpoint has, {least}: rates would \
                         be those of one checkpoint; give stop.time = \"{enough}\" or more"
                    ));
                }
            }
            _ => {}
        }
        warnings
    }

    /// Runs what the journal does not have yet. The result depends on the scenario, the seed and
    /// `quick` only, not on the number of threads.
    ///
    /// # Errors
    /// Why the run ended early; what was finished is in the journal.
    pub fn run(&self) -> Result<RunResult, RunError> {
        // More threads than cores would only take memory.
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let jobs = match self.options.jobs {
            0 => cores,
            jobs => jobs.min(cores),
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs)
            .build()
            .map_err(|error| RunError::Threads {
                jobs,
                problem: error.to_string(),
            })?;
        pool.install(|| {
            let (points, searches) = rayon::join(
                || {
                    let jobs = self.points.par_iter().with_max_len(1);
                    jobs.map(|job| self.point(job))
                        .collect::<Result<Vec<_>, _>>()
                },
                || {
                    let jobs = self.searches.par_iter().with_max_len(1);
                    jobs.map(|job| self.search(job))
                        .collect::<Result<Vec<_>, _>>()
                },
            );
            Ok(self.result(points?, searches?))
        })
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
            digest: scenario.digest(),
            seed: self.seed,
            quick: self.options.quick,
            confidence: self.rules.stop.confidence,
            load: machines::load(&scenario.machine),
            load_axis: (axes.iter()).position(|axis| scenario.is_load(&axis.key)),
            axes,
            machines: self.machines.summaries(),
            points,
            searches,
        }
    }

    fn point(&self, job: &Job) -> Result<PointResult, RunError> {
        let owns = |entry: &PointResult| job.owns(entry);
        self.kept(&point_name(job.index), owns, || {
            let subject = job.subject.as_ref();
            let (rules, test) = (&self.rules, self.rules.test());
            let measurement =
                measurement::run(subject, self.seed, rules, &test, true, &self.progress)
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
                replications: measurement.replications.len() as u32,
                messages: measurement.messages(),
                simulated_ms: cycles as f64 * subject.cycle_us() / 1e3,
                measures: report.measures,
                histograms: report.histograms,
                channels: report.channels,
                nodes: report.nodes,
                jobs: subject.jobs(),
                servers: subject.servers(),
                collapse: measurement.collapse(),
            })
        })
    }

    /// Every point in the numbers of the analytic model, with the values of its axes; `None` for
    /// points that the model does not cover.
    pub fn queueing(&self) -> Vec<(Vec<AxisValue>, Option<Queueing>)> {
        let queueing = |job: &Job| match (self.machines.get(job.machine), &job.workload) {
            (Built::Hypercube(built), Workload::Hypercube(traffic)) => built.queueing(traffic),
            _ => None,
        };
        let points = self.points.iter();
        points
            .map(|job| (job.values.clone(), queueing(job)))
            .collect()
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
            (Some(offered), Some(limit)) if offered >= limit => "saturated",
            (Some(_), Some(_)) => "stable",
            _ => "undecided",
        };
        PointResult {
            index: job.index,
            values: job.values.clone(),
            machine: job.machine,
            load,
            verdict: VerdictSummary {
                origin: Origin::Model,
                verdict: verdict.to_owned(),
                flow: (subject.flows().last()).map_or_else(String::new, |f| f.name.to_string()),
                growth: 0.0,
                growth_low: 0.0,
                growth_high: 0.0,
                threshold: self.rules.verdict.growth,
                error_rate: 0.0,
            },
            converged: true,
            replications: 0,
            messages: 0,
            simulated_ms: 0.0,
            measures: (subject.measures().iter())
                .filter_map(|name| {
                    let analytic = *overlay.measures.get(name)?;
                    Some(Measure {
                        name: name.clone(),
                        unit: "us".to_owned(),
                        mean: None,
                        low: None,
                        high: None,
                        samples: 0,
                        percentiles: Vec::new(),
                        analytic: Some(analytic),
                        residual: None,
                        target: None,
                        warmup_share: 0.0,
                    })
                })
                .collect(),
            histograms: Vec::new(),
            channels: Vec::new(),
            nodes: Vec::new(),
            jobs: subject.jobs(),
            servers: subject.servers(),
            collapse: None,
        }
    }

    fn search(&self, job: &SearchJob) -> Result<SearchResult, RunError> {
        let owns = |entry: &SearchResult| job.owns(entry);
        self.kept(&search_name(job.index), owns, || {
            let search = &job.search;
            let range = search::Range {
                from: search.low.amount(),
                to: search.high.amount(),
                resolution: search.resolution * if self.options.quick { 2.0 } else { 1.0 },
            };
            let built = self.machines.get(job.machine);
            let subject_at = |load: f64| job.subject(built, search.low.with_amount(load));
            let found = search::run(&range, self.seed, &self.rules, subject_at, &self.progress);
            let found = found.map_err(|halt| {
                let known: Vec<AxisValue> = job.values.iter().flatten().cloned().collect();
                self.halted(halt, &known)
            })?;
            Ok(self.search_result(job, found))
        })
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
            trials: found.trials,
            analytic: overlay.saturation,
            analytic_bottleneck: overlay.bottleneck,
            error_rate: self.rules.verdict.error_rate,
        }
    }

    /// The entry from the journal, or else what `compute` gives, which is then kept.
    fn kept<T>(
        &self,
        name: &str,
        owns: impl Fn(&T) -> bool,
        compute: impl FnOnce() -> Result<T, RunError>,
    ) -> Result<T, RunError>
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        let journal = self.journal.as_ref();
        let found = match journal {
            Some(journal) => journal.read(name, owns)?,
            None => None,
        };
        let result = match found {
            Some(entry) => entry,
            None => {
                let entry = compute()?;
                if let Some(journal) = journal {
                    journal.write(name, &entry)?;
                }
                entry
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
        }
    }
}

/// The longest period of anything at any point.
fn longest_period(subjects: &[&dyn Subject]) -> Time {
    let ps = |subject: &&dyn Subject| subject.period() as f64 * subject.cycle_us() * 1e6;
    let longest = subjects.iter().map(ps).fold(0.0, f64::max);
    Time::from_ps(longest.round() as u64)
}

/// Checks that the measures which the scenario insists on occur at one point at least.
fn check_measured(scenario: &Scenario, subjects: &[&dyn Subject]) -> Result<(), ScenarioError> {
    let StopRule::Precision { of, .. } = &scenario.stop.rule else {
        return Ok(());
    };
    if subjects.is_empty() || !scenario.insists_on("stop.of") {
        return Ok(());
    }
    let occurs = |name: &String| {
        subjects.iter().any(|subject| {
            let at = subject.measures().iter().position(|other| other == name);
            at.is_some_and(|at| subject.occurs(at))
        })
    };
    match of.iter().find(|name| !occurs(name)) {
        None => Ok(()),
        Some(name) => Err(scenario.error_at(
            "stop.of",
            format!("\"{name}\" has no effect: the workload never gives it at any point"),
            "remove it, or ask for what it measures",
        )),
    }
}

fn point_name(index: usize) -> String {
    format!("point-{index:05}")
}

fn search_name(index: usize) -> String {
    format!("search-{index:05}")
}

fn values(values: &[isthmus_scenario::AxisValue]) -> Vec<AxisValue> {
    values
        .iter()
        .map(|value| AxisValue {
            text: value.text.clone(),
            number: value.number,
        })
        .collect()
}

/// The values of a search in the order of the scenario's axes; none for those it leaves out.
fn search_values(scenario: &Scenario, line: &SearchLine) -> Vec<Option<AxisValue>> {
    let searched = scenario.search_axes();
    scenario
        .axes
        .iter()
        .map(|axis| {
            let at = searched.iter().position(|other| other.key == axis.key)?;
            let value = &line.values[at];
            Some(AxisValue {
                text: value.text.clone(),
                number: value.number,
            })
        })
        .collect()
}

/// Where in the sweep, in words.
fn place(scenario: &Scenario, values: &[AxisValue]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = scenario
        .axes
        .iter()
        .zip(values)
        .map(|(axis, value)| format!("{} = {}", axis.key, value.text))
        .collect();
    format!(" (at {})", pairs.join(", "))
}
