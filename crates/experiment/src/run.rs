//! A whole scenario: its points and searches, on as many threads as wanted.

use crate::analysis::{Overlay, Queueing};
use crate::journal::{Header, Journal, JournalError};
use crate::machines::Machines;
use crate::measurement::Subject;
use crate::progress::Progress;
use crate::replication::Halt;
use crate::result::{
    Axis, AxisValue, Measure, Origin, PointResult, RunResult, SCHEMA, SearchResult, VerdictSummary,
};
use crate::rules::Rules;
use crate::search;
use crate::summary::{self, Report};
use isthmus_machine::hypercube::MachineError;
use isthmus_scenario::{Machine, Scenario, ScenarioError, Search, SearchLine};
use isthmus_topology::PlacementError;
use isthmus_units::Rate;
use isthmus_workload::spec::{Arrival, TrafficSpec};
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
    traffic: TrafficSpec,
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

    /// The traffic at a load of `rate` demands per PE.
    fn traffic(&self, rate: Rate) -> TrafficSpec {
        let (_, traffic) = self
            .line
            .at(rate)
            .expect("loads within the range of a search are possible");
        traffic
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
        let names = summary::measure_names();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        scenario.check_measures(&known)?;
        if scenario.verdict.error_rate >= 0.5 {
            let problem = format!("{} is no better than a guess", scenario.verdict.error_rate);
            let error = scenario.error_at("verdict.error_rate", problem, "give less than 0.5");
            return Err(error.into());
        }
        let mut machines = Machines::default();
        let mut build = |machine: &Machine, values: &[AxisValue]| match machine {
            Machine::Hypercube(spec) => machines.position(spec).map_err(|error| {
                let (field, hint) = cause(&error);
                let problem = format!("{error}{}", place(&scenario, values));
                scenario.error_at(field, problem, hint)
            }),
            _ => unreachable!("every kind of machine has an engine"),
        };
        let mut points = Vec::new();
        for point in scenario.points() {
            let values = values(&point.values);
            let machine = build(&point.machine, &values)?;
            points.push(Job {
                index: point.index,
                machine,
                values,
                traffic: point.workload,
            });
        }
        let mut searches = Vec::new();
        for line in scenario.search_lines() {
            let Some(search) = &scenario.search else {
                break;
            };
            let (machine, _) = line.at(search.low)?;
            let values = search_values(&scenario, &line);
            searches.push(SearchJob {
                index: line.index,
                machine: build(&machine, &[])?,
                values,
                search: search.clone(),
                line,
            });
        }
        for job in &points {
            let io_nodes = machines
                .get(job.machine)
                .machine
                .placement()
                .io_node_count();
            if let Some(spot) = job.traffic.hot_io_node
                && spot.target >= io_nodes
            {
                let problem = format!("I/O node {} does not exist", spot.target);
                let hint = format!("the I/O nodes are 0 to {}", io_nodes - 1);
                let error = scenario.error_at("workload.hot_io_node.target", problem, hint);
                return Err(error.into());
            }
        }
        let seed = options.seed.unwrap_or(scenario.seed);
        let rules = Rules {
            stop: scenario.stop.clone(),
            measure: scenario.measure.clone(),
            verdict: scenario.verdict,
        };
        let header = Header::new(scenario.digest(), seed, options.quick);
        let journal = match &options.journal {
            Some(folder) => Some(Journal::open(folder, &header)?),
            None => None,
        };
        let progress = Progress::default();
        progress.set_total((points.len() + searches.len()) as u64);
        let experiment = Self {
            rules: if options.quick { rules.quick() } else { rules },
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
            load_axis: axes.iter().position(|axis| is_load(&axis.key)),
            axes,
            machines: self.machines.summaries(),
            points,
            searches,
        }
    }

    fn point(&self, job: &Job) -> Result<PointResult, RunError> {
        let owns = |entry: &PointResult| job.owns(entry);
        self.kept(&point_name(job.index), owns, || {
            let built = self.machines.get(job.machine);
            let subject = Subject {
                machine: Arc::clone(&built.machine),
                traffic: job.traffic.clone(),
                seed: self.seed,
            };
            let test = self.rules.test();
            let measurement = subject
                .run(&self.rules, &test, true, &self.progress)
                .map_err(|halt| self.halted(halt, &job.values))?;
            let overlay = self.overlay(job.machine, &job.traffic);
            let machine = &built.machine;
            let report = Report::new(&measurement, machine, &self.rules, &test, &overlay);
            let cycles: u64 = measurement.replications.iter().map(|r| r.cycles).sum();
            Ok(PointResult {
                index: job.index,
                values: job.values.clone(),
                machine: job.machine,
                offered_per_ms: offered_per_ms(&job.traffic),
                verdict: report.verdict,
                converged: measurement.converged,
                replications: measurement.replications.len() as u32,
                messages: measurement.messages(),
                simulated_ms: cycles as f64 * machine.clock().cycle_us() / 1e3,
                measures: report.measures,
                histograms: report.histograms,
                channels: report.channels,
            })
        })
    }

    /// Every point in the numbers of the analytic model, with the values of its axes; `None` for
    /// points that the model does not cover.
    pub fn queueing(&self) -> Vec<(Vec<AxisValue>, Option<Queueing>)> {
        let queueing = |job: &Job| {
            let built = self.machines.get(job.machine);
            Queueing::new(&built.machine, &built.spec, &job.traffic)
        };
        let points = self.points.iter();
        points
            .map(|job| (job.values.clone(), queueing(job)))
            .collect()
    }

    fn overlay(&self, machine: usize, traffic: &TrafficSpec) -> Overlay {
        if !self.rules.measure.analysis {
            return Overlay::default();
        }
        let built = self.machines.get(machine);
        Overlay::new(&built.machine, &built.spec, traffic)
    }

    fn analyzed(&self, job: &Job) -> PointResult {
        let overlay = self.overlay(job.machine, &job.traffic);
        let offered = offered_per_ms(&job.traffic);
        let verdict = match (offered, overlay.saturation_per_ms) {
            (Some(offered), Some(limit)) if offered >= limit => "saturated",
            (Some(_), Some(_)) => "stable",
            _ => "undecided",
        };
        PointResult {
            index: job.index,
            values: job.values.clone(),
            machine: job.machine,
            offered_per_ms: offered,
            verdict: VerdictSummary {
                origin: Origin::Model,
                verdict: verdict.to_owned(),
                flow: "io".to_owned(),
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
            measures: summary::measure_names()
                .into_iter()
                .filter_map(|name| {
                    let analytic = *overlay.measures.get(&name)?;
                    Some(Measure {
                        name,
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
        }
    }

    fn search(&self, job: &SearchJob) -> Result<SearchResult, RunError> {
        let owns = |entry: &SearchResult| job.owns(entry);
        self.kept(&search_name(job.index), owns, || {
            let search = &job.search;
            let range = search::Range {
                from: search.low.per_ms(),
                to: search.high.per_ms(),
                resolution: search.resolution * if self.options.quick { 2.0 } else { 1.0 },
            };
            let machine = &self.machines.get(job.machine).machine;
            let subject_at = |per_ms: f64| Subject {
                machine: Arc::clone(machine),
                traffic: job.traffic(Rate::from_per_s(per_ms * 1e3)),
                seed: self.seed,
            };
            let found = search::run(&range, &self.rules, subject_at, &self.progress);
            let found = found.map_err(|halt| {
                let known: Vec<AxisValue> = job.values.iter().flatten().cloned().collect();
                self.halted(halt, &known)
            })?;
            Ok(self.search_result(job, found))
        })
    }

    /// What was found, with what the model says about the line beside it.
    fn search_result(&self, job: &SearchJob, found: search::Found) -> SearchResult {
        let overlay = self.overlay(job.machine, &job.traffic(job.search.low));
        SearchResult {
            values: job.values.clone(),
            machine: job.machine,
            over: "workload.rate".to_owned(),
            unit: "/ms".to_owned(),
            highest_stable: found.bracket.stable,
            lowest_saturated: found.bracket.saturated,
            undecided: found.bracket.undecided,
            trials: found.trials,
            analytic: overlay.saturation_per_ms,
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
            Halt::Stuck { under_way } => RunError::Standstill {
                place: place(&self.scenario, values),
                under_way,
            },
        }
    }
}

/// The field behind an error of a machine, and what would be right.
fn cause(error: &MachineError) -> (&'static str, &'static str) {
    match error {
        MachineError::Dimension(_) => ("machine.dimension", "give 1 to 20"),
        MachineError::Fault(_) | MachineError::Placement(PlacementError::MissingIoNode { .. }) => {
            ("machine.faults", "name parts that the machine has")
        }
        MachineError::Placement(_) => ("machine.placement", "choose other PEs for the I/O nodes"),
        MachineError::NoClock { .. } => ("machine.bandwidth", "give both more than zero"),
        MachineError::NoLanes { .. } => ("machine.lanes", "give 1 or more"),
        MachineError::Disconnected { .. } => ("machine.faults", "leave every working pair a path"),
        MachineError::NobodyLeft => ("machine.faults", "leave two PEs or more working"),
        MachineError::NoIoNodeLeft => ("machine.faults", "leave one I/O node working"),
    }
}

fn point_name(index: usize) -> String {
    format!("point-{index:05}")
}

fn search_name(index: usize) -> String {
    format!("search-{index:05}")
}

fn is_load(key: &str) -> bool {
    key == "workload.rate" || key == "workload.interarrival"
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

/// Mean messages of one PE per millisecond; none in a closed loop.
fn offered_per_ms(traffic: &TrafficSpec) -> Option<f64> {
    let gap = match traffic.arrival {
        Arrival::Exponential { mean } | Arrival::Bursty { mean, .. } => mean,
        Arrival::Deterministic { gap } => gap,
        Arrival::Closed { .. } => return None,
    };
    Some(1e-3 / gap.seconds())
}
