//! Scenario tables of the links, switches and interfaces of a packet network. Section numbers are those of the
//! QsNET paper, whose network the defaults describe.

use isthmus_machine::packets::spec::{AgeFrom, AgeTie};
use isthmus_scenario::format::{Data, Describe, Span, Whole};
use isthmus_units::{Bandwidth, Bytes, Time};
use strum::{EnumString, VariantNames};

/// Maximum number of virtual channels of a link that engines can number.
pub(crate) const CHANNELS_MAX: u32 = 16;

/// Valid range of scenario fields that give a number of packets.
const PACKETS: Whole<u32> = Whole::new(1, 65_535);
/// Type of a scenario field: a time, 0 or longer; if a number has no unit, the error suggests nanoseconds.
const SPAN: Span = Span::or_zero("ns");
/// Type of a scenario field: a time above 0; if a number has no unit, the error suggests nanoseconds.
const PERIOD: Span = Span::above_zero("ns");

/// Valid range of a length within a packet, such as its payload.
const LENGTH_IN_PACKET: Data = Data::new(1, 1 << 20);

/// Valid range of a length within a packet, including 0.
const LENGTH_IN_PACKET_OR_NONE: Data = Data::new(0, 1 << 20);

/// Where messages are stored: in the memory of the Elan network interface, or in the main memory of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Memory {
    Elan,
    Main,
}

/// Fields of `[machine]` that describe the links, switches and interfaces of any packet network.
#[derive(Describe)]
pub struct NetworkTable {
    /// Bandwidth of a link in one direction, headers included (section 2.2).
    #[describe(label = "link bandwidth", default = "400 MB/s")]
    pub(crate) bandwidth: Bandwidth,
    /// From a header's start on a link to its request for a link beyond the next switch (section 2.2).
    #[describe(holds = PERIOD, default = "35 ns")]
    pub(crate) switch_latency: Time,
    /// Virtual channels of a link in one direction (section 2.2).
    #[describe(holds = Whole::new(1, CHANNELS_MAX as u64), default = 2)]
    pub(crate) virtual_channels: u32,
    /// How packets hold links: from the header to the acknowledgement (section 2.2.1), or while they
    /// cross them into a buffer with room for all of a packet.
    #[describe(choice, default = "circuit")]
    pub(crate) switching: SwitchingTable,
    /// How the age of a packet counts, of which the oldest goes first: since age_from up to a limit,
    /// since age_from without limit, since it asks for its output of the switch.
    #[describe(choice, default = "saturating")]
    pub(crate) age: AgeTable,
    /// Which of several packets equally old goes first: that at the input after the one served last,
    /// going around; any; that at the input of the lowest number.
    #[describe(words, label = "tie of ages", default = "round-robin")]
    pub(crate) age_tie: AgeTie,
    /// Age beyond which all packets are equally old; not in the paper, from the reading of it.
    #[describe(holds = SPAN, default = "78 us", only(age = "saturating"))]
    pub(crate) age_limit: Option<Time>,
    /// Where messages lie (section 4.1): in the memory of the network interface or in main memory
    /// behind its bus; sets the times of the DMA engine unless they are given.
    #[describe(words, default = "elan")]
    pub(crate) memory: Memory,
    /// Whether packets that wait long cost their last link more: an empirical term for the 64 nodes of
    /// section 4.3.
    #[describe(choice, label = "late packets", default = "free")]
    pub(crate) late: LateTable,
    #[describe(table)]
    pub(crate) nic: NicTable,
}

/// Fields of each kind of switching, selected by `machine.switching`.
#[derive(Describe)]
pub(crate) enum SwitchingTable {
    Circuit {
        /// From the last byte of a packet at its destination to the acknowledgement; not in the paper,
        /// from the reading of it.
        #[describe(holds = SPAN, default = "50 ns")]
        acknowledgement: Time,
        /// What the acknowledgement takes for each switch on its way back.
        #[describe(label = "acknowledgement per hop", holds = SPAN, derived = "switch_latency")]
        acknowledgement_hop: Option<Time>,
    },
    CutThrough {
        /// Packets that an input of a switch can hold, all its virtual channels together; each channel
        /// has an equal part, whole packets.
        #[describe(holds = PACKETS, default = 16)]
        buffer: u32,
        /// Packets that an output of a switch can hold behind the crossbar, all virtual channels
        /// together; 0: none, a packet crosses onto the link and holds its input for so long.
        #[describe(holds = Whole::new(0, 65_535), default = 0)]
        output_buffer: u32,
        /// How many times as fast as a link the crossbar of a switch is into each output buffer.
        #[describe(label = "crossbar speed-up", holds = Whole::new(1, 64), default = 1)]
        speedup: u32,
        /// From a place of a buffer being free to the sender's knowing it.
        #[describe(label = "credit latency", holds = SPAN, derived = "switch_latency")]
        credit: Option<Time>,
    },
}

