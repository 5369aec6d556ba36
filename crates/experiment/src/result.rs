//! The result schema, version 6: the results of a finished point, search and run.
//!
//! Field names end in their unit. Absent numbers are `null`, never NaN.

pub use isthmus_scenario::Change;
use isthmus_scenario::format::Loads;
use isthmus_statistics::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version of this schema; written into every result and journal.
pub const SCHEMA: u32 = 6;

/// A whole run: its settings and its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Version of the schema.
    pub schema: u32,
    /// Version of isthmus.
    pub version: String,
    /// The scenario's name.
    pub name: String,
    /// The scenario's title.
    pub title: String,
    /// The scenario author's description.
    pub description: String,
    /// Overrides that changed the scenario from its author's description.
    pub changes: Vec<Change>,
    /// Digest of the effective scenario.
    pub digest: String,
    /// Master seed.
    pub seed: u64,
    /// Whether this is the shortened form.
    pub quick: bool,
    /// Confidence of every interval, for example 0.95.
    pub confidence: f64,
    /// Meaning and unit of all loads in this result.
    pub load: Load,
    /// The swept fields, in file order.
    pub axes: Vec<Axis>,
    /// Position in `axes` of the load axis, if there is one.
    pub load_axis: Option<usize>,
    /// One entry per distinct machine of the sweep.
    pub machines: Vec<MachineSummary>,
    /// One entry per point, in order of the product of the axes.
    pub points: Vec<PointResult>,
    /// One entry per combination of the other axes, if the scenario asks for a search.
    pub searches: Vec<SearchResult>,
}

/// A swept field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Key of the field in the scenario, for example `machine.lanes.io_link`.
    pub key: String,
    /// A short name for plots, for example `I/O link lanes b`.
    pub label: String,
    /// Unit of the numbers; `None` for counts, ratios and words.
    pub unit: Option<String>,
}

/// The value of one axis at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AxisValue {
    /// Text as written, for example `0.156 ms`.
    pub text: String,
    /// Number in the axis' unit, if it is a number.
    pub number: Option<f64>,
}

/// Meaning and unit of loads on this kind of machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Field that sets the load: `workload.rate`, even if the scenario sets the load by another field.
    pub key: String,
    /// Label of the load for axes: `offered load per PE`.
    pub label: String,
    /// Unit of the load: `/ms`.
    pub unit: String,
}

impl From<Loads> for Load {
    fn from(loads: Loads) -> Self {
        Self {
            key: loads.key.to_owned(),
            label: loads.label.to_owned(),
            unit: loads.unit.to_owned(),
        }
    }
}

/// Figures about a machine, for tables and the picture: its kind, and data that depend on the kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MachineSummary(Box<RawValue>);

impl MachineSummary {
    /// Build the summary of a machine of the kind `kind` as JSON, with floating-point numbers in full.
    pub(crate) fn new(kind: &str, summary: &impl Serialize) -> Self {
        /// JSON form of a summary: its data and the kind of machine.
        #[derive(Serialize)]
        struct Tagged<'s, S> {
            kind: &'s str,
            #[serde(flatten)]
            summary: &'s S,
        }
        let json = serde_json::value::to_raw_value(&Tagged { kind, summary });
        Self(json.expect("a summary is a struct of plain values"))
    }

    /// Return the figures as a JSON object.
    pub fn json(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for MachineSummary {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}

/// A parallel job of the workload at one point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSummary {
    /// Name of the job.
    pub name: String,
    /// Whether the job ran at this point.
    pub active: bool,
    /// Whether the job moves data to or from the I/O servers.
    pub io: bool,
    /// Numbers of the nodes of the job.
    pub nodes: Vec<u32>,
}

