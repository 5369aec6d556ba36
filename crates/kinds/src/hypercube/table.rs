//! Scenario tables `[machine]` and `[workload]` of a hypercube. The letters k, m, b,
//! r and n are those of Fig. 2 of the hypercube paper, which comments here call the paper.

use crate::devices::DiskTable;
use crate::values::{Lanes, MostOutstanding};
use isthmus_machine::hypercube::spec::Service;
use isthmus_scenario::format::{Describe, Number, Span, Whole};
use isthmus_units::{Bandwidth, Bytes, Rate, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::spec::FileLayout;

/// Type of a scenario field: a number of lanes, at least 1.
const LANES: Lanes = Lanes { min: 1 };
/// Type of a scenario field: a number of lanes, or 0 for no lanes.
const LANES_OR_NONE: Lanes = Lanes { min: 0 };
/// Valid range of a number of PEs, I/O nodes or blocks.
const COUNT: Whole<u32> = Whole::new(1, 1 << 20);
/// Valid range of the number of a PE or an I/O node.
const TARGET: Whole<u32> = Whole::new(0, (1 << 20) - 1);

/// Table `[machine]` of a hypercube.
#[derive(Describe)]
pub(super) struct MachineTable {
    /// Dimension d of the hypercube of 2^d PEs.
    #[describe(holds = Whole::new(1, 20), example = "7")]
    pub(super) dimension: u32,
    /// Length of one flit (Table 1).
    #[describe(label = "flit length", default = "1 B")]
    pub(super) flit: Bytes,
    /// Bandwidth of one lane (Table 1); one cycle is the time of one flit.
    #[describe(label = "lane bandwidth", default = "20 MB/s")]
    pub(super) bandwidth: Bandwidth,
    #[describe(table)]
    pub(super) lanes: LanesTable,
    /// Short for placement.kind.
    #[describe(table, short_for(kind), derived = "as placement.kind")]
    pub(super) placement: PlacementTable,
    #[describe(table)]
    pub(super) device: DeviceTable,
    #[describe(table)]
    pub(super) faults: FaultsTable,
}

/// Table `[machine.lanes]`: the lanes of each kind of link.
#[derive(Describe)]
pub(super) struct LanesTable {
    /// k: lanes from PE to router and back (Fig. 2).
    #[describe(label = "PE lanes k", holds = LANES, derived = "dimension + 2")]
    pub(super) pe: Option<u32>,
    /// Lanes of each dimension link between PE routers.
    #[describe(label = "lanes per link", holds = LANES, default = 1)]
    pub(super) link: u32,
    /// m: lanes from PE router to I/O node and back (Fig. 2).
    #[describe(label = "I/O node lanes m", holds = LANES, derived = "dimension + 1")]
    pub(super) io_node: Option<u32>,
    /// b: lanes of each link between I/O routers; 0: no I/O network, the control cube (Fig. 2).
    #[describe(label = "I/O link lanes b", holds = LANES_OR_NONE, example = "2")]
    pub(super) io_link: u32,
    /// r: lanes from I/O node to I/O router and back (Fig. 2); unused without an I/O network.
    #[describe(label = "I/O source lanes r", holds = LANES_OR_NONE, derived = "4 * io_link")]
    pub(super) io_source: Option<u32>,
    /// n: lanes from I/O router to PE router (Fig. 2); unused without an I/O network.
    #[describe(label = "I/O-to-PE lanes n", holds = LANES_OR_NONE, derived = "4 * io_link")]
    pub(super) io_to_pe: Option<u32>,
}

/// Table `[machine.placement]`: the PEs that have an I/O node.
#[derive(Describe)]
pub(super) struct PlacementTable {
    /// Where the I/O nodes go (section 3.2): code words of the Hamming code; perfect cubes combined; a
    /// minimum dominating set; every s-th PE; the first PEs; these PEs.
    #[describe(choice, label = "placement", default = "combined")]
    pub(super) kind: PlacementWord,
}

/// Fields of each placement of I/O nodes, selected by `machine.placement.kind`.
#[derive(Describe)]
pub(super) enum PlacementWord {
    Hamming,
    Combined,
    Dominating,
    Stride(Count),
    Clustered(Count),
    List {
        /// PEs that have an I/O node, in any order.
        #[describe(label = "PEs with I/O nodes")]
        pes: Vec<u32>,
    },
}

/// Fields of placements that are described by a number of I/O nodes.
#[derive(Describe)]
pub(super) struct Count {
    /// Number of I/O nodes, at most that of the PEs.
    #[describe(label = "I/O nodes", holds = COUNT, example = "16")]
    pub(super) count: u32,
}

/// Table `[machine.device]`: start-up overhead of messages, I/O nodes and disks.
#[derive(Describe)]
pub(super) struct DeviceTable {
    /// Message start-up overhead in software (Table 1).
    #[describe(label = "start-up overhead", default = "200 us")]
    pub(super) startup: Time,
    /// I/O node latency for a block from its cache (Table 1).
    #[describe(label = "cache access", default = "400 us")]
    pub(super) access: Time,
    /// Probability that a block is in the I/O node's cache (Table 1: 70 to 100%).
    #[describe(default = 1.0)]
    pub(super) cache_hit_rate: f64,
    /// How requests share a disk: a pure delay, as in the paper, or first come first served.
    #[describe(words, label = "disk service", default = "delay")]
    pub(super) service: Service,
    #[describe(table)]
    pub(super) disk: DiskTable,
}

/// Table `[machine.faults]`: the failed parts.
#[derive(Describe)]
pub(super) struct FaultsTable {
    /// PEs that have failed, with their routers.
    #[describe(label = "failed PEs", default = [])]
    pub(super) pes: Vec<u32>,
    /// I/O nodes that have failed, by index in the ascending placement.
    #[describe(label = "failed I/O nodes", default = [])]
    pub(super) io_nodes: Vec<u32>,
    /// Links between neighbouring PEs that have failed.
    #[describe(label = "failed links", default = [])]
    pub(super) links: Vec<(u32, u32)>,
    /// Links between neighbouring I/O nodes that have failed, by index.
    #[describe(label = "failed I/O links", default = [])]
    pub(super) io_links: Vec<(u32, u32)>,
}

/// Table `[workload]`: the demands of the PEs.
#[derive(Describe)]
pub(super) struct WorkloadTable {
    /// When a PE asks: Poisson (section 4.3 of the paper); equal gaps; on/off bursts; a closed loop in which a PE
    /// waits for its data.
    #[describe(choice, label = "arrivals", default = "exponential")]
    pub(super) arrival: ArrivalTable,
    /// Demands that one PE keeps under way in a closed loop; else how many it may have under way, from
    /// being handed to the network until the last tail is there or the data are stored: the next in
    /// order is handed over when it has been asked for and fewer are.
    #[describe(
        label = "demands under way",
        holds = MostOutstanding,
        derived = "1 with workload.arrival = \"closed\", else \"unlimited\""
    )]
    pub(super) outstanding: Option<Outstanding>,
    /// P_io: share of demands that are I/O requests (section 4.3 of the paper: 3 to 20%).
    #[describe(label = "I/O share", default = 0.05)]
    pub(super) io_probability: f64,
    /// P_r: share of I/O requests that are reads.
    #[describe(default = 1.0)]
    pub(super) read_ratio: f64,
    /// P_l: probability that a block is at the local I/O node (Fig. 3).
    #[describe(default = 0.2)]
    pub(super) locality: f64,
    /// Length of a PE-PE message (Table 1).
    #[describe(label = "message length", default = "32 B")]
    pub(super) message: Bytes,
    /// Length of an I/O request and of a request-forward message.
    #[describe(label = "request length", default = "32 B")]
    pub(super) request: Bytes,
    /// Length of an I/O block (Table 1).
    #[describe(label = "block length", default = "4096 B")]
    pub(super) block: Bytes,
    /// All blocks of a file at one I/O node, or each placed on its own.
    #[describe(words, label = "file layout", default = "contiguous")]
    pub(super) layout: FileLayout,
    /// Short for file_blocks.min and file_blocks.max with this same value.
    #[describe(
        table,
        short_for(min, max),
        label = "blocks per file",
        derived = "as file_blocks.min and .max"
    )]
    pub(super) file_blocks: FileBlocksTable,
    #[describe(table)]
    pub(super) hot_pe: Option<HotPeTable>,
    #[describe(table)]
    pub(super) hot_io_node: Option<HotIoNodeTable>,
    #[describe(table)]
    pub(super) collectives: CollectivesTable,
}

