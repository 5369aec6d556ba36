//! The Python module `isthmus._core`: conversion only. Text and JSON in, JSON out; of distributed arrays their bytes.

#[cfg(target_os = "linux")]
mod apps;
mod arrays;
mod balance;
mod columns;
mod comparison;
mod experiment;
mod faults;
mod graph;
mod interruptible;
mod io_distribution;
#[cfg(target_os = "linux")]
mod live;
mod memory;
mod model;
#[cfg(target_os = "linux")]
mod nic;
mod peak;
mod place;
mod question;
mod rings;
mod settings;
mod share;
#[cfg(target_os = "linux")]
mod sink;
#[cfg(target_os = "linux")]
mod streams;
mod study;
mod topology;

use isthmus_experiment::Panicked;
use isthmus_kinds::KINDS;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Largest network whose nodes and links are listed one by one.
const LISTED_MAX: u32 = 1 << 12;

create_exception!(
    isthmus._core,
    ScenarioError,
    PyValueError,
    "A scenario that makes no sense."
);
create_exception!(
    isthmus._core,
    ResumeError,
    PyValueError,
    "A journal of finished points that is damaged or belongs to another run."
);

create_exception!(
    isthmus._core,
    CoreError,
    PyRuntimeError,
    "The core has failed, which is to be reported."
);

/// A panic as an error of Python.
fn panicked(panic: &Panicked) -> PyErr {
    CoreError::new_err(format!(
        "{panic}; this is an error of isthmus, please report it with this line and the scenario"
    ))
}

/// Version of the core, the same as the package's.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Processors that a run may use: the threads that it has if nobody says how many.
#[pyfunction]
fn processors() -> usize {
    isthmus_experiment::processors()
}

/// Bytes that what this process does may take if nobody says how many: half of what it may use.
#[pyfunction]
fn memory_bound() -> u64 {
    isthmus_experiment::memory_bound()
}

/// The fields of a scenario file, as a JSON list.
#[pyfunction]
fn fields() -> PyResult<String> {
    json(&KINDS.formats().fields())
}

/// The JSON Schema of a scenario file.
#[pyfunction]
fn json_schema() -> PyResult<String> {
    json(&KINDS.formats().json_schema())
}

/// A TOML file that is no scenario, with changes, as a tree in JSON that says where each value was written.
#[pyfunction]
fn placed(text: &str, file: &str, overrides: Vec<String>) -> PyResult<String> {
    match isthmus_scenario::toml_with_places(text, file, &overrides) {
        Ok(tree) => json(&tree),
        Err(error) => Err(ScenarioError::new_err(error.to_string())),
    }
}

/// `value` as JSON text.
fn json<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The module.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("ResumeError", py.get_type::<ResumeError>())?;
    module.add("CoreError", py.get_type::<CoreError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(processors, module)?)?;
    module.add_function(wrap_pyfunction!(memory_bound, module)?)?;
    module.add_function(wrap_pyfunction!(fields, module)?)?;
    module.add_function(wrap_pyfunction!(json_schema, module)?)?;
    module.add_function(wrap_pyfunction!(placed, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::check, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::journal_flaws, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::is_worker, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::claims_on, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::worker_beat_s, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::memory_amount, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_function(wrap_pyfunction!(live::live_points, module)?)?;
        module.add_function(wrap_pyfunction!(live::live_run, module)?)?;
        module.add_class::<apps::PyVcr>()?;
        module.add_function(wrap_pyfunction!(apps::optimise, module)?)?;
        module.add_function(wrap_pyfunction!(apps::mri, module)?)?;
        module.add_class::<nic::PyDaemon>()?;
        streams::add(module)?;
        sink::add(module)?;
    }
    module.add_function(wrap_pyfunction!(model::model, module)?)?;
    module.add_function(wrap_pyfunction!(peak::peak, module)?)?;
    module.add_function(wrap_pyfunction!(rings::rings, module)?)?;
    module.add_function(wrap_pyfunction!(study::study, module)?)?;
    module.add_function(wrap_pyfunction!(topology::topology, module)?)?;
    module.add_function(wrap_pyfunction!(graph::graph_account, module)?)?;
    module.add_function(wrap_pyfunction!(place::place, module)?)?;
    module.add_function(wrap_pyfunction!(balance::balance, module)?)?;
    module.add_function(wrap_pyfunction!(comparison::compare, module)?)?;
    module.add_function(wrap_pyfunction!(comparison::differences, module)?)?;
    module.add_function(wrap_pyfunction!(settings::settings, module)?)?;
    module.add_function(wrap_pyfunction!(settings::quantities, module)?)?;
    module.add_class::<experiment::PyExperiment>()?;
    module.add_class::<columns::PyBinColumns>()?;
    module.add_class::<columns::PyChannelColumns>()?;
    module.add_class::<arrays::PyLayout>()?;
    module.add_class::<arrays::PyPlan>()?;
    module.add_class::<share::PyShare>()?;
    module.add_class::<io_distribution::PyIoDistribution>()?;
    module.add_function(wrap_pyfunction!(memory::address, module)?)?;
    module.add_function(wrap_pyfunction!(memory::crc32c, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::stretch_of, module)?)?;
    module.add_function(wrap_pyfunction!(memory::fence, module)?)?;
    Ok(())
}