/// One point of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// Position of the point in the product of the axes.
    pub index: usize,
    /// Value of each axis.
    pub values: Vec<AxisValue>,
    /// Position of the point's machine in [`RunResult::machines`].
    pub machine: usize,
    /// Offered load, in the unit of [`RunResult::load`]; `None` in a closed loop.
    pub load: Option<f64>,
    /// Verdict on stability, with its evidence.
    pub verdict: VerdictSummary,
    /// Whether every requested measure is known to the requested half-width.
    pub converged: bool,
    /// Reason why the point ended before its stopping rules were met, if it did.
    pub ended_by: Option<EndedBy>,
    /// Number of replications behind each interval.
    pub replications: u32,
    /// Messages delivered in all replications together, warm-up included.
    pub messages: u64,
    /// Simulated time of all replications together.
    pub simulated_ms: f64,
    /// Measured quantities, in a fixed order.
    pub measures: Vec<Measure>,
    /// Distribution of each measure that has one.
    pub histograms: Vec<Histogram>,
    /// Use of channels, devices, interfaces and servers: always one row for the mean of each kind, and one
    /// row for each of them if requested.
    pub channels: Vec<ChannelUse>,
    /// Channel, device, interface or server that limits the machine at this point.
    pub bottleneck: Option<Bottleneck>,
    /// Load of each node; empty for kinds of machine that do not count it.
    pub nodes: Vec<NodeUse>,
    /// Jobs of the workload; empty if it has none.
    pub jobs: Vec<JobSummary>,
    /// Numbers of the I/O servers that the jobs use.
    pub servers: Vec<u32>,
    /// How the machine stopped delivering messages, if it did.
    pub collapse: Option<Collapse>,
    /// Reason why the model gives no values for a point that was not simulated, in one phrase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmodelled: Option<String>,
}

/// How a machine stopped delivering messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Collapse {
    /// Whether messages still move.
    pub kind: Standstill,
    /// Time of the last arrival. If some messages still arrive, the time at which some queues were found to
    /// be blocked forever.
    pub since_us: f64,
    /// Number of messages that wait.
    pub waiting: u64,
    /// Numbers of the nodes whose full queues wait for one another, ascending.
    pub nodes: Vec<u32>,
    /// Number of replications that have collapsed; the other fields describe the first of them.
    pub replications: u32,
}

/// Load of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeUse {
    /// Number of the node.
    pub node: u32,
    /// Offered load of this node alone, in the unit of [`RunResult::load`]; `None` if it depends on the
    /// accepted load.
    pub offered: Option<f64>,
    /// Accepted load of this node, in the unit of [`RunResult::load`].
    pub accepted: f64,
}

/// Source of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The growth of a simulated backlog.
    Simulation,
    /// The analytic model's saturation load; growth and error rate have no meaning then.
    Model,
}

/// Whether a machine has a steady state at a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The machine carries the offered load.
    Stable,
    /// The offered load exceeds the capacity of the machine.
    Saturated,
    /// The runs are too short to tell.
    Undecided,
    /// Messages no longer arrive.
    Collapsed,
    /// All demands come at once, and were served before the run ended.
    Completed,
    /// All demands come at once, and the run ended before they were served.
    Incomplete,
}

impl From<Verdict> for State {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Stable => Self::Stable,
            Verdict::Saturated => Self::Saturated,
            Verdict::Undecided => Self::Undecided,
        }
    }
}

/// Reason why a point ends before its stopping rules are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndedBy {
    /// More demands wait than the verdict needs.
    Backlog,
    /// More demands wait than fit into the memory of the run.
    Memory,
}

/// How messages wait after the last arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standstill {
    /// Messages still move.
    Livelock,
    /// No message moves.
    Deadlock,
}

/// The verdict on saturation at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictSummary {
    /// Source of the verdict.
    pub origin: Origin,
    /// State of the machine at this load.
    pub verdict: State,
    /// Name of the flow that decides the verdict, for example `messages` or `io`.
    pub flow: String,
    /// Growth of the backlog per demand offered.
    pub growth: f64,
    /// Lower end of the confidence interval of `growth`.
    pub growth_low: f64,
    /// Upper end of the confidence interval of `growth`.
    pub growth_high: f64,
    /// Growth above which a network counts as saturated.
    pub threshold: f64,
    /// Stated probability of a wrong verdict.
    pub error_rate: f64,
}

