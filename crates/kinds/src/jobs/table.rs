//! Scenario tables of a `[workload]` with jobs: I/O servers, jobs and the traffic of each job. Section
//! numbers are those of the QsNET paper.

use crate::values::{Grid, JobNodeSet, LoadOfNode, Messages, MostOutstanding, NODES_MAX, NodeLoad};
use isthmus_scenario::format::{Data, Describe, Span, Whole};
use isthmus_units::{Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::spec::{
    AllReduce, Destinations, JobNodes, Mapping, MessageRun, Serve, Spread,
};

/// Valid range of a number of nodes.
const COUNT: Whole<u32> = Whole::new(1, NODES_MAX as u64);
/// Valid range of the number of a node.
const NODE: Whole<u32> = Whole::new(0, (NODES_MAX - 1) as u64);

/// Table `[workload]` without the tables of jobs and servers.
#[derive(Describe)]
pub(crate) struct CommonTable {
    /// Data that each node of an open loop asks to move, for jobs that give no load of their own: a
    /// bandwidth, or a share of what a node can send (section 3.5: 0.1, 0.3 and 0.5).
    #[describe(
        label = "offered load",
        holds = LoadOfNode,
        absent = "each open loop gives its own"
    )]
    pub(super) load: Option<NodeLoad>,
    /// Whether each node has one purpose, or jobs may run on I/O servers and on the same nodes (section
    /// 3.4).
    #[describe(words, default = "dedicated")]
    pub(super) mapping: Mapping,
    /// Jobs that run; the others keep their nodes idle. As an axis, "alone" stands for each job alone
    /// and "pairs" for each job alone and each pair; both end with all together.
    #[describe(label = "active jobs", absent = "all jobs")]
    pub(super) active: Option<Vec<String>>,
}

/// Table `[workload]` of a machine that runs jobs, and whose nodes can be I/O servers.
#[derive(Describe)]
pub(crate) struct WorkloadTable {
    #[describe(flatten)]
    pub(super) common: CommonTable,
    #[describe(table)]
    pub(super) servers: ServersTable,
}

/// Table `[workload.servers]`: the I/O servers.
#[derive(Describe)]
pub(super) struct ServersTable {
    /// Which nodes are I/O servers (section 3.4): none, those with the highest numbers, nodes at equal
    /// distances, these.
    #[describe(choice, label = "I/O servers", default = "none")]
    pub(super) placement: ServersWord,
    /// How many requests a server works on at a time: all that have come, or one from its first to its
    /// last byte, while the others wait in the order in which they were handed over (on networks of
    /// packets only). A client learns without delay that it is its turn.
    #[describe(words, label = "requests served", default = "all")]
    pub(super) serve: Serve,
}

/// Fields of each placement of I/O servers, selected by `workload.servers.placement`.
#[derive(Describe)]
pub(super) enum ServersWord {
    None,
    Clustered(Count),
    Distributed {
        #[describe(flatten)]
        count: Count,
        /// From one server to the next (section 3.4: 8).
        #[describe(label = "stride of I/O servers", holds = COUNT, derived = "nodes / count")]
        stride: Option<u32>,
        /// The first server.
        #[describe(label = "first I/O server", holds = NODE, default = 0)]
        offset: u32,
    },
    List {
        /// The servers.
        #[describe(label = "I/O servers", example = "[0, 32]")]
        nodes: Vec<u32>,
    },
}

/// Fields of those placements of I/O servers that are given by the number of servers.
#[derive(Describe)]
pub(super) struct Count {
    /// How many servers there are (section 3.4: 8 of 64 nodes).
    #[describe(label = "number of I/O servers", holds = COUNT, example = "8")]
    pub(super) count: u32,
}

