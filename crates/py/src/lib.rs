//! The Python module `isthmus._core`. It only converts arguments and results: text and JSON to Rust
//! values and back, and the bytes of distributed arrays.

#[cfg(target_os = "linux")]
mod apps;
mod arrays;
mod balance;
mod columns;
mod comparison;
#[cfg(target_os = "linux")]
mod daemon;
mod experiment;
mod faults;
mod graph;
mod interruptible;
mod io_distribution;
#[cfg(target_os = "linux")]
mod iod;
#[cfg(target_os = "linux")]
mod iod_files;
#[cfg(target_os = "linux")]
mod live;
mod memory;
mod model;
mod module;
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

/// Maximum number of nodes of a network whose nodes and links are listed individually.
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

/// Convert a panic to a Python exception.
fn panicked(panic: &Panicked) -> PyErr {
    CoreError::new_err(format!(
        "{panic}; this is an error of isthmus, please report it with this line and the scenario"
    ))
}

/// Return the version of this module, which is also that of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Return the number of processors that a run may use, which is its default number of threads.
#[pyfunction]
fn processors() -> usize {
    isthmus_experiment::processors()
}

/// Return the default memory limit of this process in bytes: half of the memory that it may use.
#[pyfunction]
fn memory_bound() -> u64 {
    isthmus_experiment::memory_bound()
}

/// Return the fields of a scenario file, as a JSON list.
#[pyfunction]
fn fields() -> PyResult<String> {
    json(&KINDS.formats().fields())
}

/// Return the JSON Schema of a scenario file.
#[pyfunction]
fn json_schema() -> PyResult<String> {
    json(&KINDS.formats().json_schema())
}

/// Parse any TOML file with overrides; return a JSON tree with the position of each value.
#[pyfunction]
fn placed(text: &str, file: &str, overrides: Vec<String>) -> PyResult<String> {
    match isthmus_scenario::toml_with_places(text, file, &overrides) {
        Ok(tree) => json(&tree),
        Err(error) => Err(ScenarioError::new_err(error.to_string())),
    }
}

/// Return the value as JSON text.
fn json<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
