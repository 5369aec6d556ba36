//! Scenarios and their runs, for Python.

use crate::interruptible::interruptible;
use crate::{ResumeError, ScenarioError, json};
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::result::MachineSummary;
use isthmus_experiment::{
    ClaimState, Experiment, Extent, JournalError, Options, Part, Progress, RunError, Selection,
    SetupError, Task, WorkerName,
};
use isthmus_kinds::KINDS;
use isthmus_scenario::{Change, Resolved};
use isthmus_units::Bytes;
use numpy::PyArray1;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView};
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

impl From<SetupFailure> for PyErr {
    /// Convert the error to the Python exception of its kind.
    fn from(failure: SetupFailure) -> Self {
        let message = failure.0.to_string();
        match failure.0 {
            SetupError::Journal(_) => ResumeError::new_err(message),
            SetupError::Scenario(_) => ScenarioError::new_err(message),
            SetupError::Cancelled => PyKeyboardInterrupt::new_err(message),
        }
    }
}

/// An error in the setup of a run, which becomes a Python exception.
pub(crate) struct SetupFailure(pub SetupError);

/// Parse a scenario and build its experiment, which can then be run.
pub(crate) fn set_up(
    text: &str,
    file: &str,
    overrides: &[String],
    options: Options,
    progress: Arc<Progress>,
) -> Result<Experiment, SetupFailure> {
    KINDS
        .parse(text, file, overrides)
        .map_err(SetupError::from)
        .and_then(|scenario| Experiment::build(&KINDS, scenario, options, progress))
        .map_err(SetupFailure)
}

/// An axis of a scenario, in the JSON result of [`check`].
#[derive(Serialize)]
struct CheckedAxis {
    key: String,
    label: String,
    unit: Option<String>,
    values: Vec<String>,
}

/// The result of [`check`] about a scenario, as JSON.
#[derive(Serialize)]
struct Checked {
    name: String,
    title: String,
    description: String,
    changes: Vec<Change>,
    axes: Vec<CheckedAxis>,
    /// Position of the axis of offered loads among the sweep axes, if there is one; its values do
    /// not count as variants.
    load_axis: Option<usize>,
    points: usize,
    searches: usize,
    machines: Vec<MachineSummary>,
    canonical: String,
    digest: String,
    seed: u64,
    /// Each effective value of the scenario, with its origin, such as a file or a default.
    resolved: Vec<Resolved>,
    /// The offered load and the capacity of each variant.
    capacity: Vec<Capacity>,
    /// Warnings for the user about this run with its requested length.
    warnings: Vec<String>,
}

/// Parse and check a scenario. Returns the planned run as JSON.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    text: String,
    file: String,
    overrides: Vec<String>,
) -> PyResult<String> {
    let checked = interruptible(py, Arc::default(), move |progress| {
        let scenario = KINDS
            .parse(&text, &file, &overrides)
            .map_err(|error| SetupFailure(error.into()))?;
        let mut checked = Checked {
            name: scenario.name.clone(),
            title: scenario.title.clone(),
            description: scenario.description.clone(),
            changes: scenario.changes(),
            axes: scenario
                .axes
                .iter()
                .map(|axis| CheckedAxis {
                    key: axis.key.clone(),
                    label: axis.label.clone(),
                    unit: axis.unit.clone(),
                    values: axis.values.iter().map(|value| value.text.clone()).collect(),
                })
                .collect(),
            load_axis: (scenario.axes.iter()).position(|axis| scenario.is_load(&axis.key)),
            points: scenario.points().len(),
            searches: scenario.search_lines().len(),
            machines: Vec::new(),
            canonical: scenario.canonical(),
            digest: scenario.digest(),
            seed: scenario.seed,
            resolved: scenario.resolved(),
            capacity: Vec::new(),
            warnings: Vec::new(),
        };
        let experiment = Experiment::build(&KINDS, scenario, Options::default(), progress);
        let experiment = experiment.map_err(SetupFailure)?;
        checked.machines = experiment.machines();
        checked.capacity = experiment.capacity();
        checked.warnings = experiment.warnings();
        Ok::<_, SetupFailure>(checked)
    })?;
    json(&checked?)
}

/// Return the invalid entries of the journal in a run's folder: name, reason, and whether the entry
/// could not be read.
#[pyfunction]
pub(crate) fn journal_flaws(
    py: Python<'_>,
    folder: PathBuf,
    digest: String,
    seed: u64,
    quick: bool,
    version: String,
    names: Vec<String>,
) -> PyResult<Vec<(String, String, bool)>> {
    interruptible(py, Arc::default(), move |_| {
        let invalid =
            isthmus_experiment::invalid_entries(&folder, (digest, seed, quick, version), &names);
        let invalid = invalid.into_iter();
        invalid.map(|f| (f.name, f.reason, f.unread)).collect()
    })
}

