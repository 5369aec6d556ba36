//! `[search]`: the saturation knee for each combination of the axes that are not loads.

use crate::describe::Describe;
use crate::error::{Problem, ScenarioError, Source};
use crate::field::Kind;
use crate::kind::LoadValue;
use crate::machine::Machine;
use crate::settings::{Layer, Setting, Settings};
use crate::sweep::AxisValue;
use crate::value::Value;
use crate::workload::Workload;
use isthmus_units::{Bandwidth, Rate};
use std::fmt;
use std::sync::Arc;

/// How much is asked of a machine, in the way of its kind.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Load {
    /// Demands of one PE per time: hypercubes.
    Rate(Rate),
    /// Payload of all nodes together per time: SCI fabrics.
    Bandwidth(Bandwidth),
    /// Data of each node per time: fat trees.
    PerNode(Bandwidth),
}

impl Load {
    /// The field that holds loads of this dimension, whichever way a file puts them.
    pub fn key(self) -> &'static str {
        match self {
            Self::Rate(_) => "workload.rate",
            Self::Bandwidth(_) | Self::PerNode(_) => "workload.load",
        }
    }

    /// The unit of [`amount`](Self::amount): `/ms`, `GB/s` or `MB/s`.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rate(_) => "/ms",
            Self::Bandwidth(_) => "GB/s",
            Self::PerNode(_) => "MB/s",
        }
    }

    /// The load as a number of its unit.
    pub fn amount(self) -> f64 {
        match self {
            Self::Rate(rate) => rate.per_ms(),
            Self::Bandwidth(bandwidth) => bandwidth.bits_per_s() as f64 / 8e9,
            Self::PerNode(bandwidth) => bandwidth.bits_per_s() as f64 / 8e6,
        }
    }

    /// A load of the same dimension that is `amount` units; bandwidths are rounded to whole bits
    /// per second.
    #[must_use]
    pub fn with_amount(self, amount: f64) -> Self {
        // A float becomes the nearest integer there is: nothing of what is not above zero.
        let bandwidth = |bits: f64| Bandwidth::from_bits_per_s((amount * bits).round() as u64);
        match self {
            Self::Rate(_) => Self::Rate(Rate::from_per_s(amount * 1e3)),
            Self::Bandwidth(_) => Self::Bandwidth(bandwidth(8e9)),
            Self::PerNode(_) => Self::PerNode(bandwidth(8e6)),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount(), self.unit())
    }
}

/// The saturation search.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The field that the file names: `workload.rate`, `workload.interarrival` or
    /// `workload.load`.
    pub over: String,
    /// The lowest load.
    pub low: Load,
    /// The highest load, above the lowest and of the same dimension.
    pub high: Load,
    /// Width of the interval at which to stop, relative to its middle, between 0 and 1.
    pub resolution: f64,
}

/// `[search]`.
#[derive(Describe)]
pub(crate) struct SearchTable {
    /// The load to vary until the machine saturates.
    #[describe(label = "load", of_kind)]
    over: String,
    /// One end of the search, in the dimension of search.over.
    #[describe(of_kind)]
    from: Value,
    /// The other end of the search.
    #[describe(of_kind)]
    to: Value,
    /// Width, relative to its middle, of the interval around the knee at which to stop.
    #[describe(kind = Kind::INSIDE, default = "2%")]
    resolution: f64,
}

/// The search that a file asks for.
pub(crate) fn build(settings: &Settings, table: SearchTable) -> Result<Search, Problem> {
    let read = settings.schema().machine.loads.read;
    let end = |key: &str, value: &Value| {
        let load = read(&table.over, value);
        load.map_err(|no| settings.problem(key, no.problem, no.hint))
    };
    let from = end("search.from", &table.from)?;
    let to = end("search.to", &table.to)?;
    if from == to {
        return Err(settings.problem(
            "search.to",
            "the search ends where it begins",
            "give two different loads",
        ));
    }
    let (low, high) = if from < to { (from, to) } else { (to, from) };
    Ok(Search {
        over: table.over,
        low,
        high,
        resolution: table.resolution,
    })
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
    /// The machine and the workload at `load`, which must be of the dimension of the search's own
    /// loads. Of a rate, the mean interarrival time is rounded to whole picoseconds.
    ///
    /// # Errors
    /// A load that is impossible, such as none at all, or one at which the scenario contradicts
    /// itself; never for loads of the search itself.
    pub fn at(&self, load: Load) -> Result<(Machine, Workload), ScenarioError> {
        self.build_at(load)
            .map_err(|problem| self.source.error(problem))
    }

    pub(crate) fn build_at(&self, load: Load) -> Result<(Machine, Workload), Problem> {
        let schema = self.settings.schema();
        let loads = &schema.machine.loads;
        let LoadValue {
            key,
            value,
            written,
        } = (loads.write)(load).map_err(|possible| {
            let problem = format!("a load of {load} is impossible");
            self.settings.problem("search.over", problem, possible)
        })?;
        let Some(field) = schema.field(key).cloned() else {
            unreachable!("the loads of a kind are fields of it")
        };
        if !self.settings.applies(&field) {
            return Err(self.settings.problem(
                "search.over",
                "a closed loop limits its own load",
                "remove [search], or use other arrivals",
            ));
        }
        let mut settings = self.settings.clone();
        for key in loads.keys {
            settings.remove(key);
        }
        settings.put(&Setting {
            field,
            value,
            written: toml::Value::String(written),
            origin: settings.origin("search.over"),
            layer: Layer::Search,
            credit: None,
        })?;
        settings.build()
    }
}