/// Fields for each way to measure the age of a packet; `machine.age` selects one.
#[derive(Describe)]
pub(crate) enum AgeTable {
    Saturating(Since),
    Unlimited(Since),
    PerSwitch,
}

/// Fields of packet ages that do not restart at each switch: the event from which the age counts.
#[derive(Describe)]
pub(crate) struct Since {
    /// Since when the age of a packet counts: its start on the link of its node; its message being
    /// handed to the interface; its header's arrival at the switch; its request for an output there,
    /// which with cut-through is when it is the first of its buffer.
    #[describe(words, default = "injection")]
    pub(crate) age_from: AgeFrom,
}

/// Fields of the additional transmission time of packets that wait long, selected by `machine.late`.
#[derive(Describe)]
pub(crate) enum LateTable {
    Free,
    Charged {
        /// Time since its injection after which a packet is late.
        #[describe(holds = SPAN, default = "78 us")]
        late_after: Time,
        /// How much longer a late packet occupies its last link.
        #[describe(label = "cost of late packets", holds = SPAN, default = "87 ns")]
        late_cost: Time,
    },
}

/// Table `[machine.nic]`: the network interface of a node.
#[derive(Describe)]
pub(crate) struct NicTable {
    /// Most data of one packet (section 2.2.1).
    #[describe(holds = LENGTH_IN_PACKET, default = "320 B")]
    pub(crate) payload: Bytes,
    /// What a packet has beside its data (section 4.1); one without data has nothing else.
    #[describe(label = "packet overhead", holds = LENGTH_IN_PACKET, default = "58 B")]
    pub(crate) overhead: Bytes,
    /// Data of a packet is padded to a multiple of this (section 2.2.1); by default no more than the payload.
    #[describe(holds = LENGTH_IN_PACKET, default = "64 B")]
    pub(crate) padding: Bytes,
    /// Data of the packet that asks for a read; by default no more than the payload.
    #[describe(label = "read request", holds = LENGTH_IN_PACKET_OR_NONE, default = "64 B")]
    pub(crate) request: Bytes,
    /// Packets of a node that may wait for their acknowledgement; each holds a virtual channel of the
    /// node's link.
    #[describe(holds = PACKETS, default = 2, only("machine.switching" = "circuit"))]
    pub(crate) packets_in_flight: u32,
    /// From one packet of the DMA engine to its next; not in the paper, these fit its pings.
    #[describe(
        label = "DMA period",
        holds = PERIOD,
        derived = "955.2 ns with machine.memory = \"elan\", 1600 ns with \"main\""
    )]
    pub(crate) dma_period: Option<Time>,
    /// What each block of nic.padding bytes adds to the DMA period.
    #[describe(label = "DMA time per block", holds = SPAN, default = "0 s")]
    pub(crate) dma_block: Time,
    /// What each packet that comes in delays a busy DMA engine; not in the paper, these fit its
    /// bidirectional pings.
    #[describe(
        holds = SPAN,
        derived = "188 ns with machine.memory = \"elan\", 2400 ns with \"main\""
    )]
    pub(crate) receive_delay: Option<Time>,
    /// From a message being asked for to its first packet; not in the paper, fits its latency.
    #[describe(holds = SPAN, default = "1.88 us")]
    pub(crate) software_latency: Time,
    /// From the arrival of a read request to the first packet of its data.
    #[describe(holds = SPAN, default = "0 s")]
    pub(crate) read_turnaround: Time,
    /// Packets that the DMA engine sends of one message before the next that waits has its turn.
    #[describe(label = "DMA slice", holds = PACKETS, default = 1)]
    pub(crate) dma_slice: u32,
}
