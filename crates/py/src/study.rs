//! A study of how failures affect fabrics of rings.

use crate::question::{Refusal, ScenarioText, answer};
use isthmus_kinds::sci;
use pyo3::prelude::*;
use serde::Deserialize;

/// The JSON argument of [`study`]: scenarios of ring fabrics, and the failures to sample.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    scenarios: Vec<ScenarioText>,
    /// Number of pairs of simultaneous failures to sample in each fabric.
    double: u64,
    /// Seed of the sampled pairs and of the simulations; by default that of the first scenario.
    seed: Option<u64>,
}

/// Return the ring fabrics, the possible failures of each, and the scenario that simulates them, as
/// JSON.
#[pyfunction]
pub(crate) fn study(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question: Question, _| {
        let scenarios = question.scenarios.iter().map(ScenarioText::read);
        let scenarios: Vec<_> = scenarios.collect::<Result<_, _>>()?;
        sci::study(&scenarios, question.double, question.seed).map_err(Refusal::of)
    })
}
