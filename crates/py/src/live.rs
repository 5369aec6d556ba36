//! Executes points of a scenario on this machine, instead of simulating them.

use crate::question::{Quantity, Refusal, ScenarioText, answer};
use isthmus_scenario::Point;
use isthmus_stream_apps::live::{Pace, missing, run};
use isthmus_stream_sim::spec::{Machine, Work};
use isthmus_units::Bytes;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Return the machine and the workload of a point. Fails if a machine of this kind cannot be
/// executed.
fn described<'a>(point: &'a Point, file: &str) -> Result<(&'a Machine, &'a Work), Refusal> {
    let (machine, work) = (point.machine.as_(), point.workload.as_());
    machine.zip(work).ok_or_else(|| {
        Refusal::at(
            format!("{file}: machine.kind"),
            "no machine of this kind can be carried out; give a file with machine.kind = \"interface\"",
        )
    })
}

/// Return the points of a scenario as JSON. Each point that cannot be executed on this machine has
/// the reason.
#[pyfunction]
pub(crate) fn live_points(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |given: ScenarioText, _| {
        let scenario = given.read()?;
        let points = scenario.points();
        let points = points.iter().map(|point| {
            let (machine, work) = described(point, &given.file)?;
            let values = scenario.axes.iter().zip(&point.values);
            // Collect the value of each axis at the point.
            let at: BTreeMap<_, _> = values
                .map(|(axis, value)| (&axis.key, &value.text))
                .collect();
            Ok(json!({"at": at, "missing": missing(machine, work)}))
        });
        let points: Vec<Value> = points.collect::<Result<_, Refusal>>()?;
        Ok(json!({"name": scenario.name, "points": points}))
    })
}

/// Whether the execution sends messages as fast as it can, or at the times that the scenario describes.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Pacing {
    Free,
    Described,
}

/// The JSON request to execute a scenario on this machine: the scenario, the number of the point and the settings of
/// the execution.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    question: ScenarioText,
    point: usize,
    pace: Pacing,
    least: Quantity<Bytes>,
}

/// Execute one point of a scenario on this machine, and return the result as JSON. `spec_json` is the request, also in
/// JSON.
#[pyfunction]
pub(crate) fn live_run(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |order: Order, _| {
        let points = order.question.read()?.points();
        let Some(point) = points.get(order.point) else {
            let what = format!("{} of {} points", order.point, points.len());
            return Err(Refusal::at("point", what));
        };
        let (machine, work) = described(point, &order.question.file)?;
        let pace = match order.pace {
            Pacing::Free => Pace::Free,
            Pacing::Described => Pace::AsDescribed,
        };
        let report = run(machine, work, pace, order.least.0.get()).map_err(Refusal::of)?;
        Ok(json!({"ns": report.ns, "bytes": report.bytes}))
    })
}