/// Table `[workload.jobs.NAME]` of one job, with its fields in the order of the canonical form.
#[derive(Describe)]
#[describe(order(
    traffic,
    nodes,
    message,
    sizes,
    arrivals,
    outstanding,
    load,
    gaps,
    think,
    think_times,
    pause,
    read_ratio,
    destinations,
    hot_node,
    algorithm,
    grid,
    wrap,
    period,
    volume,
    both_ways,
    offset,
    messages,
    overhead
))]
pub(crate) struct JobTable {
    /// What the nodes of the job do: send to any other of its nodes (section 3.5), or to that at an offset;
    /// exchange with each
    /// other one; combine a vector; exchange with their neighbours in a grid; send
    /// what is listed for them, in rounds; write to the I/O servers
    /// at every period; read from and write to them (section 3.4); read from and write to one node
    /// (section 4.3); send to a partner (sections 4.1 and 4.2).
    #[describe(choice, example = "\"uniform\"")]
    pub(super) traffic: TrafficTable,
    /// Where the job runs: on all nodes that are available, which with a dedicated mapping are those
    /// that are no servers; on one of several equal runs of them; on these, in this order.
    #[describe(holds = JobNodeSet, default = "all")]
    pub(super) nodes: JobNodes,
    /// Length of a message, or its mean: section 3.5 has 256 KB between compute nodes and 1 MB to
    /// servers. For all-reduce the length of the vector; for a checkpoint that of one of its messages;
    /// only a ping may be empty.
    #[describe(
        holds = Data::new(0, 1 << 40),
        derived = "262144 B; 1 MB for checkpoint, io, hot-spot and ping",
        example = "\"1 MB\"",
        only(
            traffic = "uniform",
            "shift",
            "all-to-all",
            "all-reduce",
            "neighbours",
            "checkpoint",
            "io",
            "hot-spot",
            "ping"
        )
    )]
    pub(super) message: Option<Bytes>,
}

/// Fields of each kind of traffic, selected by `traffic` of the job.
#[derive(Describe)]
pub(super) enum TrafficTable {
    Uniform(IndependentRequests),
    Shift {
        #[describe(flatten)]
        asking: IndependentRequests,
        /// From the rank of a node to that of the one it sends to, modulo the nodes of the job. In a
        /// dragonfly the nodes of a group are the worst for minimal routes.
        #[describe(holds = COUNT, example = "8")]
        offset: u32,
    },
    AllToAll {
        #[describe(flatten)]
        under_way: UnderWay,
        #[describe(flatten)]
        rest: Pause,
    },
    AllReduce {
        /// How nodes combine a vector: parts of it round a ring, 2 (n - 1) steps; all of it between
        /// nodes whose ranks differ in one bit, log2 n steps and two more if n is no power of two.
        #[describe(words, default = "ring")]
        algorithm: AllReduce,
        #[describe(flatten)]
        rest: Pause,
    },
    Neighbours {
        #[describe(flatten)]
        under_way: UnderWay,
        /// Nodes in each dimension of the grid, ranks along the first dimension first.
        #[describe(
            holds = Grid,
            derived = "two dimensions, as square as the number of nodes allows"
        )]
        grid: Option<Vec<u32>>,
        /// Whether the last node of each line of the grid is a neighbour of the first.
        #[describe(label = "wrap-around", default = true)]
        wrap: bool,
        #[describe(flatten)]
        rest: Pause,
    },
    Listed {
        #[describe(flatten)]
        under_way: UnderWay,
        /// The messages of a round, in the order in which each node sends its own: the rank of the sender
        /// in the job, that of the receiver or an I/O server ("server 2", the first is "server 0"), the
        /// length, and how many there are one after another (1 if left out). All go to nodes of the job, or
        /// all to servers. A round begins at all nodes at once, when the last has sent and received all of
        /// the one before.
        #[describe(holds = Messages, example = "[[0, 1, \"64 KiB\"], [1, 0, \"64 KiB\"]]")]
        messages: Vec<MessageRun>,
        /// Time of its processor that each message takes, one after the other, before it is handed over.
        #[describe(holds = Span::or_zero("us"), default = "0 s")]
        overhead: Time,
        #[describe(flatten)]
        rest: Pause,
    },
    Checkpoint {
        #[describe(flatten)]
        under_way: UnderWay,
        /// From one checkpoint to the next; all nodes begin at the same time.
        #[describe(holds = Span::above_zero("ms"), example = "\"10 ms\"")]
        period: Time,
        /// What each node writes at a checkpoint.
        #[describe(holds = Data::new(1, 1 << 50), example = "\"4 MB\"")]
        volume: Bytes,
        #[describe(flatten)]
        to: ToServers,
    },
    Io {
        #[describe(flatten)]
        asking: IndependentRequests,
        #[describe(flatten)]
        reads: Reads,
        #[describe(flatten)]
        to: ToServers,
    },
    HotSpot {
        #[describe(flatten)]
        asking: IndependentRequests,
        #[describe(flatten)]
        reads: Reads,
        /// The node that all others of the job read from and write to (section 4.3: 0).
        #[describe(holds = NODE, example = "0")]
        hot_node: u32,
    },
    Ping {
        #[describe(flatten)]
        under_way: UnderWay,
        /// Whether the second node of each pair sends to the first one as well (section 4.2); pairs are
        /// the first two nodes, the next two and so on.
        #[describe(default = false)]
        both_ways: bool,
        #[describe(flatten)]
        rest: Pause,
    },
}