/// Fields of each arrival process, selected by `workload.arrival`.
#[derive(Describe)]
pub(super) enum ArrivalTable {
    Exponential(OpenLoop),
    Deterministic(OpenLoop),
    Bursty {
        #[describe(flatten)]
        open: OpenLoop,
        /// Mean number of demands in a burst (geometric).
        #[describe(
            label = "messages per burst",
            holds = Number { min: 1.0, max: 1e9 },
            example = "8"
        )]
        burst_messages: f64,
        /// Time between two demands of one burst; below the mean interarrival time.
        #[describe(label = "gap within a burst", example = "\"1 us\"")]
        burst_gap: Time,
    },
    Closed {
        /// Mean time (exponential) from a completion to the next demand.
        #[describe(label = "think time")]
        think: Time,
    },
}

/// Fields of all open loops: the offered load of each PE.
#[derive(Describe)]
pub(super) struct OpenLoop {
    /// t_a: mean time between two demands of one PE.
    #[describe(
        label = "mean interarrival time",
        holds = Span::above_zero("ms"),
        absent = "this or workload.rate is required, unless swept or searched",
        instead_of(rate)
    )]
    pub(super) interarrival: Option<Time>,
    /// Demands of one PE per time, 1/t_a; held as a mean gap in whole picoseconds.
    #[describe(
        label = "rate per PE",
        absent = "this or workload.interarrival is required, unless swept or searched",
        instead_of(interarrival)
    )]
    pub(super) rate: Option<Rate>,
}

