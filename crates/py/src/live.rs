//! Points of a scenario carried out for real.

use crate::question::{Quantity, Refusal, answer};
use isthmus_kinds::KINDS;
use isthmus_scenario::{Point, Scenario};
use isthmus_stream_apps::live::{Pace, missing, run};
use isthmus_stream_sim::spec::{Machine, Work};
use isthmus_units::Bytes;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    scenario: String,
    file: String,
    overrides: Vec<String>,
}

impl Question {
    fn read(&self) -> Result<Scenario, Refusal> {
        let scenario = KINDS.parse(&self.scenario, &self.file, &self.overrides);
        scenario.map_err(Refusal::of)
    }
}

/// A machine and its work, if they are of the kind that can be carried out.
fn described<'a>(point: &'a Point, file: &str) -> Result<(&'a Machine, &'a Work), Refusal> {
    let (machine, work) = (point.machine.as_(), point.workload.as_());
    machine.zip(work).ok_or_else(|| {
        Refusal::at(
            format!("{file}: machine.kind"),
            "no machine of this kind can be carried out; give a file with machine.kind = \"interface\"",
        )
    })
}

#[derive(Serialize)]
struct Listed {
    name: String,
    points: Vec<Found>,
}

#[derive(Serialize)]
struct Found {
    /// Values of the axes, as text.
    at: BTreeMap<String, String>,
    /// Why it cannot be carried out here.
    missing: Option<String>,
}

/// The points of a scenario and which of them can be carried out here, as JSON.
#[pyfunction]
pub(crate) fn live_points(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question: Question, _| {
        let scenario = question.read()?;
        let keys: Vec<_> = scenario.axes.iter().map(|axis| axis.key.clone()).collect();
        let points = scenario.points();
        let points = points.iter().map(|point| {
            let (machine, work) = described(point, &question.file)?;
            let values = point.values.iter().map(|value| value.text.clone());
            Ok(Found {
                at: keys.iter().cloned().zip(values).collect(),
                missing: missing(machine, work),
            })
        });
        Ok(Listed {
            points: points.collect::<Result<_, Refusal>>()?,
            name: scenario.name,
        })
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Pacing {
    Free,
    Described,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    question: Question,
    point: usize,
    pace: Pacing,
    least: Quantity<Bytes>,
}

#[derive(Serialize)]
struct Done {
    ns: u64,
    bytes: u64,
}

/// Carries out one point of a scenario, as JSON.
#[pyfunction]
pub(crate) fn live_run(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |order: Order, _| {
        let question = order.question;
        let points = question.read()?.points();
        let Some(point) = points.get(order.point) else {
            let what = format!("{} of {} points", order.point, points.len());
            return Err(Refusal::at("point", what));
        };
        let (machine, work) = described(point, &question.file)?;
        let pace = match order.pace {
            Pacing::Free => Pace::Free,
            Pacing::Described => Pace::AsDescribed,
        };
        let report = run(machine, work, pace, order.least.0.get()).map_err(Refusal::of)?;
        Ok(Done {
            ns: report.ns,
            bytes: report.bytes,
        })
    })
}
