//! What jobs ask for, and where they run: plain values, no behaviour.

use crate::Outstanding;
use crate::storage::StorageSpec;
use isthmus_units::{Bandwidth, Bytes, Time};
use strum::{EnumString, VariantNames};

/// Which nodes are I/O servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Servers {
    /// None.
    None,
    /// The nodes with the highest numbers (section 3.4 of the QsNET paper).
    Clustered {
        /// How many.
        count: u32,
    },
    /// Nodes at equal distances: `offset`, `offset + stride` and so on.
    Distributed {
        /// How many.
        count: u32,
        /// From one to the next; `None`: as far apart as the machine allows.
        stride: Option<u32>,
        /// The first.
        offset: u32,
    },
    /// These nodes.
    Listed(Vec<u32>),
    /// No nodes that jobs could run on, as the I/O nodes of a hypercube: they have the numbers after those
    /// of all nodes.
    Apart {
        /// How many.
        count: u32,
    },
}

/// How many requests an I/O server works on at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Serve {
    /// All that have come.
    All,
    /// One, from its first to its last byte; the others wait in the order in which they were made.
    One,
}

/// Whether nodes have one purpose or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Mapping {
    /// Jobs keep off I/O servers and off one another.
    Dedicated,
    /// Jobs may run on I/O servers and share nodes with one another.
    Shared,
}

/// The nodes of one job. Nodes are available if they are no I/O servers or the mapping is shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobNodes {
    /// All nodes that are available.
    All,
    /// Part number `part` of the available nodes cut into `of` equal runs.
    Part {
        /// From 1.
        part: u32,
        /// How many parts there are.
        of: u32,
    },
    /// These nodes, in the order of their ranks.
    Listed(Vec<u32>),
}

/// How a random quantity spreads around its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Spread {
    /// Always the mean.
    Fixed,
    /// Exponential.
    Exponential,
    /// Uniform between nothing and twice the mean.
    Uniform,
}

/// Sizes of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The mean.
    pub mean: Bytes,
    /// How they spread; none is smaller than a byte.
    pub spread: Spread,
}

impl Sizes {
    /// All alike.
    pub fn fixed(bytes: Bytes) -> Self {
        Self {
            mean: bytes,
            spread: Spread::Fixed,
        }
    }
}

/// To which of several I/O servers a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Destinations {
    /// Each to one at random (section 3.4 of the QsNET paper: random I/O).
    Random,
    /// All of a node to one, nodes dealt out to the servers one by one (deterministic I/O).
    Interleaved,
    /// All of a node to one, each server having a run of nodes (deterministic I/O).
    Blocked,
}

/// Where the messages of an I/O job go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// To the I/O servers.
    Servers(Destinations),
    /// All to one node, which sends nothing itself (section 4.3 of the QsNET paper).
    HotNode(u32),
}

/// When a node asks for its next message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// At times of their own, into a queue without bound.
    Open {
        /// Data that each node asks to move.
        load: Bandwidth,
        /// How gaps spread around the mean that the load asks for.
        gaps: Spread,
    },
    /// A pause after one is complete.
    Closed {
        /// The mean pause.
        think: Time,
        /// How pauses spread around it.
        spread: Spread,
    },
}

impl Arrivals {
    /// A closed loop with pauses all alike.
    pub const fn equal_pauses(think: Time) -> Self {
        Self::Closed {
            think,
            spread: Spread::Fixed,
        }
    }
}

/// I/O.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Io {
    /// Where messages go.
    pub targets: Targets,
    /// Share of messages that are reads: a small request, then the data from the target.
    pub read_ratio: f64,
    /// Sizes of messages.
    pub sizes: Sizes,
    /// When a node asks.
    pub arrivals: Arrivals,
}

/// How the nodes of a job combine a vector (all-reduce).
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AllReduce {
    /// Reduce-scatter, then all-gather along a ring: 2 (n - 1) steps with an n-th of the vector.
    Ring,
    /// The whole vector between nodes whose ranks differ in one bit: log2 n steps, and one before
    /// and after for ranks beyond the largest power of two.
    RecursiveDoubling,
}

/// Where a listed message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedTo {
    /// To another node of the job, by its rank.
    Rank(u32),
    /// To an I/O server, by its place among them.
    Server(u32),
}

/// Messages that one node of a job sends one after another to the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// The rank of the sender among the nodes of the job.
    pub from: u32,
    /// Where they go.
    pub to: ListedTo,
    /// Length of each.
    pub bytes: Bytes,
    /// How many there are, 1 or more.
    pub times: u32,
}

