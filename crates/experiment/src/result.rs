//! Schema of the results of a run and of its points and searches, version 6. The JSON of a result has these
//! fields.
//!
//! Field names end in their unit. Absent numbers are `null`, never NaN.

pub use isthmus_scenario::Change;
use isthmus_scenario::format::Loads;
use isthmus_statistics::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version of the result schema, which every result and journal contains.
pub const SCHEMA: u32 = 6;

/// Result of a whole run, with the settings of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Version of the schema of this result.
    pub schema: u32,
    /// Version of isthmus that computed the result.
    pub version: String,
    /// The scenario's name.
    pub name: String,
    /// The scenario's title.
    pub title: String,
    /// Description of the scenario, as its author wrote it in the file.
    pub description: String,
    /// Scenario fields that the user has overridden, so that `title` and `description` may no longer be
    /// right.
    pub changes: Vec<Change>,
    /// SHA-256 of the scenario with its overrides, in hexadecimal.
    pub digest: String,
    /// Master seed of the random numbers.
    pub seed: u64,
    /// Whether the run was shortened by the option `--quick`.
    pub quick: bool,
    /// Confidence level of every interval, for example 0.95.
    pub confidence: f64,
    /// Meaning and unit of all offered loads in this result.
    pub load: Load,
    /// The scenario fields that are swept, in the order of the file.
    pub axes: Vec<Axis>,
    /// Position in `axes` of the load axis, if there is one.
    pub load_axis: Option<usize>,
    /// Data about each different machine of the sweep.
    pub machines: Vec<MachineSummary>,
    /// Result of each point, in the order of all combinations of the values of the axes.
    pub points: Vec<PointResult>,
    /// Result of each search: one for each combination of the axes that do not set the load, if the scenario
    /// has a search.
    pub searches: Vec<SearchResult>,
}

/// An axis of the sweep: a field of the scenario that has several values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Key of the field in the scenario, for example `machine.lanes.io_link`.
    pub key: String,
    /// A short name for plots, for example `I/O link lanes b`.
    pub label: String,
    /// Unit of the numbers on the axis; `None` for counts, ratios and words.
    pub unit: Option<String>,
}

/// The value of one axis at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AxisValue {
    /// The value as written in the scenario, for example `0.156 ms`.
    pub text: String,
    /// The value as a number in the unit of the axis; `None` if it is not a number.
    pub number: Option<f64>,
}

/// Meaning and unit of the offered load on one kind of machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Key of the field that sets the offered load: `workload.rate`, even if the scenario sets the load by
    /// another field.
    pub key: String,
    /// Label of the offered load on axes, for example `offered load per PE`.
    pub label: String,
    /// Unit of the offered load, for example `/ms`.
    pub unit: String,
}

impl From<Loads> for Load {
    /// Copy the key, label and unit of the load, which are static text, to owned text.
    fn from(loads: Loads) -> Self {
        Self {
            key: loads.key.to_owned(),
            label: loads.label.to_owned(),
            unit: loads.unit.to_owned(),
        }
    }
}

/// Data about a machine as JSON, which reports show in tables and in the picture of the network: its kind,
/// and fields that depend on the kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MachineSummary(Box<RawValue>);