/// Return whether `text` is a valid name of a worker.
#[pyfunction]
pub(crate) fn is_worker(text: &str) -> bool {
    WorkerName::parsed(text).is_some()
}

/// A worker's claim on a unit of the run (a point or a search): the unit, the host and process ID
/// of the worker, whether that process is known to have ended, the time of the last heartbeat by
/// the folder's clock, and the number of seconds without a heartbeat after which the claim expires.
type Claim = (String, String, u32, bool, f64, f64);

/// Return the readable claims of workers on these points and searches, for a process that only
/// observes the run.
#[pyfunction]
pub(crate) fn claims_on(folder: PathBuf, units: Vec<String>) -> Vec<Claim> {
    let claims = units.into_iter().filter_map(|unit| {
        let seen = isthmus_experiment::read_claim_state(&folder, &unit).ok()??;
        let ClaimState {
            name,
            dead,
            touched,
            expiry,
        } = seen;
        let (host, process) = name.map_or_else(Default::default, |n| (n.host, n.process));
        let (touched_s, expiry_s) = (touched.as_secs_f64(), expiry.as_secs_f64());
        Some((unit, host, process, dead, touched_s, expiry_s))
    });
    claims.collect()
}

/// Return the number of seconds between two heartbeats of a worker. Its claims on work expire
/// `expiry_s` seconds after its last heartbeat.
#[pyfunction]
pub(crate) fn worker_beat_s(expiry_s: f64) -> f64 {
    let expiry = Duration::try_from_secs_f64(expiry_s).unwrap_or_default();
    isthmus_experiment::beat(expiry).as_secs_f64()
}

/// Parse the memory limit of a run and return it in bytes.
#[pyfunction]
pub(crate) fn memory_amount(text: &str) -> PyResult<u64> {
    amount(text).map(Bytes::get)
}

/// Return the analytic model's values for every point of a scenario, as JSON.
#[pyfunction]
pub(crate) fn analyze(
    py: Python<'_>,
    text: String,
    file: String,
    overrides: Vec<String>,
) -> PyResult<String> {
    let result = interruptible(py, Arc::default(), move |progress| {
        let experiment = set_up(&text, &file, &overrides, Options::default(), progress);
        experiment.map(|experiment| experiment.analyze())
    })?;
    json(&result?)
}

/// A run of a scenario, as a class of Python.
#[pyclass(name = "Experiment", module = "isthmus._core", frozen)]
pub(crate) struct PyExperiment {
    experiment: Arc<Experiment>,
    progress: Arc<Progress>,
    task: Task<Outcome>,
}

/// Size in bytes from which a result is passed to Python without a copy.
const LONG: usize = 16 << 20;

/// The outcome of a run or of a part of a run.
enum Outcome {
    Whole(Vec<u8>),
    Part(Part),
}

