//! `[machine]` of a fat tree, as a file describes it. Sections are those of the QsNET paper.

use isthmus_machine::fattree::spec::{AgeFrom, AgeTie, LinkLoad, LinkTie};
use isthmus_scenario::format::{Describe, Kind, NODES_MAX};
use isthmus_topology::trees::MAX_PORTS;
use isthmus_units::{Bandwidth, Bytes, Time};
use strum::{EnumString, VariantNames};

const PORTS_MAX: u64 = MAX_PORTS as u64;

/// Most virtual channels of a link, as engines number them.
const CHANNELS_MAX: u64 = 16;

const PACKETS: Kind = Kind::whole(1, 65_535);
const SPAN: Kind = Kind::span("ns");
const PERIOD: Kind = Kind::period("ns");

/// Data of a packet, which is far shorter than a message.
const PART: Kind = Kind::Bytes {
    min: 1,
    max: 1 << 20,
};

const PART_OR_NONE: Kind = Kind::Bytes {
    min: 0,
    max: 1 << 20,
};

/// Where messages lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Memory {
    Elan,
    Main,
}

/// `[machine]` beside its preset, whose values stand in these fields.
#[derive(Describe)]
pub(super) struct MachineTable {
    /// How the tree is described: arity and levels (section 2.2), the ports of its switches, or the
    /// numbers of an extended generalised fat tree.
    #[describe(choice, default = "k-ary")]
    pub(super) tree: TreeTable,
    /// Which link up a packet takes: the least loaded (section 2.2.1), by ascent_load and ascent_tie;
    /// the one that the destination or the source gives; any.
    #[describe(choice, default = "adaptive")]
    pub(super) ascent: AscentTable,
    /// Bandwidth of a link in one direction, headers included (section 2.2).
    #[describe(label = "link bandwidth", default = "400 MB/s")]
    pub(super) bandwidth: Bandwidth,
    /// From a header's start on a link to its request for a link beyond the next switch (section 2.2).
    #[describe(kind = PERIOD, default = "35 ns")]
    pub(super) switch_latency: Time,
    /// Virtual channels of a link in one direction (section 2.2).
    #[describe(kind = Kind::whole(1, CHANNELS_MAX), default = 2)]
    pub(super) virtual_channels: u32,
    /// How packets hold links: from the header to the acknowledgement (section 2.2.1), or while they
    /// cross them into a buffer with room for all of a packet.
    #[describe(choice, default = "circuit")]
    pub(super) switching: SwitchingTable,
    /// How the age of a packet counts, of which the oldest goes first: since age_from up to a limit,
    /// since age_from without limit, since it asks for its output of the switch.
    #[describe(choice, default = "saturating")]
    pub(super) age: AgeTable,
    /// Which of several packets equally old goes first: that at the input after the one served last,
    /// going around; any; that at the input of the lowest number.
    #[describe(words, label = "tie of ages", default = "round-robin")]
    pub(super) age_tie: AgeTie,
    /// Age beyond which all packets are equally old; not in the paper, from the reading of it.
    #[describe(kind = SPAN, default = "78 us", only(age = "saturating"))]
    pub(super) age_limit: Time,
    /// Where messages lie (section 4.1): in the memory of the network interface or in main memory
    /// behind its bus; sets the times of the DMA engine unless they are given.
    #[describe(words, default = "elan")]
    pub(super) memory: Memory,
    /// Whether packets that wait long cost their last link more: an empirical term for the 64 nodes of
    /// section 4.3.
    #[describe(choice, label = "late packets", default = "free")]
    pub(super) late: LateTable,
    #[describe(table)]
    pub(super) nic: NicTable,
}

/// How the tree is described, by the word of `machine.tree`.
#[derive(Describe)]
pub(super) enum TreeTable {
    KAry {
        /// k: links down, and up, of each switch; there are k^n nodes (section 2.2: 4).
        #[describe(kind = Kind::whole(2, PORTS_MAX / 2), example = "4")]
        arity: u32,
        /// n: levels of switches (section 2.2: 3).
        #[describe(kind = Kind::whole(1, 16), example = "3")]
        levels: u32,
        /// Links down of a leaf switch for each link up; it must divide the arity.
        #[describe(kind = Kind::whole(1, PORTS_MAX), default = 1)]
        taper: u32,
    },
    Ports {
        /// Number of nodes, each with one link.
        #[describe(kind = Kind::whole(2, NODES_MAX as u64), example = "648")]
        nodes: u32,
        #[describe(table)]
        ports: PortsTable,
    },
    Generalised {
        /// m: children of a switch of each level, leaf switches first; the nodes are their product.
        #[describe(label = "children", kind = Kind::Levels, example = "[8, 8]")]
        down: Vec<u32>,
        /// w: parents of a child of each level: of a node, of a leaf switch and so on; fewer than the
        /// links down below taper the tree.
        #[describe(label = "parents", kind = Kind::Levels, example = "[1, 4]")]
        up: Vec<u32>,
        /// Links between a child of each level and each of its parents.
        #[describe(label = "parallel links", kind = Kind::Levels, derived = "1 on each level")]
        parallel: Option<Vec<u32>>,
    },
}

/// `[machine.ports]`.
#[derive(Describe)]
pub(super) struct PortsTable {
    /// Ports towards the nodes of the switches of each level, leaf switches first.
    #[describe(label = "ports down", kind = Kind::Levels, example = "[24, 27]")]
    pub(super) down: Vec<u32>,
    /// Ports towards the top of the switches of each level but the top.
    #[describe(label = "ports up", kind = Kind::Levels, example = "[12]")]
    pub(super) up: Vec<u32>,
}

