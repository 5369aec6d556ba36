//! The search for the saturation load, as the table `[search]` of a scenario file describes it. There is one
//! search for each combination of values of the sweep axes that do not set the load.

use crate::fields::common::SearchTable;
use crate::fields::format::Row;
use crate::fields::tables::LoadValue;
use crate::file::error::{Problem, ScenarioError, Source};
use crate::file::setting::{Layer, Setting};
use crate::file::settings::Settings;
use crate::file::tree::{Node, Tree};
use crate::sweep::axis::AxisValue;
use crate::value::Value;
use crate::value::described::Described;
use std::sync::Arc;

/// Parameters of the search for the saturation load, as `[search]` states them.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Key of the load field that the file names: `workload.rate`, `workload.interarrival` or
    /// `workload.load`.
    pub over: String,
    /// The lowest offered load that the search tries.
    pub low: f64,
    /// The highest offered load that the search tries, above the lowest.
    pub high: f64,
    /// The unit of `low` and `high`: `/ms`, `GB/s` or `MB/s`.
    pub unit: &'static str,
    /// Width of the interval around the saturation load at which the search stops, relative to its middle,
    /// between 0 and 1.
    pub resolution: f64,
}

impl Search {
    /// Return the lowest and the highest load, each with its unit.
    pub(crate) fn ends(&self) -> [(f64, &'static str); 2] {
        [self.low, self.high].map(|load| (load, self.unit))
    }
}

/// Return the parameters of the search for saturation, from the table `[search]` of a scenario file.
pub(crate) fn build(settings: &Settings, table: SearchTable) -> Result<Search, Problem> {
    let loads = &settings.schema().form.tables.loads;
    let end = |key: &str, value: &Value| {
        let load = (loads.read)(&table.over, value);
        load.map_err(|no| settings.problem(key, no.problem, no.hint))
    };
    let from = end("search.from", &table.ends.from)?;
    let to = end("search.to", &table.ends.to)?;
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
        unit: loads.unit,
        resolution: table.resolution,
    })
}

/// One search for the saturation load. All fields except the load are fixed, by a combination of values of the
/// other axes of the sweep; the search varies the load.
#[derive(Debug, Clone)]
pub struct SearchLine {
    /// Position of this search line in the list of all search lines.
    pub index: usize,
    /// One value for each axis of the sweep that does not set the load; the axes are in the order of
    /// [`Scenario::search_axes`](crate::Scenario::search_axes).
    pub values: Vec<AxisValue>,
    pub(crate) kind: &'static Row,
    /// The values of all fields except the load.
    pub(crate) settings: Settings,
    pub(crate) source: Arc<Source>,
}

impl SearchLine {
    /// Return the machine and the workload of the search line at the offered load `load`, in the unit of the
    /// search. If the load is a rate, the mean interarrival time is rounded to whole picoseconds.
    ///
    /// # Errors
    /// If the load is impossible, such as zero, or values contradict one another at this load. The ends of
    /// the search never cause an error.
    pub fn at(&self, load: f64) -> Result<(Described, Described), ScenarioError> {
        self.build_at(load)
            .map_err(|problem| self.source.error(problem))
    }

    /// Return the machine and the workload of the search at the offered load `load`, as [`Self::at`] does. Errors
    /// contain no line number.
    pub(crate) fn build_at(&self, load: f64) -> Result<(Described, Described), Problem> {
        let loads = &self.settings.schema().form.tables.loads;
        let LoadValue { key, written } = (loads.write)(load).map_err(|possible| {
            let problem = format!("a load of {load} {} is impossible", loads.unit);
            self.settings.problem("search.over", problem, possible)
        })?;
        let Some(field) = self.settings.schema().field(key).cloned() else {
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
        for key in loads.keys.0 {
            settings.remove(key);
        }
        let node = Node {
            tree: Tree::Text(written),
            origin: settings.origin("search.over"),
        };
        settings.put(&Setting::read(&field, &node, Layer::Search)?)?;
        self.kind.build(&settings)
    }
}