#[pymethods]
impl PyExperiment {
    /// Build the run of a scenario, without starting it.
    #[new]
    #[pyo3(signature = (text, file, overrides, seed, jobs, quick, journal, memory=None, expiry_s=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        text: String,
        file: String,
        overrides: Vec<String>,
        seed: Option<u64>,
        jobs: usize,
        quick: bool,
        journal: Option<String>,
        memory: Option<String>,
        expiry_s: Option<f64>,
    ) -> PyResult<Self> {
        let options = Options {
            seed,
            jobs,
            quick,
            journal: journal.map(Into::into),
            keep_after: None,
            memory: memory.as_deref().map(amount).transpose()?,
            extent: match expiry_s.map(Duration::try_from_secs_f64).transpose() {
                Ok(expiry) => expiry.map_or(Extent::Whole, Extent::Parts),
                Err(error) => return Err(PyValueError::new_err(format!("expiry: {error}"))),
            },
        };
        let experiment = interruptible(py, Arc::default(), move |progress| {
            set_up(&text, &file, &overrides, options, progress)
        })?;
        let experiment = experiment?;
        Ok(Self {
            progress: experiment.progress(),
            experiment: Arc::new(experiment),
            task: Task::default(),
        })
    }

    /// Return warnings about a run of the configured length, as a JSON list of lines.
    fn warnings(&self) -> PyResult<String> {
        json(&self.experiment.warnings())
    }

    /// Start the whole run, or only the points and searches at the positions in `part`, in separate
    /// threads.
    #[pyo3(signature = (part=None))]
    fn start(&self, part: Option<Positions>) -> PyResult<()> {
        let experiment = Arc::clone(&self.experiment);
        let part = part.map(|part| self.selection(part)).transpose()?;
        let work = move || match part {
            None => experiment.run_to_json().map(Outcome::Whole),
            Some(part) => experiment.run_part(&part).map(Outcome::Part),
        };
        if self.task.start(work) {
            Ok(())
        } else {
            Err(PyRuntimeError::new_err(
                "the experiment was started already",
            ))
        }
    }

    /// Return the progress of the run as JSON.
    fn progress(&self) -> PyResult<String> {
        let (points_done, points_total) = self.progress.jobs();
        json(&json!({
            "points_done": points_done,
            "points_total": points_total,
            "begun": self.progress.has_started(), // codespell:ignore begun
            "elsewhere": self.progress.elsewhere(),
            "messages": self.progress.messages(),
            "running": self.task.is_running(),
        }))
    }

    /// Request the end of the run; the results of finished points stay in the journal.
    fn cancel(&self) {
        self.progress.cancel();
    }

    /// Wait up to `seconds` for the end of the run, without holding the Python interpreter. Returns
    /// whether the run has ended.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
        py.detach(|| self.task.wait(limit))
    }

    /// Return and remove the result of the run as JSON. Fails if the run has not ended or ended
    /// early. A long result is a `memoryview` without a copy.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = |json: &[u8]| Ok(PyBytes::new(py, json).into_any());
        match self.task.take() {
            Some(Ok(Outcome::Whole(whole))) if whole.len() >= LONG => {
                let view = PyMemoryView::from(PyArray1::from_vec(py, whole).as_any())?;
                view.call_method0("toreadonly")
            }
            Some(Ok(Outcome::Whole(whole))) => bytes(&whole),
            Some(Ok(Outcome::Part(part))) => bytes(json(&part)?.as_bytes()),
            Some(Err(error @ RunError::AllWarmUp { .. })) => {
                Err(PyValueError::new_err(error.to_string()))
            }
            // An error of the journal concerns the run's folder, not a point, so the exit status
            // differs.
            Some(Err(RunError::Journal(error))) => Err(refused(&error)),
            Some(Err(error)) => Err(PyRuntimeError::new_err(error.to_string())),
            None => Err(PyRuntimeError::new_err(
                "the experiment has no result to give",
            )),
        }
    }

    /// Compute the points and searches at these positions in this call. Return their journal files
    /// by name, and the failures as JSON.
    fn compute(&self, py: Python<'_>, part: Positions) -> PyResult<(Vec<Entry>, String)> {
        let experiment = Arc::clone(&self.experiment);
        let part = self.selection(part)?;
        let done = interruptible(py, Arc::clone(&self.progress), move |_| {
            let done = experiment.run_part(&part)?;
            Ok::<_, RunError>((experiment.give_away(&part), done))
        })?;
        let (entries, part) = done.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let entries = entries.into_iter();
        let entries = entries.map(|(name, bytes)| (name, PyBytes::new(py, &bytes).unbind()));
        Ok((entries.collect(), json(&part)?))
    }

    /// Add a journal file with results of another process to the journal of the run.
    fn admit(&self, py: Python<'_>, name: String, bytes: PyBackedBytes) -> PyResult<()> {
        let admitted = py.detach(|| self.experiment.admit(&name, bytes.to_vec()));
        admitted.map_err(|error| refused(&error))
    }

    /// Return the number of points and the number of searches of the run.
    fn counts(&self) -> (usize, usize) {
        self.experiment.counts()
    }

    /// Return the positions of the points and searches of which the journal has no result.
    fn missing(&self, py: Python<'_>) -> PyResult<Positions> {
        let missing = py.detach(|| self.experiment.missing());
        let Selection { points, searches } = missing.map_err(|error| refused(&error))?;
        Ok((points, searches))
    }
}

/// Positions of points, and of searches, in a run.
type Positions = (Vec<usize>, Vec<usize>);

/// A file of a journal: its name and its bytes.
type Entry = (String, Py<PyBytes>);

impl PyExperiment {
    /// Check positions of points and searches, and convert them to a selection.
    fn selection(&self, (points, searches): Positions) -> PyResult<Selection> {
        let (of_points, of_searches) = self.experiment.counts();
        if points.iter().any(|&at| at >= of_points) || searches.iter().any(|&at| at >= of_searches)
        {
            return Err(PyValueError::new_err(format!(
                "there are {of_points} points and {of_searches} searches"
            )));
        }
        Ok(Selection { points, searches })
    }
}

/// Convert an error of the journal to a Python exception.
fn refused(error: &JournalError) -> PyErr {
    ResumeError::new_err(error.to_string())
}

/// Parse an amount of memory with its unit, and check that it is large enough for a run.
fn amount(text: &str) -> PyResult<Bytes> {
    let least = Bytes::new(1_000_000);
    let problem = match text.parse::<Bytes>() {
        Ok(amount) if amount >= least => return Ok(amount),
        Ok(_) => format!("`{text}` is less than a run needs; give 1 MB or more"),
        Err(error) => error.to_string(),
    };
    Err(PyValueError::new_err(format!("memory: {problem}")))
}
