//! The result schema, version 6: what a finished point, search and run say.
//!
//! Field names end in their unit. Absent numbers are `null`, never NaN.

pub use isthmus_scenario::Change;
use isthmus_scenario::format::Loads;
use isthmus_statistics::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version of this schema; written into every result and journal.
pub const SCHEMA: u32 = 6;

/// A whole run: what was asked and what came out.
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
    /// What the scenario's author says about it.
    pub description: String,
    /// What overrides have changed of what the scenario's author described.
    pub changes: Vec<Change>,
    /// Digest of the effective scenario.
    pub digest: String,
    /// Master seed.
    pub seed: u64,
    /// Whether this is the shortened form.
    pub quick: bool,
    /// Confidence of every interval, for example 0.95.
    pub confidence: f64,
    /// What all loads here are.
    pub load: Load,
    /// The swept fields, in file order.
    pub axes: Vec<Axis>,
    /// The axis that is the load (position in `axes`), if one is.
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
    /// Its key, for example `machine.lanes.io_link`.
    pub key: String,
    /// A short name for plots, for example `I/O link lanes b`.
    pub label: String,
    /// Unit of the numbers; `None` for counts, ratios and words.
    pub unit: Option<String>,
}

/// The value of one axis at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AxisValue {
    /// As written, for example `0.156 ms`.
    pub text: String,
    /// As a number in the axis' unit, where it is one.
    pub number: Option<f64>,
}

/// What loads are on this kind of machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The field that sets it: `workload.rate`, whichever way the scenario puts it.
    pub key: String,
    /// In words, for axes: `offered load per PE`.
    pub label: String,
    /// Its unit: `/ms`.
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

/// A machine in figures, for tables and the picture: its kind, and what that kind says of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MachineSummary(Box<RawValue>);

impl MachineSummary {
    /// Build the summary of a machine of the kind `kind` as JSON, with floating-point numbers in full.
    pub(crate) fn new(kind: &str, summary: &impl Serialize) -> Self {
        #[derive(Serialize)]
        struct Tagged<'s, S> {
            kind: &'s str,
            #[serde(flatten)]
            summary: &'s S,
        }
        let json = serde_json::value::to_raw_value(&Tagged { kind, summary });
        Self(json.expect("a summary is a struct of plain values"))
    }

    /// The JSON object.
    pub fn json(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for MachineSummary {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}

/// A job at one point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSummary {
    /// Its name.
    pub name: String,
    /// Whether it ran.
    pub active: bool,
    /// Whether it moves data to or from the I/O servers.
    pub io: bool,
    /// Its nodes.
    pub nodes: Vec<u32>,
}

/// One point of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// Position in the product of the axes.
    pub index: usize,
    /// Value of each axis.
    pub values: Vec<AxisValue>,
    /// Position in `machines`.
    pub machine: usize,
    /// Offered load, in the unit of `load`; `None` in a closed loop.
    pub load: Option<f64>,
    /// Stable, saturated or undecided, with its grounds.
    pub verdict: VerdictSummary,
    /// Whether every measure asked for is known to the half-width asked for.
    pub converged: bool,
    /// What ended the point before its rules did, if anything did.
    pub ended_by: Option<EndedBy>,
    /// Replications behind each interval.
    pub replications: u32,
    /// Messages delivered in all replications together, warm-up included.
    pub messages: u64,
    /// Simulated time of all replications together.
    pub simulated_ms: f64,
    /// What was measured, in a fixed order.
    pub measures: Vec<Measure>,
    /// Distribution of each measure that has one.
    pub histograms: Vec<Histogram>,
    /// How busy channels, devices, interfaces and servers were: a mean per kind always, each of
    /// them where asked for.
    pub channels: Vec<ChannelUse>,
    /// Which of them limits the machine at this point.
    pub bottleneck: Option<Bottleneck>,
    /// What each node sent; empty for kinds of machine that do not count it.
    pub nodes: Vec<NodeUse>,
    /// The jobs, where there are any.
    pub jobs: Vec<JobSummary>,
    /// The I/O servers of the jobs.
    pub servers: Vec<u32>,
    /// Why no message arrives any more, if it came to that.
    pub collapse: Option<Collapse>,
    /// Why the model says nothing of a point that was not simulated, in one phrase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmodelled: Option<String>,
}

/// How a machine came to deliver nothing any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Collapse {
    /// Whether messages still move.
    pub kind: Standstill,
    /// When the last message arrived; where others still arrive, when it was found that some queues
    /// can never move again.
    pub since_us: f64,
    /// Messages that wait.
    pub waiting: u64,
    /// Nodes whose full queues wait for one another, ascending.
    pub nodes: Vec<u32>,
    /// Replications that have collapsed; the other fields are those of the first.
    pub replications: u32,
}

