//! The rows of `[workload]` of a fat tree: I/O servers, jobs and what each job does. Sections are
//! those of the QsNET paper.

use crate::field::Default::{self, Absent, Derived, Required, Value};
use crate::field::{Field, Kind, NODES_MAX};

/// How much open loops ask for.
pub(super) const LOAD_KEYS: &[&str] = &["workload.load"];

const COUNT: Kind = Kind::Integer {
    min: 1,
    max: NODES_MAX as u64,
};

const NODE: Kind = Kind::Integer {
    min: 0,
    max: (NODES_MAX - 1) as u64,
};

/// Jobs whose processes ask for one message after another.
const ASKING: &[&str] = &["uniform", "io", "hot-spot"];

/// Jobs that go on in steps of their own.
const STEPPING: &[&str] = &["all-to-all", "all-reduce", "neighbours", "ping"];

const SPREADS: Kind = Kind::Choice(&["fixed", "exponential", "uniform"]);

/// Jobs whose nodes may have several messages under way: each step of an all-reduce needs the one
/// before.
const OVERLAPPING: &[&str] = &[
    "uniform",
    "all-to-all",
    "neighbours",
    "checkpoint",
    "io",
    "hot-spot",
    "ping",
];

/// The rows that are there once.
pub(super) fn fields() -> Vec<Field> {
    vec![
        Field::new(
            "workload.load",
            Kind::NodeLoad,
            Absent("each open loop gives its own"),
            "offered load",
            "Data that each node of an open loop asks to move, for jobs that give no load of their own: \
         a bandwidth, or a share of what a node can send (section 3.5: 0.1, 0.3 and 0.5)",
        ),
        Field::new(
            "workload.mapping",
            Kind::Choice(&["dedicated", "shared"]),
            Value("\"dedicated\""),
            "mapping",
            "Whether each node has one purpose, or jobs may run on I/O servers and on the same nodes \
         (section 3.4)",
        ),
        Field::new(
            "workload.active",
            Kind::NameSet,
            Absent("all jobs"),
            "active jobs",
            "Jobs that run; the others keep their nodes idle. As an axis, \"alone\" stands for each job \
         alone and \"pairs\" for each job alone and each pair; both end with all together",
        ),
        Field::new(
            "workload.servers.placement",
            Kind::Choice(&["none", "clustered", "distributed", "list"]),
            Value("\"none\""),
            "I/O servers",
            "Which nodes are I/O servers (section 3.4): none, those with the highest numbers, nodes at \
         equal distances, these",
        ),
        Field::new(
            "workload.servers.count",
            COUNT,
            Required,
            "number of I/O servers",
            "How many servers there are (section 3.4: 8 of 64 nodes)",
        )
        .such_as("8")
        .only("workload.servers.placement", &["clustered", "distributed"]),
        Field::new(
            "workload.servers.stride",
            COUNT,
            Derived("nodes / count"),
            "stride of I/O servers",
            "From one server to the next (section 3.4: 8)",
        )
        .only("workload.servers.placement", &["distributed"]),
        Field::new(
            "workload.servers.offset",
            NODE,
            Value("0"),
            "first I/O server",
            "The first server",
        )
        .only("workload.servers.placement", &["distributed"]),
        Field::new(
            "workload.servers.nodes",
            Kind::Nodes,
            Required,
            "I/O servers",
            "The servers",
        )
        .such_as("[0, 32]")
        .only("workload.servers.placement", &["list"]),
    ]
}