/// Which link up a packet takes, by the word of `machine.ascent`.
#[derive(Describe)]
pub(super) enum AscentTable {
    Adaptive {
        /// Which of the links that a packet can have is the least loaded: that with most free virtual
        /// channels, then the earliest free (with cut-through: most room in the buffers behind it); or
        /// any that carries no packet now, then the earliest free.
        #[describe(words, label = "load of a link", default = "room")]
        ascent_load: LinkLoad,
        /// Which of several links loaded alike a packet takes: any; that which has carried no packet
        /// for longest; that of the lowest number.
        #[describe(words, label = "tie of links", default = "random")]
        ascent_tie: LinkTie,
    },
    Destination,
    Source,
    Random,
}

/// How packets hold links, by the word of `machine.switching`.
#[derive(Describe)]
pub(super) enum SwitchingTable {
    Circuit {
        /// From the last byte of a packet at its destination to the acknowledgement; not in the paper,
        /// from the reading of it.
        #[describe(kind = SPAN, default = "50 ns")]
        acknowledgement: Time,
        /// What the acknowledgement takes for each switch on its way back.
        #[describe(label = "acknowledgement per hop", kind = SPAN, derived = "switch_latency")]
        acknowledgement_hop: Option<Time>,
    },
    CutThrough {
        /// Packets that an input of a switch can hold, all its virtual channels together; each channel
        /// has an equal part, whole packets.
        #[describe(kind = PACKETS, default = 16)]
        buffer: u32,
        /// Packets that an output of a switch can hold behind the crossbar, all virtual channels
        /// together; 0: none, a packet crosses onto the link and holds its input for so long.
        #[describe(kind = Kind::whole(0, 65_535), default = 0)]
        output_buffer: u32,
        /// How many times as fast as a link the crossbar of a switch is into each output buffer.
        #[describe(label = "crossbar speed-up", kind = Kind::whole(1, 64), default = 1)]
        speedup: u32,
        /// From a place of a buffer being free to the sender's knowing it.
        #[describe(label = "credit latency", kind = SPAN, derived = "switch_latency")]
        credit: Option<Time>,
    },
}

/// How the age of a packet counts, by the word of `machine.age`.
#[derive(Describe)]
pub(super) enum AgeTable {
    Saturating(Since),
    Unlimited(Since),
    PerSwitch,
}

/// Of ages that do not begin anew at each switch.
#[derive(Describe)]
pub(super) struct Since {
    /// Since when the age of a packet counts: its start on the link of its node; its message being
    /// handed to the interface; its header's arrival at the switch; its request for an output there,
    /// which with cut-through is when it is the first of its buffer.
    #[describe(words, default = "injection")]
    pub(super) age_from: AgeFrom,
}

/// Whether packets that wait long cost more, by the word of `machine.late`.
#[derive(Describe)]
pub(super) enum LateTable {
    Free,
    Charged {
        /// Time since its injection after which a packet is late.
        #[describe(kind = SPAN, default = "78 us")]
        late_after: Time,
        /// How much longer a late packet occupies its last link.
        #[describe(label = "cost of late packets", kind = SPAN, default = "87 ns")]
        late_cost: Time,
    },
}

/// `[machine.nic]`.
#[derive(Describe)]
pub(super) struct NicTable {
    /// Most data of one packet (section 2.2.1).
    #[describe(kind = PART, default = "320 B")]
    pub(super) payload: Bytes,
    /// What a packet has beside its data (section 4.1).
    #[describe(label = "packet overhead", kind = PART_OR_NONE, default = "58 B")]
    pub(super) overhead: Bytes,
    /// Data of a packet is padded to a multiple of this (section 2.2.1).
    #[describe(kind = PART, default = "64 B")]
    pub(super) padding: Bytes,
    /// Data of the packet that asks for a read.
    #[describe(label = "read request", kind = PART_OR_NONE, default = "64 B")]
    pub(super) request: Bytes,
    /// Packets of a node that may wait for their acknowledgement; each holds a virtual channel of the
    /// node's link.
    #[describe(kind = PACKETS, default = 2, only("machine.switching" = "circuit"))]
    pub(super) packets_in_flight: u32,
    /// From one packet of the DMA engine to its next; not in the paper, these fit its pings.
    #[describe(
        label = "DMA period",
        kind = PERIOD,
        derived = "955.2 ns with machine.memory = \"elan\", 1600 ns with \"main\""
    )]
    pub(super) dma_period: Option<Time>,
    /// What each block of nic.padding bytes adds to the DMA period.
    #[describe(label = "DMA time per block", kind = SPAN, default = "0 s")]
    pub(super) dma_block: Time,
    /// What each packet that comes in delays a busy DMA engine; not in the paper, these fit its
    /// bidirectional pings.
    #[describe(
        kind = SPAN,
        derived = "188 ns with machine.memory = \"elan\", 2400 ns with \"main\""
    )]
    pub(super) receive_delay: Option<Time>,
    /// From a message being asked for to its first packet; not in the paper, fits its latency.
    #[describe(kind = SPAN, default = "1.88 us")]
    pub(super) software_latency: Time,
    /// From the arrival of a read request to the first packet of its data.
    #[describe(kind = SPAN, default = "0 s")]
    pub(super) read_turnaround: Time,
    /// Packets that the DMA engine sends of one message before the next that waits has its turn.
    #[describe(label = "DMA slice", kind = PACKETS, default = 1)]
    pub(super) dma_slice: u32,
}