impl MachineSummary {
    /// Build the summary of a machine of the kind `kind` as JSON, with floating-point numbers in full.
    pub(crate) fn new(kind: &str, summary: &impl Serialize) -> Self {
        /// JSON form of the data about a machine: its kind and the fields of its summary.
        #[derive(Serialize)]
        struct Tagged<'s, S> {
            kind: &'s str,
            #[serde(flatten)]
            summary: &'s S,
        }
        let json = serde_json::value::to_raw_value(&Tagged { kind, summary });
        Self(json.expect("a summary is a struct of plain values"))
    }

    /// Return the data about the machine as a JSON object.
    pub fn json(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for MachineSummary {
    /// Return whether the JSON texts of both are equal.
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
    /// Numbers of the nodes on which the job runs.
    pub nodes: Vec<u32>,
}

/// Result of one point of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// Position of the point among all combinations of axis values.
    pub index: usize,
    /// Value of each axis of the sweep at this point.
    pub values: Vec<AxisValue>,
    /// Position of the point's machine in [`RunResult::machines`].
    pub machine: usize,
    /// Offered load, in the unit of [`RunResult::load`]; `None` in a closed loop.
    pub load: Option<f64>,
    /// Verdict on saturation, with its evidence.
    pub verdict: VerdictSummary,
    /// Whether the confidence interval of every requested measure has the requested width.
    pub converged: bool,
    /// Reason why the point ended before its stopping rules were met, if it did.
    pub ended_by: Option<EndedBy>,
    /// Number of replications from which each confidence interval is computed.
    pub replications: u32,
    /// Messages delivered in all replications together, warm-up included.
    pub messages: u64,
    /// Simulated time of all replications together, in ms.
    pub simulated_ms: f64,
    /// Measured quantities, such as latencies and rates, in a fixed order.
    pub measures: Vec<Measure>,
    /// Distribution of each measure that has one.
    pub histograms: Vec<Histogram>,
    /// Use of channels, devices, interfaces and servers: one row for the mean of each kind, and, if the
    /// scenario requests it, one row for each channel and device.
    pub channels: Vec<ChannelUse>,
    /// Channel, device, interface or server that limits the machine at this point; `None` if it is unknown.
    pub bottleneck: Option<Bottleneck>,
    /// Load of each node; empty for kinds of machine that do not count it.
    pub nodes: Vec<NodeUse>,
    /// Jobs of the workload; empty if it has none.
    pub jobs: Vec<JobSummary>,
    /// Numbers of the I/O servers that the jobs use.
    pub servers: Vec<u32>,
    /// Description of the collapse, if the machine stopped delivering messages.
    pub collapse: Option<Collapse>,
    /// Reason, in one phrase, why the analytic model gives no values for this point, if it was not simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmodelled: Option<String>,
}

/// Collapse of a machine: it stopped delivering messages at this time, and these messages wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Collapse {
    /// Whether messages still move in the collapsed machine.
    pub kind: Standstill,
    /// Time of the last arrival of a message, in us. If some messages still arrive, the time at which some
    /// queues were found to be blocked forever.
    pub since_us: f64,
    /// Number of messages that wait in the network after the collapse.
    pub waiting: u64,
    /// Numbers of the nodes whose full queues wait for one another, ascending.
    pub nodes: Vec<u32>,
    /// Number of replications in which the machine collapsed; the other fields describe the first of them.
    pub replications: u32,
}

/// Offered and accepted load of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeUse {
    /// Number of the node.
    pub node: u32,
    /// Offered load of this node alone, in the unit of [`RunResult::load`]; `None` if it depends on the accepted load,
    /// as in a closed loop.
    pub offered: Option<f64>,
    /// Accepted load of this node, in the unit of [`RunResult::load`].
    pub accepted: f64,
}

/// Source of a verdict on saturation: a simulation or the analytic model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The verdict follows from the growth of the backlog in simulations.
    Simulation,
    /// The verdict follows from the saturation load of the analytic model. Growth and error rate have no
    /// meaning.
    Model,
}

/// Verdict on a machine at a load: whether it has a steady state, or has served a limited number of demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The machine carries the offered load.
    Stable,
    /// The offered load exceeds the capacity of the machine.
    Saturated,
    /// The runs are too short for a decision between stable and saturated.
    Undecided,
    /// The machine has collapsed: messages no longer arrive.
    Collapsed,
    /// All demands arrive at once, without a steady state, and were served before the run ended.
    Completed,
    /// All demands arrive at once, without a steady state, and the run ended before they were served.
    Incomplete,
}

impl From<Verdict> for State {
    /// Convert the verdict of a statistical test to the state that results show.
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Stable => Self::Stable,
            Verdict::Saturated => Self::Saturated,
            Verdict::Undecided => Self::Undecided,
        }
    }
}

/// Reason why the simulation of a point ended before its stopping rules were met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndedBy {
    /// So many demands wait that a longer run cannot change the verdict.
    Backlog,
    /// More demands wait than fit into the memory that the run may use.
    Memory,
}