/// What one node sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeUse {
    /// Its number.
    pub node: u32,
    /// Offered load of this node alone, in the unit of `load`; `None` where it depends on what is
    /// accepted.
    pub offered: Option<f64>,
    /// What of it arrived, in the unit of `load`.
    pub accepted: f64,
}

/// What a verdict comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The growth of a simulated backlog.
    Simulation,
    /// The analytic model's saturation load; growth and error rate mean nothing then.
    Model,
}

/// Whether a machine has a steady state at a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// What is asked for is carried.
    Stable,
    /// More is asked for than can be carried.
    Saturated,
    /// The runs are too short to tell.
    Undecided,
    /// No message arrives any more.
    Collapsed,
    /// All that is asked for comes at once, and was served before the run ended.
    Completed,
    /// All that is asked for comes at once, and the run ended before it was served.
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

/// What ends a point before its rules do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndedBy {
    /// More demands wait than a verdict needs.
    Backlog,
    /// More demands wait than the memory of the run has room for.
    Memory,
}

/// How messages wait where none arrives any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standstill {
    /// They still move.
    Livelock,
    /// None does.
    Deadlock,
}

/// The verdict on saturation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictSummary {
    /// What it comes from.
    pub origin: Origin,
    /// What it says.
    pub verdict: State,
    /// The flow that decides, for example `messages` or `io`.
    pub flow: String,
    /// Growth of the backlog per demand offered.
    pub growth: f64,
    /// Lower end of its interval.
    pub growth_low: f64,
    /// Upper end of its interval.
    pub growth_high: f64,
    /// Growth above which a network counts as saturated.
    pub threshold: f64,
    /// Stated probability of a wrong verdict.
    pub error_rate: f64,
}

/// One measured quantity.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measure {
    /// For example `pe_pe.header`, `read.network`, `accepted`.
    pub name: String,
    /// For example `us`, `1/ms` or `GB/s`.
    pub unit: String,
    /// Mean over replications.
    pub mean: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval; `None` where too little is known to tell.
    pub high: Option<f64>,
    /// The mean of each replication, in order; replication i of all points has drawn the same random
    /// numbers.
    pub each: Vec<f64>,
    /// Observations after warm-up, all replications together.
    pub samples: u64,
    /// Observations that the end of the run cut off, such as phases that had not ended. Percentiles count
    /// them as longer than they had lasted; the mean leaves them out.
    pub unended: u64,
    /// Percentiles asked for, with intervals from replications.
    pub percentiles: Vec<Percentile>,
    /// The analytic model's value; `None` where it has none, is saturated or is outside its domain.
    pub analytic: Option<f64>,
    /// mean / analytic - 1.
    pub residual: Option<f64>,
    /// The analytic model's value where the machine or its load is outside the model's domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    /// Relative half-width asked for, if this measure was asked for.
    pub target: Option<f64>,
    /// Mean share of each replication cut off as warm-up.
    pub warmup_share: f64,
}

/// A model's value that is not to be relied on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outside {
    /// What the model says, in the unit of the measure.
    pub value: f64,
    /// Why that is outside its domain, in one phrase that names the limit.
    pub reason: String,
}

/// One percentile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// 0 to 100.
    pub percent: f64,
    /// Where the mean distribution of the replications reaches it.
    pub value: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval; `None` where too little was seen above to tell.
    pub high: Option<f64>,
    /// What each replication says of it, as far as results are to be compared with one another: their
    /// mean is the value, and they spread like its interval without the width of its bins.
    pub each: Vec<f64>,
    /// Whether every replication has ten observations or more above it; if not, it rests on the
    /// largest few values and is too low.
    pub resolved: bool,
}

/// A distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Name of the measure.
    pub measure: String,
    /// Unit of the step.
    pub unit: String,
    /// What bounds are multiples of: a cycle.
    pub step: f64,
    /// Where observations are.
    pub bins: Bins,
}

/// Bins of a distribution in rising order, those that are empty left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bins {
    /// Lower bounds of the bins, in steps; observations are not below them.
    pub lower: Vec<u64>,
    /// Upper bounds, in steps; observations are below them.
    pub upper: Vec<u64>,
    /// Observations in each.
    pub count: Vec<u64>,
}

