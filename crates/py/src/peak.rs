//! Peak throughput of SCI rings and tori in the closed forms of the SCI paper.

use crate::question::{Refusal, Whole, answer};
use isthmus_analytic::sci::{Protocol, equations};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;

/// The equations of the SCI paper for the peak throughput.
#[derive(Debug, Clone, Copy, Deserialize)]
enum Equation {
    #[serde(rename = "1")]
    SingleRing,
    #[serde(rename = "2")]
    CounterRotatingBound,
    #[serde(rename = "table 2")]
    CounterRotating,
    #[serde(rename = "4")]
    Torus,
    #[serde(rename = "table 4")]
    TorusRounded,
}

/// The JSON request for the peak throughput of a fabric.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    equation: Equation,
    /// Number of nodes of the whole fabric.
    nodes: Whole,
}

/// Return the peak effective throughput according to an equation of the SCI paper, as JSON.
#[pyfunction]
pub(crate) fn peak(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question: Question, _| {
        let nodes = question.nodes.0;
        // The protocol of the 64-byte move in Table 1 of the SCI paper.
        let protocol = Protocol::MOVE_64;
        let refused = |error| Refusal::at("nodes", error);
        let peak_gb_per_s = match question.equation {
            Equation::SingleRing => equations::single_ring(&protocol),
            Equation::CounterRotatingBound => equations::counter_rotating_bound(&protocol),
            Equation::CounterRotating => {
                equations::counter_rotating(&protocol, nodes).map_err(refused)?
            }
            Equation::Torus => equations::torus(&protocol, side(nodes)?).map_err(refused)?,
            Equation::TorusRounded => {
                equations::torus_rounded(&protocol, side(nodes)?).map_err(refused)?
            }
        };
        Ok(json!({"peak_gb_per_s": peak_gb_per_s}))
    })
}

/// Return the number of nodes along a side of a square torus of `nodes` nodes. Refuse a number that
/// is no square.
fn side(nodes: u32) -> Result<u32, Refusal> {
    let side = nodes.isqrt();
    if side * side == nodes {
        return Ok(side);
    }
    let problem = format!("{nodes} nodes make no square torus; give a square, such as 16 or 36");
    Err(Refusal::at("nodes", problem))
}