/// One measured quantity.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measure {
    /// Name, for example `pe_pe.header`, `read.network`, `accepted`.
    pub name: String,
    /// Unit, for example `us`, `1/ms` or `GB/s`.
    pub unit: String,
    /// Mean over replications.
    pub mean: Option<f64>,
    /// Lower end of the confidence interval of the mean.
    pub low: Option<f64>,
    /// Upper end of the confidence interval of the mean; `None` if the data give no bound.
    pub high: Option<f64>,
    /// Mean of each replication, in order. Replication i of all points uses the same random numbers.
    pub each: Vec<f64>,
    /// Number of observations after warm-up, all replications together.
    pub samples: u64,
    /// Number of observations that the end of the run cut off, such as unfinished phases. Percentiles count
    /// them as longer than their age at that time; the mean leaves them out.
    pub unended: u64,
    /// Requested percentiles, with intervals from replications.
    pub percentiles: Vec<Percentile>,
    /// The analytic model's value; `None` if it has none, is saturated or is outside its domain.
    pub analytic: Option<f64>,
    /// Relative deviation of the mean from the model: mean / analytic - 1.
    pub residual: Option<f64>,
    /// The analytic model's value if the machine or its load is outside the model's domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    /// Requested half-width of the interval, relative to the mean, if this measure was requested.
    pub target: Option<f64>,
    /// Mean share of each replication cut off as warm-up.
    pub warmup_share: f64,
}

/// A value of the analytic model that is not reliable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outside {
    /// The model's value, in the unit of the measure.
    pub value: f64,
    /// Reason why the value is outside the model's domain, in one phrase that names the limit.
    pub reason: String,
}

/// A percentile of a measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// Percentage of the observations that are at most the value, 0 to 100.
    pub percent: f64,
    /// Value at which the mean distribution of the replications reaches the percentage.
    pub value: f64,
    /// Lower end of the confidence interval of the value.
    pub low: Option<f64>,
    /// Upper end of the confidence interval of the value; `None` if too few observations are above the value.
    pub high: Option<f64>,
    /// Value in each replication, for comparisons of results. Their mean is `value`. Their spread gives the
    /// interval of `value`, except for the width of its bins.
    pub each: Vec<f64>,
    /// Whether every replication has at least ten observations above the percentile. If not, the percentile
    /// depends on the few largest values and is too low.
    pub resolved: bool,
}

/// Distribution of a measure, as a histogram.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Name of the measure.
    pub measure: String,
    /// Unit of `step`.
    pub unit: String,
    /// Length of one cycle. The bounds of the bins are multiples of it.
    pub step: f64,
    /// Bins that contain observations.
    pub bins: Bins,
}

/// Non-empty bins of a distribution in rising order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bins {
    /// Lower bounds of the bins in steps, inclusive.
    pub lower: Vec<u64>,
    /// Upper bounds of the bins in steps, exclusive.
    pub upper: Vec<u64>,
    /// Number of observations in each bin.
    pub count: Vec<u64>,
}

/// The part of a machine that limits it: among the parts that were occupied for about the longest time, the
/// one that carried most. The other parts were occupied by messages that waited for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// Kind, as in [`ChannelUse`].
    pub kind: String,
    /// Number of the PE, node or I/O node where the part is; for a link, of the one where the link begins. On
    /// a fat tree, numbers above those of the nodes are switches.
    pub from: u32,
    /// Number of the node where the part ends, if it connects two nodes.
    pub to: Option<u32>,
    /// Share of the time for which the part was occupied, 0 to 1.
    pub busy: f64,
    /// Mean time for which one message, packet or request occupied the part, in us.
    pub held_us: Option<f64>,
    /// Unit of data that occupied the part: `message`, `packet` or `request`.
    pub holder: String,
    /// Number of the I/O server to which the part belongs, if any.
    pub server: Option<u32>,
    /// Share of the part's bandwidth that the buffer behind it allows, if less than all: packets wait for
    /// buffer space while the link is idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub let_through: Option<f64>,
}

/// Use of a channel, device, interface or server, or the mean use of all of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelUse {
    /// Kind of the part. On a hypercube `pe_inject`, `pe_eject`, `link`, `io_node_in`, `io_node_out`,
    /// `io_inject`, `io_eject`, `io_link`, `io_to_pe`, and `disk` if misses queue for it. On rings `link`
    /// and, as means only, `send` and `echo`. On fat trees `inject`, `up N`, `down N`, `eject`, `interface`
    /// (the DMA engine of a node) and `server` (the busiest part of an I/O server). On graphs the same kinds,
    /// and `switch_link` between switches; on dragonflies `local_link` and `global_link`.
    pub kind: String,
    /// Number of the PE, node or I/O node where the part is; for a link, of the one where the link begins.
    /// `None` for the mean of a kind.
    pub from: Option<u32>,
    /// Number of the node where the part ends, if it connects two nodes.
    pub to: Option<u32>,
    /// Flits or symbols per cycle and lane, or the share of the time for which a transmitter, disk or DMA
    /// engine works, 0 to 1; the mean over replications.
    pub utilisation: f64,
    /// For the mean of a kind: utilisation of the busiest channel of that kind.
    pub highest: Option<f64>,
    /// Share of the time for which the lanes of the part were occupied, whether data moved or not, 0 to 1.
    pub busy: f64,
    /// For the mean of a kind: `busy` of the channel of that kind that was occupied longest.
    pub busiest: Option<f64>,
    /// Mean time for which one message, packet or request occupied one lane of the part, in us.
    pub held_us: Option<f64>,
    /// The analytic model's utilisation of a channel of this kind.
    pub analytic: Option<f64>,
}