/// The part of a machine that fills first: of those that were taken for about as long as any, the
/// one that carried most. The others were held by what waited for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// As in [`ChannelUse`].
    pub kind: String,
    /// Where it begins, or is: a PE, node or I/O node; above the nodes of a fat tree a switch.
    pub from: u32,
    /// Where it ends, if it leads anywhere.
    pub to: Option<u32>,
    /// Share of the time for which it was taken, 0 to 1.
    pub busy: f64,
    /// For how long one holder took it on average.
    pub held_us: Option<f64>,
    /// What takes it: `message`, `packet` or `request`.
    pub holder: String,
    /// The I/O server of jobs that it is part of, if it is.
    pub server: Option<u32>,
    /// Share of its bandwidth that the buffer behind it lets through, where that is not all of it: packets wait for
    /// space there while the link rests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub let_through: Option<f64>,
}

/// How busy a channel, device, interface or server, or the mean one of a kind, was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelUse {
    /// On a hypercube `pe_inject`, `pe_eject`, `link`, `io_node_in`, `io_node_out`, `io_inject`,
    /// `io_eject`, `io_link`, `io_to_pe`, and `disk` where misses queue for it; on rings `link`
    /// and, as means only, `send` and `echo`; on fat trees `inject`, `up N`, `down N`, `eject`,
    /// `interface` (the DMA engine of a node) and `server` (the busiest part of an I/O server); on
    /// graphs these, and between switches `switch_link`, of dragonflies `local_link` and `global_link`.
    pub kind: String,
    /// Where it begins, or is (PE, node or I/O node number); `None` for the mean of a kind.
    pub from: Option<u32>,
    /// Where it ends, if it leads anywhere.
    pub to: Option<u32>,
    /// Flits or symbols per cycle and lane, or the share of the time of a transmitter, disk or DMA
    /// engine, 0 to 1; the mean over replications.
    pub utilisation: f64,
    /// For the mean of a kind: the utilisation of its busiest channel.
    pub highest: Option<f64>,
    /// Share of the time for which its lanes were taken, whether anything moved or not, 0 to 1.
    pub busy: f64,
    /// For the mean of a kind: that of the channel that was taken for longest.
    pub busiest: Option<f64>,
    /// For how long one message, packet or request took a lane of it on average.
    pub held_us: Option<f64>,
    /// The analytic model's utilisation of a channel of this kind.
    pub analytic: Option<f64>,
}

impl PointResult {
    /// Whether more memory would not have it otherwise.
    pub fn is_whole(&self) -> bool {
        self.ended_by != Some(EndedBy::Memory)
    }
}

/// How a point ended: of a [`PointResult`] in JSON what says whether more memory would have it otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct PointEnd {
    #[serde(deserialize_with = "Option::deserialize")]
    ended_by: Option<EndedBy>,
}

impl PointEnd {
    /// As [`PointResult::is_whole`].
    pub fn is_whole(&self) -> bool {
        self.ended_by != Some(EndedBy::Memory)
    }
}

/// The knee for one combination of the other axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// Value of each axis but the load axis, which is `None`.
    pub values: Vec<Option<AxisValue>>,
    /// Position in `machines`.
    pub machine: usize,
    /// The highest load found stable.
    pub highest_stable: Option<f64>,
    /// The lowest load found saturated.
    pub lowest_saturated: Option<f64>,
    /// The lowest and the highest load in between that stayed undecided.
    pub undecided: Option<(f64, f64)>,
    /// The width asked for, relative to the middle of the bracket.
    pub resolution: f64,
    /// Whether both ends are known and no further apart than that.
    pub reached: bool,
    /// Every load tried: load, verdict, growth.
    pub trials: Vec<Trial>,
    /// The analytic model's saturation load.
    pub analytic: Option<f64>,
    /// The kind of channel that saturates first in the model.
    pub analytic_bottleneck: Option<String>,
    /// Stated probability that the bracket is wrong.
    pub error_rate: f64,
}

impl SearchResult {
    /// Whether more memory would not have it otherwise.
    pub fn is_whole(&self) -> bool {
        let mut trials = self.trials.iter();
        trials.all(|trial| trial.ended_by != Some(EndedBy::Memory))
    }
}

/// How the trials of a search ended, as [`PointEnd`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct SearchEnd {
    trials: Vec<PointEnd>,
}

impl SearchEnd {
    /// As [`SearchResult::is_whole`].
    pub fn is_whole(&self) -> bool {
        self.trials.iter().all(PointEnd::is_whole)
    }
}

/// One load tried by a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The load, in the search's unit.
    pub load: f64,
    /// Its verdict.
    pub verdict: State,
    /// Growth of the backlog per demand offered.
    pub growth: f64,
    /// Messages simulated for it.
    pub messages: u64,
    /// What ended it early: see [`PointResult::ended_by`].
    pub ended_by: Option<EndedBy>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of an entry that another process made is what decides whether it lasts.
    #[test]
    fn how_something_ended_is_read_without_the_rest() {
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