/// Table `[workload.file_blocks]`: the sizes of files.
#[derive(Describe)]
pub(super) struct FileBlocksTable {
    /// Smallest file, in blocks.
    #[describe(label = "smallest file", holds = COUNT, default = 1)]
    pub(super) min: u32,
    /// Largest file, in blocks; sizes are uniform between the two (Table 1: 1 to 32).
    #[describe(label = "largest file", holds = COUNT, derived = "as file_blocks.min")]
    pub(super) max: Option<u32>,
    /// Files with more blocks than this are broken up into several (Table 1: 128 KiB).
    #[describe(label = "blocks before a split", holds = COUNT, default = 32)]
    pub(super) split: u32,
}

/// Table `[workload.hot_pe]`: a PE that receives a larger share of messages.
#[derive(Describe)]
pub(super) struct HotPeTable {
    /// The PE that PE-PE messages favour.
    #[describe(label = "hot PE", holds = TARGET, example = "3")]
    pub(super) target: u32,
    /// Share of the PE-PE messages that go to the hot PE.
    #[describe(label = "hot PE share", example = "0.1")]
    pub(super) probability: f64,
}

/// Table `[workload.hot_io_node]`: an I/O node that receives a larger share of reads.
#[derive(Describe)]
pub(super) struct HotIoNodeTable {
    /// The I/O node that reads favour, by index in the ascending placement.
    #[describe(label = "hot I/O node", holds = TARGET)]
    pub(super) target: u32,
    /// Share of the reads that go to the hot I/O node.
    #[describe(label = "hot I/O node share", example = "0.1")]
    pub(super) probability: f64,
}

/// Table `[workload.collectives]`: I/O demands for many PEs.
#[derive(Describe)]
pub(super) struct CollectivesTable {
    /// Share of I/O demands that fetch one block for all PEs (section 4.3 of the paper).
    #[describe(label = "broadcast share", default = 0.0)]
    pub(super) broadcast: f64,
    /// Share of I/O demands that spread a file's blocks over a group of PEs (section 4.3 of the paper).
    #[describe(label = "scatter share", default = 0.0)]
    pub(super) scatter: f64,
    /// Share of I/O demands that collect a block from each PE of a group (section 4.3 of the paper).
    #[describe(label = "gather share", default = 0.0)]
    pub(super) gather: f64,
    /// PEs that take part in one scatter or gather.
    #[describe(
        label = "group size",
        holds = COUNT,
        absent = "required if scatter or gather is above 0"
    )]
    pub(super) group: Option<u32>,
}