impl PointResult {
    /// Return whether the result is complete: more memory would not change it.
    pub fn is_whole(&self) -> bool {
        self.ended_by != Some(EndedBy::Memory)
    }
}

/// The fields of a [`PointResult`] in JSON that say whether more memory would change the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct PointEnd {
    #[serde(deserialize_with = "Option::deserialize")]
    ended_by: Option<EndedBy>,
}

impl PointEnd {
    /// Return whether the result is complete, as [`PointResult::is_whole`].
    pub fn is_whole(&self) -> bool {
        self.ended_by != Some(EndedBy::Memory)
    }
}

/// The saturation load for one combination of the other axes, found by a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// Value of each axis; `None` for the load axis.
    pub values: Vec<Option<AxisValue>>,
    /// Position of the machine in [`RunResult::machines`].
    pub machine: usize,
    /// The highest load that was found stable.
    pub highest_stable: Option<f64>,
    /// The lowest load that was found saturated.
    pub lowest_saturated: Option<f64>,
    /// The lowest and the highest undecided load between those two.
    pub undecided: Option<(f64, f64)>,
    /// Requested width of the bracket between stable and saturated loads, relative to its middle.
    pub resolution: f64,
    /// Whether both ends are known and the bracket has the requested width.
    pub reached: bool,
    /// All loads that the search tried.
    pub trials: Vec<Trial>,
    /// The analytic model's saturation load.
    pub analytic: Option<f64>,
    /// The kind of channel that saturates first in the model.
    pub analytic_bottleneck: Option<String>,
    /// Stated probability that the bracket is wrong.
    pub error_rate: f64,
}

impl SearchResult {
    /// Return whether the result is complete: more memory would not change it.
    pub fn is_whole(&self) -> bool {
        let mut trials = self.trials.iter();
        trials.all(|trial| trial.ended_by != Some(EndedBy::Memory))
    }
}

/// The ends of the trials of a search, as a [`PointEnd`] each.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct SearchEnd {
    trials: Vec<PointEnd>,
}

impl SearchEnd {
    /// Return whether the result is complete, as [`SearchResult::is_whole`].
    pub fn is_whole(&self) -> bool {
        self.trials.iter().all(PointEnd::is_whole)
    }
}

/// Result at one load that a search tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The load, in the unit of [`RunResult::load`].
    pub load: f64,
    /// Verdict on saturation at this load.
    pub verdict: State,
    /// Growth of the backlog per demand offered.
    pub growth: f64,
    /// Number of messages simulated at this load.
    pub messages: u64,
    /// Reason why the trial ended early: see [`PointResult::ended_by`].
    pub ended_by: Option<EndedBy>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the fields that decide whether an entry is complete are read from an entry of another process.
    #[test]
    fn only_the_end_is_parsed() {
        let ends = [("null", true), ("\"backlog\"", true), ("\"memory\"", false)];
        for (end, whole) in ends {
            let trial = format!("{{\"load\":1.5,\"verdict\":\"stable\",\"ended_by\":{end}}}");
            let read: PointEnd = serde_json::from_str(&trial).expect(end);
            assert_eq!(read.is_whole(), whole, "{end}");
            let other = "{\"ended_by\":null}";
            let search = format!("{{\"machine\":0,\"trials\":[{other},{trial},{other}]}}");
            let read: SearchEnd = serde_json::from_str(&search).expect(end);
            assert_eq!(read.is_whole(), whole, "{end}");
        }
        for bad in ["{}", "{\"ended_by\":3}", "[1]", "{\"ended_by\":\"night\"}"] {
            assert!(serde_json::from_str::<PointEnd>(bad).is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<SearchEnd>("{\"ended_by\":null}").is_err());
    }
}
