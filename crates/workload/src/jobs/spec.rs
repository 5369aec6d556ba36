//! Description of jobs, their traffic and their nodes, as plain values.

use crate::Outstanding;
use crate::storage::StorageSpec;
use isthmus_units::{Bandwidth, Bytes, Time};
use strum::{EnumString, VariantNames};

/// Choice of the nodes that are I/O servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Servers {
    /// No I/O servers.
    None,
    /// The nodes with the highest numbers (section 3.4 of the QsNET paper).
    Clustered {
        /// Number of servers.
        count: u32,
    },
    /// Nodes at equal distances: `offset`, `offset + stride` and so on.
    Distributed {
        /// Number of servers.
        count: u32,
        /// Distance from one server to the next; `None`: as far apart as the machine allows.
        stride: Option<u32>,
        /// Number of the first server.
        offset: u32,
    },
    /// These nodes.
    Listed(Vec<u32>),
    /// Separate servers that jobs cannot run on, as the I/O nodes of a hypercube. Their numbers follow
    /// those of the nodes.
    Apart {
        /// Number of servers.
        count: u32,
    },
}

/// Number of requests that an I/O server handles at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Serve {
    /// All requests that have arrived.
    All,
    /// One request, from its first to its last byte. Others wait in the order in which they were made.
    One,
}

/// Whether a node may have several roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Mapping {
    /// Each node belongs to one job at most, and I/O servers to none.
    Dedicated,
    /// Jobs may run on I/O servers and share nodes with one another.
    Shared,
}

/// The nodes of one job. A node is available if it is not an I/O server or the mapping is shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobNodes {
    /// All nodes that are available.
    All,
    /// Part number `part` of the available nodes, split into `of` consecutive equal parts.
    Part {
        /// Number of the part, from 1.
        part: u32,
        /// Number of parts.
        of: u32,
    },
    /// These nodes, in the order of their ranks.
    Listed(Vec<u32>),
}

/// Distribution of a random quantity around its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Spread {
    /// Always the mean.
    Fixed,
    /// Exponential distribution.
    Exponential,
    /// Uniform distribution between zero and twice the mean.
    Uniform,
}

/// Sizes of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The mean.
    pub mean: Bytes,
    /// Distribution of the sizes. Each size is at least one byte.
    pub spread: Spread,
}

impl Sizes {
    /// Return sizes that all equal `bytes`.
    pub fn fixed(bytes: Bytes) -> Self {
        Self {
            mean: bytes,
            spread: Spread::Fixed,
        }
    }
}

/// Choice among several I/O servers for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Destinations {
    /// Each message goes to a random server (section 3.4 of the QsNET paper: random I/O).
    Random,
    /// All messages of a node go to one server; nodes are assigned round-robin (deterministic I/O).
    Interleaved,
    /// All messages of a node go to one server; each server has consecutive nodes (deterministic I/O).
    Blocked,
}

/// Targets of the messages of an I/O job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// The I/O servers.
    Servers(Destinations),
    /// One node, which sends nothing itself (section 4.3 of the QsNET paper).
    HotNode(u32),
}

/// Arrival process of the messages of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// Open loop: arrivals do not depend on completions, and the queue is unbounded.
    Open {
        /// Offered load of each node.
        load: Bandwidth,
        /// Distribution of gaps around the mean that follows from the load.
        gaps: Spread,
    },
    /// Closed loop: a pause follows each completion.
    Closed {
        /// The mean pause.
        think: Time,
        /// Distribution of pauses around it.
        spread: Spread,
    },
}

impl Arrivals {
    /// Return a closed loop with equal pauses.
    pub const fn equal_pauses(think: Time) -> Self {
        Self::Closed {
            think,
            spread: Spread::Fixed,
        }
    }
}

/// Traffic of an I/O job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Io {
    /// Targets of messages.
    pub targets: Targets,
    /// Share of messages that are reads: a small request, then the data from the target.
    pub read_ratio: f64,
    /// Sizes of messages.
    pub sizes: Sizes,
    /// Arrival process of each node.
    pub arrivals: Arrivals,
}

/// Algorithm by which the nodes of a job combine a vector (all-reduce).
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AllReduce {
    /// Reduce-scatter, then all-gather along a ring: 2 (n - 1) steps with an n-th of the vector.
    Ring,
    /// The whole vector between nodes whose ranks differ in one bit: log2 n steps, and one before
    /// and after for ranks beyond the largest power of two.
    RecursiveDoubling,
}

