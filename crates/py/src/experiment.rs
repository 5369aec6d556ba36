//! Scenarios and their runs.

use crate::{ResumeError, ScenarioError, json};
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::result::{MachineSummary, RunResult};
use isthmus_experiment::{Experiment, Options, Progress, RunError, SetupError};
use isthmus_scenario::{Resolved, Scenario};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

impl From<SetupFailure> for PyErr {
    fn from(failure: SetupFailure) -> Self {
        let message = failure.0.to_string();
        match failure.0 {
            SetupError::Journal(_) => ResumeError::new_err(message),
            SetupError::Scenario(_) => ScenarioError::new_err(message),
        }
    }
}

/// A [`SetupError`] on its way to Python.
struct SetupFailure(SetupError);

fn set_up(
    text: &str,
    file: &str,
    overrides: &[String],
    options: Options,
) -> Result<Experiment, SetupFailure> {
    Scenario::parse(text, file, overrides)
        .map_err(SetupError::from)
        .and_then(|scenario| Experiment::new(scenario, options))
        .map_err(SetupFailure)
}

#[derive(Serialize)]
struct CheckedAxis {
    key: String,
    label: String,
    unit: Option<String>,
    values: Vec<String>,
}

/// What [`check`] returns.
#[derive(Serialize)]
struct Checked {
    name: String,
    title: String,
    description: String,
    axes: Vec<CheckedAxis>,
    points: usize,
    searches: usize,
    machines: Vec<MachineSummary>,
    canonical: String,
    digest: String,
    /// Every value that counts, and where it is from.
    resolved: Vec<Resolved>,
    /// Demand against supply, variant by variant.
    capacity: Vec<Capacity>,
    /// What may mislead in a run of this length.
    warnings: Vec<String>,
}

/// Reads a scenario and says what it would run, as JSON.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    text: &str,
    file: &str,
    overrides: Vec<String>,
) -> PyResult<String> {
    let checked = py.detach(|| {
        let scenario =
            Scenario::parse(text, file, &overrides).map_err(|error| SetupFailure(error.into()))?;
        let mut checked = Checked {
            name: scenario.name.clone(),
            title: scenario.title.clone(),
            description: scenario.description.clone(),
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
            points: scenario.points().len(),
            searches: scenario.search_lines().len(),
            machines: Vec::new(),
            canonical: scenario.canonical(),
            digest: scenario.digest(),
            resolved: scenario.resolved(),
            capacity: Vec::new(),
            warnings: Vec::new(),
        };
        let experiment = Experiment::new(scenario, Options::default()).map_err(SetupFailure)?;
        checked.machines = experiment.machines();
        checked.capacity = experiment.capacity();
        checked.warnings = experiment.warnings();
        Ok::<_, SetupFailure>(checked)
    })?;
    json(&checked)
}

/// The analytic model's values for every point of a scenario, as JSON.
#[pyfunction]
pub(crate) fn analyze(
    py: Python<'_>,
    text: &str,
    file: &str,
    overrides: Vec<String>,
) -> PyResult<String> {
    let result = py.detach(|| {
        set_up(text, file, &overrides, Options::default()).map(|experiment| experiment.analyze())
    })?;
    json(&result)
}

/// How far a run is.
#[derive(Default)]
enum State {
    /// Not begun.
    #[default]
    Idle,
    /// Going on in a thread.
    Running,
    /// Ended.
    Ended(Result<Box<RunResult>, RunError>),
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One run of a scenario.
#[pyclass(name = "Experiment", module = "isthmus._core", frozen)]
pub(crate) struct PyExperiment {
    experiment: Arc<Experiment>,
    progress: Arc<Progress>,
    shared: Arc<Shared>,
}

#[derive(Serialize)]
struct ProgressReport {
    points_done: u64,
    points_total: u64,
    messages: u64,
    running: bool,
}

#[pymethods]
impl PyExperiment {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        text: &str,
        file: &str,
        overrides: Vec<String>,
        seed: Option<u64>,
        jobs: usize,
        quick: bool,
        journal: Option<String>,
    ) -> PyResult<Self> {
        let options = Options {
            seed,
            jobs,
            quick,
            journal: journal.map(Into::into),
        };
        let experiment = py.detach(|| set_up(text, file, &overrides, options))?;
        Ok(Self {
            progress: experiment.progress(),
            experiment: Arc::new(experiment),
            shared: Arc::default(),
        })
    }

    /// What may mislead in a run of this length, as a JSON list of lines.
    fn warnings(&self) -> PyResult<String> {
        json(&self.experiment.warnings())
    }

    /// Begins, in threads of its own.
    fn start(&self) -> PyResult<()> {
        let mut state = self.shared.lock();
        if !matches!(*state, State::Idle) {
            return Err(PyRuntimeError::new_err(
                "the experiment was started already",
            ));
        }
        *state = State::Running;
        drop(state);
        let (experiment, shared) = (Arc::clone(&self.experiment), Arc::clone(&self.shared));
        thread::spawn(move || {
            let result = experiment.run().map(Box::new);
            *shared.lock() = State::Ended(result);
            shared.ended.notify_all();
        });
        Ok(())
    }

    /// How far it is, as JSON.
    fn progress(&self) -> PyResult<String> {
        let (points_done, points_total) = self.progress.jobs();
        json(&ProgressReport {
            points_done,
            points_total,
            messages: self.progress.messages(),
            running: matches!(*self.shared.lock(), State::Running),
        })
    }

    /// Asks the run to end soon; finished points stay in the journal.
    fn cancel(&self) {
        self.progress.cancel();
    }

    /// Waits up to `seconds` without holding the interpreter; true when the run has ended.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
        py.detach(|| {
            let state = self.shared.lock();
            let running = |state: &mut State| matches!(state, State::Running);
            let waited = self.shared.ended.wait_timeout_while(state, limit, running);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            !matches!(*state, State::Running)
        })
    }

    /// The result as JSON; an error if the run has not ended or ended early.
    fn result(&self) -> PyResult<String> {
        match &*self.shared.lock() {
            State::Ended(Ok(result)) => json(result),
            State::Ended(Err(error @ RunError::AllWarmUp { .. })) => {
                Err(PyValueError::new_err(error.to_string()))
            }
            State::Ended(Err(error)) => Err(PyRuntimeError::new_err(error.to_string())),
            State::Idle | State::Running => {
                Err(PyRuntimeError::new_err("the experiment has not ended"))
            }
        }
    }
}
