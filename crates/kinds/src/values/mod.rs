//! Types of values in the scenario tables of machines and workloads.

// Type of scenario fields whose value is a set of nodes on which a job runs.
mod job_nodes;
// Types of scenario fields whose value is an offered load: a bandwidth, a rate, a gap in time or a share.
mod loads;
// Type of scenario fields whose value is a list of messages.
mod messages;
// Types of scenario fields that describe the size of a network: nodes per dimension, rings, levels of trees.
mod sizes;

use isthmus_scenario::format::{Problem, Whole, closest, shown};
use isthmus_scenario::value::{Amount, TypeInfo, ValueType, json};
use isthmus_scenario::{Node, Tree};
use isthmus_workload::Outstanding;
use serde_json::json;

pub(crate) use job_nodes::JobNodeSet;
pub(crate) use loads::{LoadOfNode, NodeLoad, RateLoad, RateOrGap, mean_gap};
pub(crate) use messages::Messages;
pub(crate) use sizes::{Grid, Levels, Rings, Size};

/// Maximum number of nodes of a machine with jobs.
pub(crate) const NODES_MAX: u32 = 1 << 20;

/// Maximum value of a limit on the messages of one sender in flight.
pub(crate) const OUTSTANDING_MAX: u64 = 65_536;

/// Word in a file for no limit on messages in flight.
const UNLIMITED: &str = "unlimited";

/// Maximum number of lanes of one link: more than in any machine, and small enough that no count overflows.
const LANES_MAX: u64 = 65_535;

/// Type of a scenario field: the number of lanes of a link.
pub(crate) struct Lanes {
    /// Minimum number of lanes.
    pub(crate) min: u64,
}

impl Lanes {
    /// Return the type for whole numbers from `min` to the maximum number of lanes.
    fn whole(&self) -> Whole<u32> {
        Whole::new(self.min, LANES_MAX).called("a whole number of lanes")
    }
}

impl ValueType for Lanes {
    /// Rust type of the parsed value of the field.
    type Held = u32;

    /// Describe this type of values for error messages and the reference.
    fn describe(&self) -> TypeInfo {
        self.whole().describe()
    }

    /// Parse a number of lanes.
    fn read(&self, node: &Node) -> Result<u32, Problem> {
        match node.tree {
            Tree::Integer(0) if self.min > 0 => {
                Err(node.problem("0 lanes carry nothing", "give 1 or more"))
            }
            _ => self.whole().read(node),
        }
    }
}

/// Type of a scenario field: a limit on messages in flight, as a whole number or `"unlimited"`.
pub(crate) struct MostOutstanding;

impl MostOutstanding {
    /// Valid range of a limit on messages in flight.
    const NUMBER: Whole<u32> = Whole::new(1, OUTSTANDING_MAX);
}

impl ValueType for MostOutstanding {
    /// Rust type of the parsed value of the field.
    type Held = Outstanding;

    /// Describe this type of values for error messages and the reference.
    fn describe(&self) -> TypeInfo {
        TypeInfo::new(
            "a whole number or \"unlimited\"",
            "16 or \"unlimited\"",
            format!("1 to {OUTSTANDING_MAX}, or \"unlimited\""),
            json::any_of(&[Self::NUMBER.describe().json, json!({"enum": [UNLIMITED]})]),
        )
    }

    /// Parse a limit on messages in flight.
    fn read(&self, node: &Node) -> Result<Outstanding, Problem> {
        match &node.tree {
            Tree::Integer(_) => Self::NUMBER.read(node).map(Outstanding::AtMost),
            Tree::Text(text) if text == UNLIMITED => Ok(Outstanding::Unlimited),
            Tree::Text(text) if closest(text, [UNLIMITED]).is_some() => Err(node.problem(
                format!("{} is not known here", shown(text)),
                format!("did you mean \"{UNLIMITED}\"? Else write a whole number"),
            )),
            _ => match node.unquoted_number() {
                Some(hint) => Err(node.unexpected(self.describe().expected, hint)),
                None => Err(node.wrong_type(self)),
            },
        }
    }

    /// Return the limit as a number for the axis of a plot or sweep; `None` if it is unlimited.
    fn amount(&self, value: &Outstanding) -> Option<Amount> {
        match value {
            Outstanding::AtMost(most) => Amount::of(most),
            Outstanding::Unlimited => None,
        }
    }
}
