//! Description of jobs, their traffic and their nodes, as plain values.

use crate::Outstanding;
use crate::storage::StorageSpec;
use isthmus_units::{Bandwidth, Bytes, Time};
use strum::{EnumString, VariantNames};

/// Choice of the nodes that are I/O servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Servers {
    /// No node is an I/O server.
    None,
    /// The servers are the nodes with the highest numbers (section 3.4 of the QsNET paper).
    Clustered {
        /// Number of I/O servers.
        count: u32,
    },
    /// The servers are nodes at equal distances: `offset`, `offset + stride` and so on.
    Distributed {
        /// Number of I/O servers.
        count: u32,
        /// Distance from one server to the next. `None` selects the largest distance that the machine allows.
        stride: Option<u32>,
        /// Number of the node that is the first server.
        offset: u32,
    },
    /// The servers are the listed nodes.
    Listed(Vec<u32>),
    /// The servers are separate from the nodes and cannot run jobs, like the I/O nodes of a hypercube. Their numbers
    /// follow those of the nodes.
    Apart {
        /// Number of I/O servers.
        count: u32,
    },
}

/// Number of requests that an I/O server handles at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Serve {
    /// The server handles all requests that have arrived.
    All,
    /// The server handles one request, from its first to its last byte. Other requests wait in the order in which they
    /// were made.
    One,
}

/// Rule whether a node may run several jobs, or a job and an I/O server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Mapping {
    /// Each node belongs to one job at most, and I/O servers to none.
    Dedicated,
    /// Jobs may run on I/O servers and share nodes with one another.
    Shared,
}

/// Rule that chooses the nodes of one job among the available nodes. A node is available if it is not an I/O server or
/// if jobs may share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobNodes {
    /// The job has all available nodes.
    All,
    /// Part number `part` of the available nodes, split into `of` consecutive equal parts.
    Part {
        /// Number of the part, from 1.
        part: u32,
        /// Number of equal parts into which the available nodes are split.
        of: u32,
    },
    /// The listed nodes, in the order of their ranks.
    Listed(Vec<u32>),
}

/// Distribution of a random quantity around its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Spread {
    /// The quantity always equals the mean.
    Fixed,
    /// Exponential distribution.
    Exponential,
    /// Uniform distribution between zero and twice the mean.
    Uniform,
}

/// Distribution of the sizes of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Mean size of a message.
    pub mean: Bytes,
    /// Distribution of the sizes. Each size is at least one byte.
    pub spread: Spread,
}

impl Sizes {
    /// Return a distribution in which every message has the size `bytes`.
    pub fn fixed(bytes: Bytes) -> Self {
        Self {
            mean: bytes,
            spread: Spread::Fixed,
        }
    }
}

/// Choice of the I/O server of a message if there are several servers.
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

/// Receivers of the messages of an I/O job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// The messages go to the I/O servers.
    Servers(Destinations),
    /// All messages go to this node, which sends none itself (section 4.3 of the QsNET paper).
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
    /// Closed loop: the node pauses after each completion, then generates the next message.
    Closed {
        /// Mean of the pause between a completion and the next message.
        think: Time,
        /// Distribution of the pauses around their mean.
        spread: Spread,
    },
}

impl Arrivals {
    /// Return closed-loop arrivals in which every pause has the length `think`.
    pub const fn equal_pauses(think: Time) -> Self {
        Self::Closed {
            think,
            spread: Spread::Fixed,
        }
    }
}

/// Traffic of an I/O job: nodes read data from targets and write data to them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Io {
    /// Receivers of the messages: I/O servers or a hot node.
    pub targets: Targets,
    /// Share of messages that are reads: a small request, then the data from the target.
    pub read_ratio: f64,
    /// Distribution of the sizes of the messages.
    pub sizes: Sizes,
    /// Arrival process of the messages of each node.
    pub arrivals: Arrivals,
}