/// How a machine has collapsed: whether messages still move after the last arrival of a message at its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standstill {
    /// Messages still move, but none arrives.
    Livelock,
    /// No message moves any more.
    Deadlock,
}

/// The verdict on saturation at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictSummary {
    /// Source of the verdict.
    pub origin: Origin,
    /// State of the machine at the load of the point: stable, saturated or another.
    pub verdict: State,
    /// Name of the flow of demands that decides the verdict, for example `messages` or `io`.
    pub flow: String,
    /// Growth of the backlog (incomplete demands) per offered demand (request to transfer data).
    pub growth: f64,
    /// Lower end of the confidence interval of `growth`.
    pub growth_low: f64,
    /// Upper end of the confidence interval of `growth`.
    pub growth_high: f64,
    /// Growth of the backlog per offered demand above which the machine counts as saturated.
    pub threshold: f64,
    /// Accepted probability that the verdict is wrong.
    pub error_rate: f64,
}

/// Result of one measured quantity, such as a latency or a rate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measure {
    /// Name of the quantity, for example `pe_pe.header`, `read.network`, `accepted`.
    pub name: String,
    /// Unit of the quantity, for example `us`, `1/ms` or `GB/s`.
    pub unit: String,
    /// Mean of the quantity over all replications; `None` if the quantity has no value.
    pub mean: Option<f64>,
    /// Lower end of the confidence interval of the mean; `None` if the data give no bound.
    pub low: Option<f64>,
    /// Upper end of the confidence interval of the mean; `None` if the data give no bound.
    pub high: Option<f64>,
    /// Mean of the quantity in each replication, in order. Replication i of all points uses the same random
    /// numbers.
    pub each: Vec<f64>,
    /// Number of observations after the warm-up, over all replications.
    pub samples: u64,
    /// Number of observations that the end of the run cut off, such as unfinished phases. Percentiles include
    /// them as observations longer than their age at that time; the mean leaves them out.
    pub unended: u64,
    /// Requested percentiles, with confidence intervals from the replications.
    pub percentiles: Vec<Percentile>,
    /// The mean that the analytic model predicts; `None` if the model has no value, is saturated or is not
    /// valid here.
    pub analytic: Option<f64>,
    /// Relative deviation of the mean from the analytic model: mean / analytic - 1; `None` if the model has no value.
    pub residual: Option<f64>,
    /// The analytic model's value if the machine or its load is outside the model's domain; otherwise `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    /// Requested half-width of the confidence interval, relative to the mean; `None` if the stopping rule does not name
    /// this quantity.
    pub target: Option<f64>,
    /// Share of a replication that is discarded as warm-up, 0 to 1, as a mean over the replications.
    pub warmup_share: f64,
}

/// A prediction of the analytic model that is unreliable, because the machine or its load is outside the
/// model's domain.
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
    /// Lower end of the confidence interval of the value; `None` if the data give no bound.
    pub low: Option<f64>,
    /// Upper end of the confidence interval of the value; `None` if too few observations are above the value.
    pub high: Option<f64>,
    /// Percentile in each replication, for comparisons of results. The mean of these is `value`.
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
    /// Unit of `step` and of the bounds of the bins.
    pub unit: String,
    /// Length of one cycle, in `unit`. The bounds of the bins are multiples of it.
    pub step: f64,
    /// Bins that contain observations.
    pub bins: Bins,
}

/// Non-empty bins of a histogram in rising order. The three lists have one entry for each bin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bins {
    /// Lower bounds of the bins as multiples of [`Histogram::step`], inclusive.
    pub lower: Vec<u64>,
    /// Upper bounds of the bins as multiples of [`Histogram::step`], exclusive.
    pub upper: Vec<u64>,
    /// Number of observations in each bin.
    pub count: Vec<u64>,
}

