//! Types of values for loads that a file can state in two forms: as a rate or a gap, or as a bandwidth or a share.

use isthmus_scenario::format::{Frequency, Problem, Share, Span, Throughput, shown};
use isthmus_scenario::value::{Amount, TypeInfo, ValueType, json, quantity};
use isthmus_scenario::{Node, Tree};
use isthmus_units::{Bandwidth, Rate, Time};

/// Load of a sender, as the scenario file states it: a rate or a mean gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RateOrGap {
    Rate(Rate),
    Gap(Time),
}

/// Type of a scenario field: a rate of demands or the mean gap between two demands, above zero.
pub(crate) struct RateLoad;

impl RateLoad {
    /// Valid range of a mean gap between demands.
    const GAP: Span = Span::above_zero("ms");
}

impl ValueType for RateLoad {
    /// Rust type of the parsed value of the field.
    type Held = RateOrGap;

    /// Describe this type of values for error messages and the reference.
    fn describe(&self) -> TypeInfo {
        TypeInfo::new(
            "a rate or a time",
            "\"6.4 /ms\" or \"0.156 ms\"",
            "as workload.rate or workload.interarrival",
            json::any_of(&[Frequency.describe().json, Self::GAP.describe().json]),
        )
        .units("/s, /ms, /us, /ns; or ps, ns, us, ms, s, min, h")
    }

    /// Parse a rate or a mean gap.
    fn read(&self, node: &Node) -> Result<RateOrGap, Problem> {
        match &node.tree {
            Tree::Text(text) if !text.contains('/') => Self::GAP.read(node).map(RateOrGap::Gap),
            Tree::Text(_) => Frequency.read(node).map(RateOrGap::Rate),
            _ => quantity(node, self, "/ms").map(RateOrGap::Rate),
        }
    }
}

/// Return the mean gap that corresponds to a rate, to the nearest picosecond.
pub(crate) fn mean_gap(rate: Rate) -> Time {
    Time::from_ps((1e12 / rate.per_s()).round() as u64)
}

/// Offered load of a node, as the scenario file states it: a bandwidth, or a share of its maximum send rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NodeLoad {
    Bandwidth(Bandwidth),
    /// Share of the maximum send rate of a node.
    Share(f64),
}

/// Type of a scenario field: the offered load of one node, above zero, as a bandwidth or a share of its maximum send
/// rate.
pub(crate) struct LoadOfNode;

impl LoadOfNode {
    /// Valid range of a load as a share of the maximum send rate of a node.
    const SHARE: Share = Share {
        above_zero: true,
        below_one: false,
    };
    /// Valid range of a load as a bandwidth.
    const BANDWIDTH: Throughput = Throughput::offered("MB/s");
}

impl ValueType for LoadOfNode {
    /// Rust type of the parsed value of the field.
    type Held = NodeLoad;

    /// Describe this type of values for error messages and the reference.
    fn describe(&self) -> TypeInfo {
        TypeInfo::new(
            "a bandwidth or a share",
            "\"20 MB/s\" or 0.3",
            "1 bit/s or more; above 0, to 1 of what a node can send",
            json::any_of(&[Self::BANDWIDTH.describe().json, Self::SHARE.describe().json]),
        )
        .units("as a bandwidth; none, or % in text, for a share")
    }

    /// Parse a bandwidth or a share.
    fn read(&self, node: &Node) -> Result<NodeLoad, Problem> {
        match &node.tree {
            Tree::Text(text) if text.trim().parse::<f64>().is_ok() => {
                let text = text.trim();
                let problem = format!("{} has no unit", shown(text));
                let hint = format!(
                    "write {text} without quotation marks for a share, or with a unit: \"{text} MB/s\""
                );
                Err(node.problem(problem, hint))
            }
            Tree::Text(text) if !text.trim_end().ends_with('%') => {
                Self::BANDWIDTH.read(node).map(NodeLoad::Bandwidth)
            }
            Tree::Text(_) | Tree::Integer(_) | Tree::Float(_) => {
                Self::SHARE.read(node).map(NodeLoad::Share)
            }
            _ => Err(node.wrong_type(self)),
        }
    }

    /// Return a value as a number for the axis of a plot or sweep; `None` if it is not one number.
    fn amount(&self, value: &NodeLoad) -> Option<Amount> {
        match value {
            NodeLoad::Bandwidth(bandwidth) => Amount::of(bandwidth),
            NodeLoad::Share(share) => Amount::of(share),
        }
    }
}
