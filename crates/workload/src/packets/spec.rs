//! Description of the traffic of a packet network, as plain values.

use crate::Outstanding;
use isthmus_units::{Bandwidth, Bytes, Time};
use strum::{EnumString, VariantNames};

/// Transaction that a generated packet starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transaction {
    /// A request with data. It has no response.
    Move,
    /// A request without data. The response carries the data.
    Read,
    /// A request with data. The response carries no data.
    Write,
}

/// Distribution of the gaps between packets of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Spacing {
    /// Independent exponential gaps between packets.
    Exponential,
    /// Equal gaps, with a random phase for each node (see [`PacketTraffic::phases`]).
    Deterministic,
}

/// A node that receives more traffic than others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HotNode {
    /// Number of the hot node.
    pub node: u32,
    /// Probability that a packet of another node goes to the hot node, 0 to 1.
    pub probability: f64,
}

/// Description of the packets that all nodes of a network generate: load, gaps, payload, destinations.
#[derive(Debug, Clone, PartialEq)]
pub struct PacketTraffic {
    /// Offered load: payload per unit of time that all nodes generate together. Each sending node offers an equal
    /// share.
    pub load: Bandwidth,
    /// Distribution of the gaps between the packets of one node.
    pub spacing: Spacing,
    /// For equal gaps: fraction of a gap over which the phases of the nodes are spread, from 0 (all
    /// nodes send at the same time) to 1.
    pub phases: f64,
    /// Transaction that each generated packet starts.
    pub transaction: Transaction,
    /// Amount of data that one transaction transfers.
    pub payload: Bytes,
    /// Nodes that send; empty means all.
    pub senders: Vec<u32>,
    /// A node that receives more packets than others. All other packets go to any node except their sender, all equally
    /// likely.
    pub hot_node: Option<HotNode>,
    /// Time at the target from the arrival of a request to its response.
    pub turnaround: Time,
    /// Limit on the outstanding transactions of a node. A transaction is outstanding from its handover
    /// to the interface until the tail of the response arrives. A move is a transaction without a
    /// response, so its node does not notice its end.
    pub outstanding: Outstanding,
}
