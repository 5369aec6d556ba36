//! Ratios, differences and means of results.

use crate::json;
use isthmus_experiment::comparison::Question;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What comes out of an operation on quantities, as JSON; null where there is no value.
#[pyfunction]
pub(crate) fn compare(question: &str) -> PyResult<String> {
    let invalid = |problem: String| PyValueError::new_err(format!("comparison: {problem}"));
    let question: Question =
        serde_json::from_str(question).map_err(|error| invalid(error.to_string()))?;
    let answer = question
        .answer()
        .map_err(|error| invalid(error.to_string()))?;
    json(&answer)
}