/// The rows of the job whose table is `path`.
pub(super) fn of_job(path: &str) -> Vec<Field> {
    let key = |name: &str| format!("{path}.{name}");
    let traffic = key("traffic");
    vec![
    Field::new(
        &traffic,
        Kind::Choice(&[
            "uniform",
            "all-to-all",
            "all-reduce",
            "neighbours",
            "checkpoint",
            "io",
            "hot-spot",
            "ping",
        ]),
        Required,
        "traffic",
        "What the nodes of the job do: send to any other of its nodes (section 3.5); exchange with \
         each other one; combine a vector; exchange with their neighbours in a grid; write to the \
         I/O servers at every period; read from and write to them (section 3.4); read from and \
         write to one node (section 4.3); send to a partner (sections 4.1 and 4.2)",
    )
    .such_as("\"uniform\""),
    Field::new(
        &key("nodes"),
        Kind::JobNodes,
        Value("\"all\""),
        "nodes",
        "Where the job runs: on all nodes that are available, which with a dedicated mapping are \
         those that are no servers; on one of several equal runs of them; on these, in this order",
    ),
    Field::new(
        &key("message"),
        Kind::Bytes {
            min: 0,
            max: 1 << 40,
        },
        Derived("262144 B; 1 MB for checkpoint, io, hot-spot and ping"),
        "message",
        "Length of a message, or its mean: section 3.5 has 256 KB between compute nodes and 1 MB to \
         servers. For all-reduce the length of the vector; for a checkpoint that of one of its \
         messages; only a ping may be empty",
    )
    .such_as("\"1 MB\""),
    Field::new(
        &key("sizes"),
        SPREADS,
        Default::following(&[], &traffic, &[
                ("uniform", "fixed"),
                ("hot-spot", "fixed"),
                ("io", "exponential"),
            ]),
        "sizes",
        "How lengths spread around their mean (section 3.4: exponential): not at all, exponential, \
         uniform up to twice the mean",
    )
    .only(&traffic, ASKING),
    Field::new(
        &key("arrivals"),
        Kind::Choice(&["closed", "open"]),
        Default::following(&[(&key("load"), "open")], &traffic, &[("uniform", "closed"), ("io", "closed"), ("hot-spot", "closed")]),
        "arrivals",
        "When a node asks for its next message: when one is complete, or at times of its \
         own, into a queue without bound",
    )
    .only(&traffic, ASKING),
    Field::new(
        &key("outstanding"),
        Kind::Outstanding,
        Derived(
            "1; with arrivals = \"open\" and machine.switching = \"cut-through\", and for \
             neighbours, \"unlimited\"",
        ),
        "messages under way",
        "Messages of a node of the job that may be under way, from being handed to its interface \
         until the last byte is there (with circuits: is acknowledged); the next in order is handed \
         over when it has been asked for and fewer are. Of an all-to-all exchanges, within a round",
    )
    .such_as("16")
    .only(&traffic, OVERLAPPING),
    Field::new(
        &key("load"),
        Kind::NodeLoad,
        Derived("workload.load"),
        "offered load",
        "Data that each node of the job asks to move: a bandwidth, or a share of what a node can \
         send",
    )
    .only(&key("arrivals"), &["open"]),
    Field::new(
        &key("gaps"),
        SPREADS,
        Value("\"exponential\""),
        "gaps",
        "How the gaps between arrivals spread around their mean (section 4.4: exponential, uniform)",
    )
    .only(&key("arrivals"), &["open"]),
    Field::new(
        &key("think"),
        Kind::Time {
            zero: true,
            usual: "us",
        },
        Value("\"0 s\""),
        "think time",
        "From the completion of a message to the next one",
    )
    .only(&key("arrivals"), &["closed"]),
    Field::new(
        &key("pause"),
        Kind::Time {
            zero: true,
            usual: "us",
        },
        Value("\"0 s\""),
        "pause",
        "From the end of a round, or of a ping, to the next one",
    )
    .only(&traffic, STEPPING),
    Field::new(
        &key("read_ratio"),
        Kind::Share {
            above_zero: false,
            below_one: false,
        },
        Value("0"),
        "reads",
        "Share of messages that are reads (section 4.4: 0.5); the rest are writes",
    )
    .only(&traffic, &["io", "hot-spot"]),
    Field::new(
        &key("destinations"),
        Kind::Choice(&["random", "interleaved", "blocked"]),
        Value("\"random\""),
        "destinations",
        "To which server a message goes (section 3.4): to any; all of a node to one, the nodes \
         dealt out one by one or in equal runs (the paper's deterministic I/O)",
    )
    .only(&traffic, &["io", "checkpoint"]),
    Field::new(
        &key("hot_node"),
        NODE,
        Required,
        "hot node",
        "The node that all others of the job read from and write to (section 4.3: 0)",
    )
    .such_as("0")
    .only(&traffic, &["hot-spot"]),
    Field::new(
        &key("algorithm"),
        Kind::Choice(&["ring", "recursive-doubling"]),
        Value("\"ring\""),
        "algorithm",
        "How nodes combine a vector: parts of it round a ring, 2 (n - 1) steps; all of it between \
         nodes whose ranks differ in one bit, log2 n steps and two more if n is no power of two",
    )
    .only(&traffic, &["all-reduce"]),
    Field::new(
        &key("grid"),
        Kind::Grid,
        Derived("two dimensions, as square as the number of nodes allows"),
        "grid",
        "Nodes in each dimension of the grid, ranks along the first dimension first",
    )
    .only(&traffic, &["neighbours"]),
    Field::new(
        &key("wrap"),
        Kind::Flag,
        Value("true"),
        "wrap-around",
        "Whether the last node of each line of the grid is a neighbour of the first",
    )
    .only(&traffic, &["neighbours"]),
    Field::new(
        &key("period"),
        Kind::Time {
            zero: false,
            usual: "ms",
        },
        Required,
        "period",
        "From one checkpoint to the next; all nodes begin at the same time",
    )
    .such_as("\"10 ms\"")
    .only(&traffic, &["checkpoint"]),
    Field::new(
        &key("volume"),
        Kind::Bytes {
            min: 1,
            max: 1 << 50,
        },
        Required,
        "volume",
        "What each node writes at a checkpoint",
    )
    .such_as("\"4 MB\"")
    .only(&traffic, &["checkpoint"]),
    Field::new(
        &key("both_ways"),
        Kind::Flag,
        Value("false"),
        "both ways",
        "Whether the second node of each pair sends to the first one as well (section 4.2); pairs \
         are the first two nodes, the next two and so on",
    )
    .only(&traffic, &["ping"]),
]
}