/// Receiver of a listed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedTo {
    /// Another node of the job, by its rank.
    Rank(u32),
    /// An I/O server, by its index.
    Server(u32),
}

/// Messages that one node of a job sends one after another to the same receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// The rank of the sender among the nodes of the job.
    pub from: u32,
    /// Receiver of the messages.
    pub to: ListedTo,
    /// Length of each message.
    pub bytes: Bytes,
    /// Number of messages, 1 or more.
    pub times: u32,
}

/// Traffic of one job.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// Messages to any other node of the job (section 3.5 of the QsNET paper: one blocking message
    /// after another).
    Uniform {
        /// Sizes of messages.
        sizes: Sizes,
        /// Arrival process of each node.
        arrivals: Arrivals,
    },
    /// Messages of each node to the node whose rank is higher by `offset`, modulo the number of nodes.
    Shift {
        /// Difference of the ranks; must not be a multiple of the number of nodes.
        offset: u32,
        /// Sizes of messages.
        sizes: Sizes,
        /// Arrival process of each node.
        arrivals: Arrivals,
    },
    /// Rounds in which each node sends to each other one: first to the next rank, then to the one
    /// after it. Each step ends when the node has sent and received.
    AllToAll {
        /// Data for each other node.
        message: Bytes,
        /// Pause between two rounds.
        pause: Time,
    },
    /// Rounds in which all nodes combine a vector.
    AllReduce {
        /// Length of the vector.
        vector: Bytes,
        /// Algorithm.
        algorithm: AllReduce,
        /// Pause between two rounds.
        pause: Time,
    },
    /// Rounds in which each node of a grid sends to all its neighbours at once. A round ends for a
    /// node when it has sent to and received from all of them.
    Neighbours {
        /// Nodes in each dimension; ranks count the first dimension fastest.
        grid: Vec<u32>,
        /// Whether the last node of a line is a neighbour of the first.
        wrap: bool,
        /// Data for each neighbour.
        message: Bytes,
        /// Pause between two rounds.
        pause: Time,
    },
    /// At every multiple of the period each node starts to write. Writes that are not done by the next
    /// multiple stay in an unbounded queue.
    Checkpoint {
        /// Time from one checkpoint to the next.
        period: Time,
        /// Data that each node writes per checkpoint.
        volume: Bytes,
        /// Length of a message; the last one of a checkpoint may be shorter.
        message: Bytes,
        /// Choice of the I/O server.
        destinations: Destinations,
    },
    /// Rounds in which each node sends the messages that are listed for it, in their order. All nodes
    /// start a round together, when the last of them has finished the previous round.
    Listed {
        /// The messages: all between nodes of the job, or all to I/O servers.
        messages: Vec<Listed>,
        /// Processor time for each message before it is handed over. A processor handles one at a time.
        overhead: Time,
        /// Pause between two rounds.
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
        /// Time from the completion of a message to the next message.
        pause: Time,
    },
}

impl Traffic {
    /// Return whether this traffic uses the storage devices of these servers.
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
    /// Nodes of the job.
    pub nodes: JobNodes,
    /// Traffic of the job.
    pub traffic: Traffic,
    /// Limit on the messages of each node that are under way. A message is under way from its
    /// handover to the network interface until the node knows that it is complete.
    /// For an all-to-all this limits the exchanges within a round; an exchange also includes the
    /// message that the node receives. An all-reduce always has one message under way, since each
    /// step needs the data of the previous one. A closed loop and a ping need a finite limit.
    pub outstanding: Outstanding,
    /// Whether the job runs. An inactive job still occupies its nodes.
    pub active: bool,
}

/// All jobs and the I/O servers.
#[derive(Debug, Clone, PartialEq)]
pub struct JobsTraffic {
    /// The I/O servers.
    pub servers: Servers,
    /// Number of requests that each server handles at a time.
    pub serve: Serve,
    /// Storage device of each server.
    pub storage: StorageSpec,
    /// Whether jobs may run on I/O servers and share nodes.
    pub mapping: Mapping,
    /// The jobs.
    pub jobs: Vec<Job>,
}
