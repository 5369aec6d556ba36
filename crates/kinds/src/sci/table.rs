//! Scenario tables `[machine]` and `[workload]` of an SCI fabric. Section and table numbers are
//! those of the SCI paper.

use crate::values::{MostOutstanding, Rings, Size as SizeValue};
use isthmus_machine::sci::spec::{ChangeFrom, CutOff, FlowControl, Source};
use isthmus_scenario::format::{Data, Describe, Links, Span, Throughput, Whole};
use isthmus_topology::rings::{MAX_NODES, Routing};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::packets::spec::Spacing;

/// Valid range of a number of slots of a queue.
const SLOTS: Whole<u32> = Whole::new(1, 65_535);

/// Table `[machine]` of an SCI fabric.
#[derive(Describe)]
pub(super) struct MachineTable {
    /// Rings of the fabric: one, two in opposite directions (section 4.1); one or two along each line
    /// of a k-ary n-cube (section 4.2); the unit squares of a torus (section 4.3); rows and columns in
    /// alternating directions; the rings listed.
    #[describe(choice, example = "\"torus\"")]
    pub(super) fabric: FabricTable,
    /// Which shortest path a packet takes: x first, then y, of two equally long directions one at
    /// random; the first; any at random; one with the fewest changes of ring, at random.
    #[describe(follows(
        fabric,
        "ring" => "dimension-order",
        "counter-rotating" => "dimension-order",
        "torus" => "dimension-order",
        "bidirectional-torus" => "dimension-order",
        "uniform-ring-torus" => "fewest-changes",
        "manhattan" => "fewest-changes",
        "rings" => "fewest-changes",
    ))]
    #[describe(words)]
    pub(super) routing: Routing,
    /// Bandwidth of a link, headers and idles included (Table 1).
    #[describe(label = "link bandwidth", default = "1 GB/s")]
    pub(super) bandwidth: Bandwidth,
    /// Length of a symbol (Table 1); one cycle is the time of one symbol.
    #[describe(label = "symbol length", default = "2 B")]
    pub(super) symbol: Bytes,
    /// h: from the output of a node through the next one's address decoder and bypass FIFO (section 2)
    /// to its output; not stated there, this value fits Tables 3, 5, 6 and 8.
    #[describe(label = "time per hop", holds = Span::above_zero("ns"), default = "34 ns")]
    pub(super) hop: Time,
    /// c: from the address decoder of an agent to its output on another ring: the 10 ns of the routing
    /// decision (Table 1) and what more fits Tables 5, 6 and 8.
    #[describe(label = "time per change of ring", holds = Span::or_zero("ns"), default = "66 ns")]
    pub(super) ring_change: Time,
    /// When `ring_change` begins: when the header comes to the agent, whose crossbar follows (Figure 4:
    /// routers, then queues and crossbar), or when the crossbar begins; it matters where input queues
    /// are short.
    #[describe(words, label = "begin of a change of ring", default = "header")]
    pub(super) ring_change_from: ChangeFrom,
    /// Header and check sum of a send packet (Table 1).
    #[describe(label = "packet overhead", default = "16 B")]
    pub(super) overhead: Bytes,
    /// Length of an echo packet (section 4.1: 4 symbols); an idle symbol follows every packet.
    #[describe(label = "echo length", default = "8 B")]
    pub(super) echo: Bytes,
    /// Where packets wait for a client slot: in a FIFO without bound, or nowhere, so that they are
    /// dropped.
    #[describe(words, label = "client queue", default = "unbounded")]
    pub(super) source: Source,
    /// How a node that sends too much is held back: not at all, or by the go bits of IEEE 1596.
    #[describe(words, default = "none")]
    pub(super) flow_control: FlowControl,
    /// Time without a delivery, packets waiting, after which the fabric counts as collapsed.
    #[describe(
        holds = Span::above_zero("ns"),
        derived = "20 us, or four times a change to the longest ring and a trip round it if that is more"
    )]
    pub(super) patience: Option<Time>,
    #[describe(table)]
    pub(super) queues: QueuesTable,
    #[describe(table)]
    pub(super) faults: FaultsTable,
}

/// Fields of `[machine]` for each topology of rings, selected by `machine.fabric`.
#[derive(Describe)]
pub(super) enum FabricTable {
    Ring(Size),
    CounterRotating(Size),
    Torus(Size),
    BidirectionalTorus(Size),
    UniformRingTorus(Size),
    Manhattan(Size),
    Rings {
        /// The rings, each a list of its nodes in the order in which packets pass them; nodes on
        /// several rings are agents.
        #[describe(holds = Rings { nodes: MAX_NODES, limited_by: "SCI" })]
        rings: Vec<Vec<u32>>,
    },
}