/// What the nodes of one job do.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// Messages to any other node of the job (section 3.5 of the QsNET paper: one blocking message
    /// after another).
    Uniform {
        /// Sizes of messages.
        sizes: Sizes,
        /// When a node asks.
        arrivals: Arrivals,
    },
    /// Messages of each node to one other: that whose rank is so much higher, modulo the number of nodes.
    Shift {
        /// From rank to rank; no multiple of the number of nodes.
        offset: u32,
        /// Sizes of messages.
        sizes: Sizes,
        /// When a node asks.
        arrivals: Arrivals,
    },
    /// Rounds in which each node sends to each other one: first to the next rank, then to the one
    /// after it; a node goes on when it has sent and received.
    AllToAll {
        /// Data for each other node.
        message: Bytes,
        /// Between two rounds.
        pause: Time,
    },
    /// Rounds in which all nodes combine a vector.
    AllReduce {
        /// Length of the vector.
        vector: Bytes,
        /// How.
        algorithm: AllReduce,
        /// Between two rounds.
        pause: Time,
    },
    /// Rounds in which each node of a grid sends to its neighbours at once, and goes on when it
    /// has sent to and received from all.
    Neighbours {
        /// Nodes in each dimension; ranks count the first dimension fastest.
        grid: Vec<u32>,
        /// Whether the last node of a line is a neighbour of the first.
        wrap: bool,
        /// Data for each neighbour.
        message: Bytes,
        /// Between two rounds.
        pause: Time,
    },
    /// At every multiple of the period each node begins to write; what is not done by the next one
    /// waits in a queue without bound.
    Checkpoint {
        /// From one checkpoint to the next.
        period: Time,
        /// What each node writes.
        volume: Bytes,
        /// Length of a message; the last one of a checkpoint may be shorter.
        message: Bytes,
        /// To which I/O servers.
        destinations: Destinations,
    },
    /// Rounds in which each node sends the messages that are listed for it, in their order. A round
    /// begins at all nodes at once, when the last of them has sent and received all of the one before.
    Listed {
        /// The messages: all between nodes of the job, or all to I/O servers.
        messages: Vec<Listed>,
        /// Time of its processor that a message takes, one after the other, before it is handed over.
        overhead: Time,
        /// Between two rounds.
        pause: Time,
    },
    /// Reads and writes.
    Io(Io),
    /// The first node of the list sends to the second one, the third to the fourth and so on
    /// (sections 4.1 and 4.2 of the QsNET paper: one blocking message after another).
    Ping {
        /// Length of a message; may be zero.
        message: Bytes,
        /// Whether the second node sends to the first one as well.
        both_ways: bool,
        /// From the completion of one to the next.
        pause: Time,
    },
}

impl Traffic {
    /// Whether it writes to and reads from what stands behind these servers.
    pub fn stores_on(&self, servers: &[u32]) -> bool {
        match self {
            Self::Io(io) => match &io.targets {
                Targets::Servers(_) => true,
                Targets::HotNode(hot) => servers.contains(hot),
            },
            Self::Checkpoint { .. } => true,
            Self::Listed { messages, .. } => {
                (messages.iter()).any(|message| matches!(message.to, ListedTo::Server(_)))
            }
            _ => false,
        }
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name, which also names its random streams.
    pub name: String,
    /// Where it runs.
    pub nodes: JobNodes,
    /// What it does.
    pub traffic: Traffic,
    /// Messages of each of its nodes that may be under way, from being handed to the network
    /// interface until the node knows that they are complete. Of an all-to-all it counts exchanges,
    /// which end when the node has received, too; it holds within a round. An all-reduce has one
    /// message under way whatever this says: each of its steps needs the data of the one before. A
    /// closed loop and a ping need a number.
    pub outstanding: Outstanding,
    /// Whether it runs; one that does not still has its nodes.
    pub active: bool,
}

/// All jobs and the I/O servers.
#[derive(Debug, Clone, PartialEq)]
pub struct JobsTraffic {
    /// The I/O servers.
    pub servers: Servers,
    /// How many requests each of them works on at a time.
    pub serve: Serve,
    /// What stands behind each of them.
    pub storage: StorageSpec,
    /// Whether jobs may run on I/O servers and on the same nodes.
    pub mapping: Mapping,
    /// The jobs.
    pub jobs: Vec<Job>,
}
