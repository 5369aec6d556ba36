//! The study of what failures leave of fabrics of rings.

use crate::question::{Given, Refusal, answer};
use isthmus_kinds::sci;
use pyo3::prelude::*;
use serde::Deserialize;

/// What [`study`] is asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    scenarios: Vec<Given>,
    /// Pairs of failures to draw in each fabric.
    double: u64,
    /// Of the pairs and the runs; that of the first scenario if there is none.
    seed: Option<u64>,
}

/// Fabrics, what can fail of each, and the scenario that runs that, as JSON.
#[pyfunction]
pub(crate) fn study(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question: Question, _| {
        let scenarios = question.scenarios.iter().map(Given::read);
        let scenarios: Vec<_> = scenarios.collect::<Result<_, _>>()?;
        sci::study(&scenarios, question.double, question.seed).map_err(Refusal::of)
    })
}