/// Field of those fabrics whose shape a size determines, such as a torus.
#[derive(Describe)]
pub(super) struct Size {
    /// Nodes in each dimension, x first: one number for a single or counter-rotating ring, two for a
    /// uniform-ring torus (3 or more) and a Manhattan network (even).
    #[describe(holds = SizeValue { least: 2, nodes: MAX_NODES, limited_by: "SCI" })]
    pub(super) size: Vec<u32>,
}

/// Table `[machine.queues]`: the slots of the queues of an interface.
#[derive(Describe)]
pub(super) struct QueuesTable {
    /// Packets that an interface can hold at its input (Table 1).
    #[describe(label = "input slots", holds = SLOTS, default = 5)]
    pub(super) input: u32,
    /// Packets that an interface can hold for each input port that feeds it (Table 1).
    #[describe(label = "output slots", holds = SLOTS, default = 5)]
    pub(super) output: u32,
    /// Packets of its own node that an interface can hold (Table 1).
    #[describe(label = "client slots", holds = SLOTS, default = 5)]
    pub(super) client: u32,
}

/// Table `[machine.faults]`: the failed parts.
#[derive(Describe)]
pub(super) struct FaultsTable {
    /// Nodes that have failed, and with them all their rings (section 4.3).
    #[describe(label = "failed nodes", default = [])]
    pub(super) nodes: Vec<u32>,
    /// Links that have failed, each from a node to the next, and with them their rings (section 4.3).
    #[describe(label = "failed links", holds = Links { directed: true }, default = [])]
    pub(super) links: Vec<(u32, u32)>,
    /// What becomes of nodes that faults cut off: an error, or they neither send nor receive.
    #[describe(words, label = "nodes cut off", default = "refuse")]
    pub(super) cut_off: CutOff,
}

/// Table `[workload]`: packets between the nodes.
#[derive(Describe)]
pub(super) struct WorkloadTable {
    /// Total offered load: payload that all nodes together offer (Table 1); each sending node offers an
    /// equal part.
    #[describe(
        label = "offered load",
        holds = Throughput::offered("GB/s"),
        absent = "required, unless swept or searched"
    )]
    pub(super) load: Option<Bandwidth>,
    /// Gaps between the packets of a node: exponential, of mean 64 B/(load/N) (Table 1); equal, each
    /// node with a random phase.
    #[describe(words, default = "exponential")]
    pub(super) spacing: Spacing,
    /// With equal gaps: part of a gap over which the phases of the nodes are spread; at 0 all send in
    /// step.
    #[describe(
        label = "spread of phases",
        default = 1,
        only(spacing = "deterministic")
    )]
    pub(super) phases: f64,
    /// What each packet sets off: nothing (Table 1); a response with the data; a response without
    /// data.
    #[describe(choice, fields_after = "senders", default = "move")]
    pub(super) transaction: TransactionTable,
    /// Data of one transaction in whole symbols (Table 1: 64 B; IEEE 1596: 16, 64 or 256 B).
    #[describe(holds = Data::new(16, 256), default = "64 B")]
    pub(super) payload: Bytes,
    /// Nodes that send, as far as they are in service; none listed: all.
    #[describe(default = [])]
    pub(super) senders: Vec<u32>,
    #[describe(table)]
    pub(super) hot_node: Option<HotNodeTable>,
}

/// Fields of each kind of transaction, selected by `workload.transaction`.
#[derive(Describe)]
pub(super) enum TransactionTable {
    Move,
    Read(Response),
    Write(Response),
}

/// Fields of a scenario for transactions with a response.
#[derive(Describe)]
pub(super) struct Response {
    /// From the arrival of a request to its response, at the target.
    #[describe(holds = Span::or_zero("ns"), default = "0 s")]
    pub(super) turnaround: Time,
    /// Transactions of a node that may be under way, from being handed to its interface until the tail
    /// of the response is there; the next in order is handed over when it has been asked for and fewer
    /// are.
    #[describe(label = "transactions under way", holds = MostOutstanding, default = "unlimited")]
    pub(super) outstanding: Outstanding,
}

/// Table `[workload.hot_node]`: a node that receives a larger share of the packets.
#[derive(Describe)]
pub(super) struct HotNodeTable {
    /// The node that packets favour.
    #[describe(label = "hot node", holds = Whole::new(0, (MAX_NODES - 1) as u64), example = "3")]
    pub(super) node: u32,
    /// Share of the packets of other nodes that are drawn to the hot node; the rest goes to any other
    /// node.
    #[describe(label = "hot node share", example = "0.1")]
    pub(super) probability: f64,
}