/// The part of a machine that limits it: among the parts that were occupied for about the longest time, the
/// one that carried most. The other parts were occupied by messages that waited for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// Kind of the part, as in [`ChannelUse::kind`].
    pub kind: String,
    /// Number of the PE, node or I/O node where the part is; for a link, of the PE or node where the link
    /// begins. On a fat tree, numbers above those of the nodes are switches.
    pub from: u32,
    /// Number of the node where the part ends, if it is a link between two nodes; otherwise `None`.
    pub to: Option<u32>,
    /// Share of the time for which the part was occupied, 0 to 1.
    pub busy: f64,
    /// Mean time for which one message, packet or request occupied the part, in us.
    pub held_us: Option<f64>,
    /// Name of the unit of data that occupied the part: `message`, `packet` or `request`.
    pub holder: String,
    /// Number of the I/O server to which the part belongs, if any.
    pub server: Option<u32>,
    /// Share of the part's bandwidth that the buffer at its end permits, 0 to 1; `None` if it permits all.
    /// Packets wait for space in this buffer while the link is idle.
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
    /// Number of the PE, node or I/O node where the part is; for a link, of the PE or node where the link
    /// begins. `None` for the mean of a kind.
    pub from: Option<u32>,
    /// Number of the node where the part ends, if it is a link between two nodes; otherwise `None`.
    pub to: Option<u32>,
    /// Utilisation: flits or symbols per cycle and lane, or the share of the time for which a transmitter,
    /// disk or DMA engine works, 0 to 1; the mean over replications.
    pub utilisation: f64,
    /// Utilisation of the busiest channel of a kind, if this is the mean of the kind; otherwise `None`.
    pub highest: Option<f64>,
    /// Share of the time for which the lanes of the part were occupied, whether data moved or not, 0 to 1.
    pub busy: f64,
    /// The largest `busy` of a channel of the kind; `None` if this is not the mean of a kind.
    pub busiest: Option<f64>,
    /// Mean time for which one message, packet or request occupied one lane of the part, in us.
    pub held_us: Option<f64>,
    /// Utilisation of a channel of this kind by the analytic model, 0 to 1; `None` if the model has no value.
    pub analytic: Option<f64>,
}

impl PointResult {
    /// Return whether the result is complete: a run with more memory would not change it.
    pub fn is_whole(&self) -> bool {
        self.ended_by != Some(EndedBy::Memory)
    }
}

/// The saturation load for one combination of the other axes, found by a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// Value of each axis of the sweep; `None` for the load axis.
    pub values: Vec<Option<AxisValue>>,
    /// Position of the machine in [`RunResult::machines`].
    pub machine: usize,
    /// The highest load at which the machine was found stable; `None` if no such load was found.
    pub highest_stable: Option<f64>,
    /// The lowest load at which the machine was found saturated; `None` if no such load was found.
    pub lowest_saturated: Option<f64>,
    /// The lowest and the highest load at which the verdict is undecided, between `highest_stable` and
    /// `lowest_saturated`; `None` if there is no such load.
    pub undecided: Option<(f64, f64)>,
    /// Requested width of the bracket between stable and saturated loads, relative to its middle.
    pub resolution: f64,
    /// Whether a stable and a saturated load were found and their distance is at most the requested width.
    pub reached: bool,
    /// Results at all loads that the search tried.
    pub trials: Vec<Trial>,
    /// Saturation load by the analytic model; `None` if the model has no value.
    pub analytic: Option<f64>,
    /// The kind of channel that saturates first in the analytic model; `None` if the model has no value.
    pub analytic_bottleneck: Option<String>,
    /// Accepted probability that the saturation load is not between `highest_stable` and `lowest_saturated`.
    pub error_rate: f64,
}

impl SearchResult {
    /// Return whether the result is complete: a run with more memory would not change it.
    pub fn is_whole(&self) -> bool {
        let mut trials = self.trials.iter();
        trials.all(|trial| trial.ended_by != Some(EndedBy::Memory))
    }
}

/// Trial of a search: the result at one load that the search tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The load, in the unit of [`RunResult::load`].
    pub load: f64,
    /// Verdict on saturation at this load.
    pub verdict: State,
    /// Growth of the backlog (incomplete demands) per offered demand (request to transfer data).
    pub growth: f64,
    /// Number of messages simulated at this load.
    pub messages: u64,
    /// Reason why the trial ended early: see [`PointResult::ended_by`].
    pub ended_by: Option<EndedBy>,
}