/// Algorithm by which the nodes of a job combine a vector (all-reduce).
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AllReduce {
    /// Reduce-scatter, then all-gather along a ring of n nodes: 2 (n - 1) steps, each with an n-th of the vector.
    Ring,
    /// Nodes whose ranks differ in one bit exchange the whole vector: log2 n steps, and one step before and one after
    /// for ranks beyond the largest power of two.
    RecursiveDoubling,
}

/// Receiver of a message that a scenario lists: a node of the job, or an I/O server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedTo {
    /// The receiver is another node of the job, with this rank.
    Rank(u32),
    /// The receiver is the I/O server with this index.
    Server(u32),
}

/// Messages of the same kind that one node of a job sends one after another to the same receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRun {
    /// The rank of the sender among the nodes of the job.
    pub from: u32,
    /// Receiver of the messages.
    pub to: ListedTo,
    /// Length of each message.
    pub bytes: Bytes,
    /// Number of messages, 1 or more.
    pub times: u32,
}

/// Kind of traffic of one job, with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// Each message goes to any other node of the job, all equally likely (section 3.5 of the QsNET paper: one blocking
    /// message after another).
    Uniform {
        /// Distribution of the sizes of the messages.
        sizes: Sizes,
        /// Arrival process of the messages of each node.
        arrivals: Arrivals,
    },
    /// Each node sends its messages to the node whose rank is higher by `offset`, modulo the number of nodes.
    Shift {
        /// Difference between the ranks of receiver and sender; must not be a multiple of the number of nodes.
        offset: u32,
        /// Distribution of the sizes of the messages.
        sizes: Sizes,
        /// Arrival process of the messages of each node.
        arrivals: Arrivals,
    },
    /// Rounds in which each node sends a message to each other node: first to the next rank, then to the rank after
    /// that. A step ends for a node when it has sent and received a message.
    AllToAll {
        /// Length of the message to each other node.
        message: Bytes,
        /// Pause between two rounds of the operation.
        pause: Time,
    },
    /// Repeated all-reduce: in each round all nodes combine a vector.
    AllReduce {
        /// Length of the vector.
        vector: Bytes,
        /// Algorithm of the all-reduce.
        algorithm: AllReduce,
        /// Pause between two rounds of the operation.
        pause: Time,
    },
    /// Rounds in which each node of a grid sends to all its neighbours at once. A round ends for a
    /// node when it has sent to and received from all of them.
    Neighbours {
        /// Nodes in each dimension; ranks count the first dimension fastest.
        grid: Vec<u32>,
        /// Whether the last node of a line is a neighbour of the first.
        wrap: bool,
        /// Length of the message to each neighbour.
        message: Bytes,
        /// Pause between two rounds of the operation.
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
        /// Choice of the I/O server for each message.
        destinations: Destinations,
    },
    /// Rounds in which each node sends the messages that are listed for it, in their order. All nodes
    /// start a round together, when the last of them has finished the previous round.
    Listed {
        /// The messages: all between nodes of the job, or all to I/O servers.
        messages: Vec<MessageRun>,
        /// Processor time for each message before it is handed over. A processor handles one message at a time.
        overhead: Time,
        /// Pause between two rounds of the operation.
        pause: Time,
    },
    /// Reads from and writes to I/O servers or one hot node.
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
    /// Return whether this traffic uses the storage devices of the I/O servers `servers`.
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

/// A job: its name, its nodes and their traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Name of the job, which also names its random streams.
    pub name: String,
    /// Nodes of the job.
    pub nodes: JobNodes,
    /// Kind and parameters of the traffic of the job.
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

/// All jobs of a machine, and the I/O servers that they share.
#[derive(Debug, Clone, PartialEq)]
pub struct JobsTraffic {
    /// Choice of the nodes that are I/O servers.
    pub servers: Servers,
    /// Number of requests that each server handles at a time.
    pub serve: Serve,
    /// Storage device of each server.
    pub storage: StorageSpec,
    /// Whether jobs may run on I/O servers and share nodes.
    pub mapping: Mapping,
    /// The jobs, active and inactive.
    pub jobs: Vec<Job>,
}
