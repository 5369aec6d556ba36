//! `[search]`: the saturation knee for each combination of the axes that are not loads.

use crate::error::{Problem, ScenarioError, Source};
use crate::field::Default::{Required, Value as Given};
use crate::field::{Field, Kind};
use crate::machine::Machine;
use crate::settings::{Layer, Setting, Settings};
use crate::sweep::AxisValue;
use crate::traffic::LOAD_KEYS;
use crate::value::{TIME_MAX, Value, mean_gap};
use isthmus_units::Rate;
use isthmus_workload::spec::TrafficSpec;
use std::sync::Arc;

/// The field that a search varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// `workload.rate`.
    Rate,
    /// `workload.interarrival`.
    Interarrival,
}

/// The saturation search; loads are rates per PE whichever way the file puts them.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The field that the file names.
    pub over: Load,
    /// The lowest load.
    pub low: Rate,
    /// The highest load, above the lowest.
    pub high: Rate,
    /// Width of the interval at which to stop, relative to its middle, between 0 and 1.
    pub resolution: f64,
}

pub(crate) const FIELDS: &[Field] = &[
    Field::new(
        "search.over",
        Kind::Choice(LOAD_KEYS),
        Required,
        "load",
        "The load to vary until the machine saturates",
    )
    .within("search"),
    Field::new(
        "search.from",
        Kind::Load,
        Required,
        "from",
        "One end of the search, in the dimension of search.over",
    )
    .such_as("\"5 /ms\"")
    .within("search"),
    Field::new(
        "search.to",
        Kind::Load,
        Required,
        "to",
        "The other end of the search",
    )
    .such_as("\"40 /ms\"")
    .within("search"),
    Field::new(
        "search.resolution",
        Kind::Share {
            above_zero: true,
            below_one: true,
        },
        Given("\"2%\""),
        "resolution",
        "Width, relative to its middle, of the interval around the knee at which to stop",
    )
    .within("search"),
];

/// The search, if the file asks for one.
pub(crate) fn build(settings: &Settings) -> Result<Option<Search>, Problem> {
    if !settings.has_table("search") {
        return Ok(None);
    }
    let over = match settings.text("search.over").as_str() {
        "workload.interarrival" => Load::Interarrival,
        _ => Load::Rate,
    };
    let from = end(settings, "search.from", over)?;
    let to = end(settings, "search.to", over)?;
    if from == to {
        return Err(settings.problem(
            "search.to",
            "the search ends where it begins",
            "give two different loads",
        ));
    }
    let (low, high) = if from < to { (from, to) } else { (to, from) };
    let resolution = settings.number("search.resolution");
    Ok(Some(Search {
        over,
        low,
        high,
        resolution,
    }))
}

fn end(settings: &Settings, key: &str, over: Load) -> Result<Rate, Problem> {
    let setting = settings.given(key);
    match (over, setting.map(|setting| &setting.value)) {
        (Load::Rate, Some(Value::Rate(rate))) => Ok(*rate),
        (Load::Interarrival, Some(Value::Time(time))) => Ok(Rate::from_per_s(1.0 / time.seconds())),
        (Load::Rate, _) => Err(settings.problem(
            key,
            "a time where search.over = \"workload.rate\" expects a rate",
            "write a rate, for example \"6.4 /ms\"",
        )),
        (Load::Interarrival, _) => Err(settings.problem(
            key,
            "a rate where search.over = \"workload.interarrival\" expects a time",
            "write a time, for example \"0.156 ms\"",
        )),
    }
}

/// One combination of the axes that are not loads.
#[derive(Debug, Clone)]
pub struct SearchLine {
    /// Position among the lines.
    pub index: usize,
    /// The values of the axes of [`Scenario::search_axes`](crate::Scenario::search_axes).
    pub values: Vec<AxisValue>,
    pub(crate) settings: Settings,
    pub(crate) source: Arc<Source>,
}

impl SearchLine {
    /// The machine and the workload at a load of `rate` demands per PE; the mean interarrival time
    /// is rounded to whole picoseconds.
    ///
    /// # Errors
    /// A rate that is not between one in 24 hours and one in a picosecond, or one at which the
    /// scenario contradicts itself; never for rates of the search itself.
    pub fn at(&self, rate: Rate) -> Result<(Machine, TrafficSpec), ScenarioError> {
        self.build_at(rate)
            .map_err(|problem| self.source.error(problem))
    }

    pub(crate) fn build_at(&self, rate: Rate) -> Result<(Machine, TrafficSpec), Problem> {
        let gap = 1e12 / rate.per_s();
        let possible = gap >= 1.0 && gap <= TIME_MAX.ps() as f64;
        let schema = self.settings.schema();
        let (true, Some(field)) = (possible, schema.field("workload.interarrival")) else {
            return Err(self.settings.problem(
                "search.over",
                format!("a load of {rate} is impossible"),
                "keep between one in 24 h and one in 1 ps",
            ));
        };
        if !self.settings.applies(field) {
            return Err(self.settings.problem(
                "search.over",
                "a closed loop limits its own load",
                "remove [search], or use other arrivals",
            ));
        }
        let mean = mean_gap(rate);
        let mut settings = self.settings.clone();
        for key in LOAD_KEYS {
            settings.remove(key);
        }
        settings.put(&Setting {
            field,
            value: Value::Time(mean),
            written: toml::Value::String(format!("{} ps", mean.ps())),
            origin: settings.origin("search.over"),
            layer: Layer::Search,
        })?;
        settings.build()
    }
}
