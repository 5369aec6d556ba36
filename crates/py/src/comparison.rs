//! Functions of the Python package that compare measured results: ratios, differences and means with confidence
//! intervals.

use crate::json;
use isthmus_experiment::comparison::{Pairs, Question};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Return the result of an arithmetic operation on measured quantities, as JSON; null if the result has no value.
/// `question` has the operation and the quantities as JSON.
#[pyfunction]
pub(crate) fn compare(question: &str) -> PyResult<String> {
    let question: Question = serde_json::from_str(question).map_err(invalid)?;
    json(&question.answer().map_err(invalid)?)
}

/// Return, as JSON, the difference between the two quantities of each pair and whether it is significant. The
/// significance level holds for all pairs together.
#[pyfunction]
pub(crate) fn differences(question: &str) -> PyResult<String> {
    let question: Pairs = serde_json::from_str(question).map_err(invalid)?;
    json(&question.answer().map_err(invalid)?)
}

/// Convert a problem in the arguments of a comparison to a Python `ValueError`.
fn invalid(problem: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("comparison: {problem}"))
}