/// Fields of jobs whose nodes generate messages independently of each other, as open or closed loops.
#[derive(Describe)]
pub(super) struct IndependentRequests {
    /// How lengths spread around their mean (section 3.4: exponential): not at all, exponential,
    /// uniform up to twice the mean.
    #[describe(follows(
        traffic,
        "uniform" => "fixed",
        "shift" => "fixed",
        "hot-spot" => "fixed",
        "io" => "exponential",
    ))]
    #[describe(words)]
    pub(super) sizes: Spread,
    /// When a node asks for its next message: when one is complete, or at times of its own, into a
    /// queue without bound.
    #[describe(choice, follows(
        traffic,
        given(load = "open"),
        "uniform" => "closed",
        "shift" => "closed",
        "io" => "closed",
        "hot-spot" => "closed",
    ))]
    pub(super) arrivals: ArrivalsTable,
    #[describe(flatten)]
    pub(super) under_way: UnderWay,
}

/// Fields of closed loops and of open loops, selected by `arrivals`.
#[derive(Describe)]
pub(super) enum ArrivalsTable {
    Closed {
        /// From the completion of a message to the next one, or its mean.
        #[describe(label = "think time", holds = Span::or_zero("us"), default = "0 s")]
        think: Time,
        /// How these times spread around their mean: not at all, exponential, uniform up to twice the
        /// mean.
        #[describe(words, label = "think times", default = "fixed")]
        think_times: Spread,
    },
    Open {
        /// Data that each node of the job asks to move: a bandwidth, or a share of what a node can
        /// send.
        #[describe(label = "offered load", holds = LoadOfNode, derived = "workload.load")]
        load: Option<NodeLoad>,
        /// How the gaps between arrivals spread around their mean (section 4.4: exponential, uniform).
        #[describe(words, default = "exponential")]
        gaps: Spread,
    },
}

/// Fields of jobs whose nodes may have several messages in flight. These are all jobs but all-reduce, where each step
/// needs the previous one.
#[derive(Describe)]
pub(super) struct UnderWay {
    /// Messages of a node of the job that may be under way, from being handed to its interface until
    /// the last byte is there (with circuits and on SCI rings: is acknowledged; with a device behind the
    /// server: until its answer is there); the next in order is handed over when it has been asked for and
    /// fewer are. Of an all-to-all exchanges, within a round.
    #[describe(
        label = "messages under way",
        holds = MostOutstanding,
        derived = "1; for neighbours and listed, and with arrivals = \"open\" but on networks of circuits, \"unlimited\"",
        example = "16"
    )]
    pub(super) outstanding: Option<Outstanding>,
}

/// Fields of jobs that pause between rounds or pings.
#[derive(Describe)]
pub(super) struct Pause {
    /// From the end of a round, or of a ping, to the next one.
    #[describe(holds = Span::or_zero("us"), default = "0 s")]
    pub(super) pause: Time,
}

/// Fields of jobs that read from and write to I/O servers or a hot node.
#[derive(Describe)]
pub(super) struct Reads {
    /// Share of messages that are reads (section 4.4: 0.5); the rest are writes.
    #[describe(label = "reads", default = 0)]
    pub(super) read_ratio: f64,
}

/// Fields of jobs that send to the I/O servers.
#[derive(Describe)]
pub(super) struct ToServers {
    /// To which server a message goes (section 3.4): drawn for each message, or one server for each
    /// node, assigned cyclically or in blocks of nodes (the paper's deterministic I/O).
    #[describe(words, default = "random", only(traffic = "io", "checkpoint"))]
    pub(super) destinations: Destinations,
}
