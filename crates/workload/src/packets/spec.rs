//! What the nodes of a packet network ask for: plain values, no behaviour.

use crate::Outstanding;
use isthmus_units::{Bandwidth, Bytes, Time};
use strum::{EnumString, VariantNames};

/// What a packet sets off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transaction {
    /// A request with data, without a response.
    Move,
    /// A request without data; the response carries it.
    Read,
    /// A request with data; the response carries none.
    Write,
}

/// When a node sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Spacing {
    /// Independent exponential gaps.
    Exponential,
    /// Equal gaps, each node with a random phase of its own (see [`PacketTraffic::phases`]).
    Deterministic,
}

/// A favoured node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HotNode {
    /// Its number.
    pub node: u32,
    /// Probability that a packet of another node is drawn to it, 0 to 1.
    pub probability: f64,
}

/// The traffic of all nodes together.
#[derive(Debug, Clone, PartialEq)]
pub struct PacketTraffic {
    /// Offered load: payload of all nodes together. Each sending node offers an equal part.
    pub load: Bandwidth,
    /// Gaps between the packets of one node.
    pub spacing: Spacing,
    /// With equal gaps, the part of a gap over which the phases of the nodes are spread, 0 (all
    /// send in step) to 1.
    pub phases: f64,
    /// What each packet sets off.
    pub transaction: Transaction,
    /// Payload of one transaction.
    pub payload: Bytes,
    /// Nodes that send; empty means all.
    pub senders: Vec<u32>,
    /// A favoured destination; packets that are not drawn to it go to any node but their sender,
    /// all equally likely.
    pub hot_node: Option<HotNode>,
    /// From the arrival of a request to its response, at the target.
    pub turnaround: Time,
    /// Transactions of a node that may be under way. One is under way from its handing to the interface
    /// until the tail of the response has come in. A move has no response, so that its node does not
    /// notice its end.
    pub outstanding: Outstanding,
}
