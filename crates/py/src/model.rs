//! The queueing model of section 6 of the hypercube paper, under several readings (interpretations)
//! of the paper.

use crate::question::{Refusal, ScenarioText, answer};
use isthmus_analytic::Error;
use isthmus_analytic::hypercube_io::{ChannelKind, Reading, Saturation, Solution};
use isthmus_analytic::path::MessageClass;
use isthmus_kinds::hypercube::{Hypercube, Queueing};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

/// Names of the readings: possible interpretations of the queueing model in the hypercube paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum ReadingName {
    Literal,
    #[serde(rename = "table_2_one_lane")]
    Table2OneLane,
    #[serde(rename = "table_2_two_lanes")]
    Table2TwoLanes,
    ControlBound,
    Counted,
}

impl ReadingName {
    /// Names of all readings.
    const ALL: [Self; 5] = [
        Self::Literal,
        Self::Table2OneLane,
        Self::Table2TwoLanes,
        Self::ControlBound,
        Self::Counted,
    ];

    /// Return the interpretation of the queueing model with this name.
    const fn reading(self) -> Reading {
        match self {
            Self::Literal => Reading::literal(),
            Self::Table2OneLane => Reading::table_2_one_lane(),
            Self::Table2TwoLanes => Reading::table_2_two_lanes(),
            Self::ControlBound => Reading::control_bound(),
            Self::Counted => Reading::counted(),
        }
    }
}

/// The results of the queueing model at one point, in JSON.
#[derive(Serialize)]
struct Point {
    values: Vec<String>,
    /// The model's results for each way to understand (reading of) the paper's formulas; `None` if
    /// the model does not cover the point.
    readings: Option<BTreeMap<ReadingName, Solved>>,
}

/// The results of the queueing model at one point under one reading; infinite numbers become null.
#[derive(Serialize)]
struct Solved {
    saturation_per_ms: f64,
    saturation_channel: String,
    bound_per_ms: f64,
    bound_channel: String,
    saturated: Option<String>,
    classes: BTreeMap<&'static str, Latency>,
    /// Time of a whole read in microseconds, with each message measured from its generation.
    read_us: f64,
    /// Mean time in microseconds of a reply, over local and remote replies.
    reply_us: f64,
    channels: Vec<Channel>,
}

/// The latency of one class of messages in the queueing model, in JSON.
#[derive(Serialize)]
struct Latency {
    router_us: f64,
    generation_us: f64,
    channels: f64,
}

/// The load of one kind of channel in the queueing model, in JSON.
#[derive(Serialize)]
struct Channel {
    kind: ChannelKind,
    dimension: Option<u32>,
    lanes: u32,
    rate_per_ms: f64,
    /// Number of messages on the channel for each message that one PE generates.
    rate_ratio: f64,
    base_service_cycles: f64,
    base_scv: f64,
    service_cycles: f64,
    scv: f64,
    wait_cycles: f64,
    carried: f64,
    utilisation: f64,
}

/// Evaluate the queueing model at the points of a scenario, and return the results as JSON.
#[pyfunction]
pub(crate) fn model(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |given: ScenarioText, progress| {
        let points = given
            .build(progress)?
            .cases::<Hypercube>()
            .map(|(values, built, traffic)| {
                let readings = built.queueing(traffic).map(|queueing| {
                    let solve = |name| Ok((name, solved(&queueing, name)?));
                    ReadingName::ALL.into_iter().map(solve).collect()
                });
                Ok(Point {
                    values: values.iter().map(|value| value.text.clone()).collect(),
                    readings: readings
                        .transpose()
                        .map_err(|error: Error| Refusal::at("scenario", error))?,
                })
            })
            .collect::<Result<Vec<_>, Refusal>>()?;
        Ok(json!({"points": points}))
    })
}

/// Return the model's results under one reading of the paper (a way to understand its formulas).
fn solved(queueing: &Queueing, name: ReadingName) -> Result<Solved, Error> {
    let Queueing {
        model,
        rate,
        cycle_us,
        ..
    } = queueing;
    let reading = name.reading();
    let solution = model.solve(*rate, &reading)?;
    let (saturation, bound) = (
        model.saturation(&reading)?,
        model.saturation_bound(&reading)?,
    );
    let per_ms = |found: &Saturation| found.per_ms(1e3 / cycle_us);
    Ok(Solved {
        saturation_per_ms: per_ms(&saturation),
        saturation_channel: saturation.channel.to_string(),
        bound_per_ms: per_ms(&bound),
        bound_channel: bound.channel.to_string(),
        saturated: solution.saturated.map(|channel| channel.to_string()),
        classes: classes(&solution, *cycle_us),
        read_us: solution.read_generation() * cycle_us,
        reply_us: solution.reply_generation() * cycle_us,
        channels: channels(&solution, *cycle_us),
    })
}

/// Return the latencies by class of messages, from a solution of the queueing model.
fn classes(solution: &Solution, cycle_us: f64) -> BTreeMap<&'static str, Latency> {
    MessageClass::ALL
        .into_iter()
        .map(|class| (class, solution.latency(class)))
        .filter(|(_, latency)| latency.rate > 0.0)
        .map(|(class, latency)| {
            let latency = Latency {
                router_us: latency.router * cycle_us,
                generation_us: latency.generation * cycle_us,
                channels: latency.channels,
            };
            (class.name(), latency)
        })
        .collect()
}

/// Return the load of each kind of channel, from a solution of the queueing model.
fn channels(solution: &Solution, cycle_us: f64) -> Vec<Channel> {
    solution
        .channels
        .iter()
        .map(|used| Channel {
            kind: used.channel.kind,
            dimension: used.channel.dimension,
            lanes: used.lanes,
            rate_per_ms: used.rate * 1e3 / cycle_us,
            rate_ratio: used.rate / solution.rate,
            base_service_cycles: used.base_service,
            base_scv: used.base_scv,
            service_cycles: used.service,
            scv: used.scv,
            wait_cycles: used.wait,
            carried: used.carried,
            utilisation: used.utilisation,
        })
        .collect()
}
