//! Ratios, differences and means of results.

use crate::json;
use isthmus_experiment::comparison::{Pairs, Question};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What comes out of an operation on quantities, as JSON; null where there is no value.
#[pyfunction]
pub(crate) fn compare(question: &str) -> PyResult<String> {
    let question: Question = serde_json::from_str(question).map_err(invalid)?;
    json(&question.answer().map_err(invalid)?)
}

/// How the quantities of each pair differ, all of them judged together, as JSON.
#[pyfunction]
pub(crate) fn differences(question: &str) -> PyResult<String> {
    let question: Pairs = serde_json::from_str(question).map_err(invalid)?;
    json(&question.answer().map_err(invalid)?)
}

fn invalid(problem: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("comparison: {problem}"))
}
