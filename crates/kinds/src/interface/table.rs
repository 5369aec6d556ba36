//! Scenario tables `[machine]` and `[workload]` of a network interface. Section and figure numbers
//! are those of Steenkiste's paper on iWarp.

use isthmus_scenario::format::{Data, Describe, Span, Throughput, Whole};
use isthmus_stream_sim::spec::{From, Protocol, Reshuffle, Routing, To};
use isthmus_units::{Bandwidth, Bytes, Rate, Time};

/// Type of a scenario field: a time, 0 or longer; if a number has no unit, the error suggests microseconds.
const SPAN: Span = Span::or_zero("us");
/// Type of a scenario field: a time above 0; if a number has no unit, the error suggests nanoseconds.
const PERIOD: Span = Span::above_zero("ns");

/// Table `[machine]` of a network interface with its torus of cells.
#[derive(Describe)]
pub(super) struct MachineTable {
    /// Rows of cells of the torus (section 6.3: 8); row 0 is the edge at which the interface is.
    #[describe(holds = Whole::new(1, 4_096), default = 8)]
    pub(super) rows: u32,
    /// Columns of cells of the torus (section 6.3: 8).
    #[describe(holds = Whole::new(1, 4_096), default = 8)]
    pub(super) columns: u32,
    /// What a link between neighbouring cells carries one way, and a link to the interface (section
    /// 3); what crosses it shares it evenly (section 6.3).
    #[describe(label = "link bandwidth", default = "40 MB/s")]
    pub(super) bandwidth: Bandwidth,
    /// Links from the machine to the interface (section 3: 4); each has as many columns as the
    /// others, and is at the first of them.
    #[describe(label = "links to the interface", holds = Whole::new(1, 4_096), default = 4)]
    pub(super) links: u32,
    /// Which dimension data for the interface take first.
    #[describe(words, default = "column-first")]
    pub(super) routing: Routing,
    #[describe(table)]
    pub(super) cell: CellTable,
    #[describe(table)]
    pub(super) interface: InterfaceTable,
}

/// Table `[machine.cell]`: properties of a cell of the torus.
#[derive(Describe)]
pub(super) struct CellTable {
    /// A cycle of a cell's processor, the unit of costs per word: 20 MHz, which the paper does not give.
    #[describe(label = "processor cycle", holds = PERIOD, default = "50 ns")]
    pub(super) cycle: Time,
    /// A word (Figure 11: 4 B).
    #[describe(holds = Data::new(1, 64), default = "4 B")]
    pub(super) word: Bytes,
    /// What the processor of a cell moves of messages if it moves every byte itself, as in slow
    /// reshuffling (section 6.3); the messages that it sends, passes on and takes share it. The
    /// paper does not give it.
    #[describe(label = "processor copies", default = "20 MB/s")]
    pub(super) copy: Bandwidth,
    /// Time that a cell takes to begin a message (Figure 11). The paper does not give it.
    #[describe(label = "time per message", holds = SPAN, default = "2.5 us")]
    pub(super) message: Time,
}

/// Table `[machine.interface]`: properties of the network interface.
#[derive(Describe)]
pub(super) struct InterfaceTable {
    /// Processors of the interface, each with a memory bus (section 4.2: 2).
    #[describe(label = "interface processors", holds = Whole::new(1, 16), default = 2)]
    pub(super) processors: u32,
    /// What the memory bus of one processor carries (section 4.2).
    #[describe(label = "memory bus", default = "160 MB/s")]
    pub(super) bus: Bandwidth,
    /// How often data cross the memory bus on their way (section 4.2: once).
    #[describe(label = "bus crossings", holds = Whole::new(1, 16), default = 1)]
    pub(super) crossings: u32,
    /// Staging memory for what comes over the links (section 4.2); two TUs must fit.
    #[describe(label = "staging memory", holds = Data::ANY, default = "128 KiB")]
    pub(super) staging: Bytes,
    /// Network memory for packets (section 4.2). The paper does not give it.
    #[describe(label = "network memory", holds = Data::ANY, default = "2 MiB")]
    pub(super) memory: Bytes,
    /// DMA engines for links (section 5.3.2: 6).
    #[describe(label = "DMA engines", holds = Whole::new(1, 4_096), default = 6)]
    pub(super) engines: u32,
    /// Time of the interface's processor to set up a message from a cell over its link. The paper does
    /// not give it.
    #[describe(label = "set-up per message", holds = SPAN, default = "2.5 us")]
    pub(super) message: Time,
    /// Time of the interface's processor for a message of a small block, which it takes to its place
    /// itself (section 6.3: `reshuffle = "none"`). The paper does not give it.
    #[describe(label = "placement per block", holds = SPAN, derived = "machine.interface.message")]
    pub(super) place: Option<Time>,
    /// What moves from staging to network memory. The paper does not give it.
    #[describe(label = "store bandwidth", default = "160 MB/s")]
    pub(super) store: Bandwidth,
    /// Time of the interface's processor to hand over a packet, fitted to the idle time with raw
    /// HIPPI (section 4.3).
    #[describe(label = "time per packet", holds = SPAN, default = "78 us")]
    pub(super) packet: Time,
    /// Time of the interface's processor for the UDP and IP headers of a packet, fitted to the idle
    /// time with them (section 4.3).
    #[describe(label = "time per UDP packet", holds = SPAN, default = "95 us")]
    pub(super) udp: Time,
    /// Packets that the microcode of the interface sends at most (section 4.3).
    #[describe(label = "packet rate", default = "3000 /s")]
    pub(super) packet_rate: Rate,
    /// What the external network carries (section 2.1: HIPPI).
    #[describe(label = "network bandwidth", default = "100 MB/s")]
    pub(super) network: Bandwidth,
}

/// Table `[workload]`: a stream of application data units (ADUs).
#[derive(Describe)]
pub(super) struct WorkloadTable {
    /// Where data come from: the cells, or the interface's staging memory, in which they lie
    /// already.
    #[describe(words, default = "cells")]
    pub(super) origin: From,
    /// Where data go to: other cells, so that only the reshuffle runs; the memory of the interface;
    /// the external network.
    #[describe(words, default = "network")]
    pub(super) sink: To,
    /// How blocks become larger (section 6.3): not at all, and their order is lost; not at all, and
    /// the interface takes each to its place; by the processors of the cells; by their
    /// communication agents.
    #[describe(words, default = "fast")]
    pub(super) reshuffle: Reshuffle,
    /// Blocks of the application's distribution, which go round the cells of a row (section 6.2.1);
    /// a divisor of what a cell has of a TU.
    #[describe(label = "block size", holds = Data::ANY, default = "512 B")]
    pub(super) block: Bytes,
    /// An ADU, in whole TUs; rows have them one after another (section 5.2).
    #[describe(label = "ADU", holds = Data::ANY, derived = "a TU of each row")]
    pub(super) adu: Option<Bytes>,
    /// A transfer unit: what the interface takes at a time (section 5.2), a part of it from each
    /// cell of a row.
    #[describe(label = "TU", holds = Data::ANY, default = "64 KiB")]
    pub(super) tu: Bytes,
    /// Data of a packet of the external network.
    #[describe(label = "packet", holds = Data::ANY, derived = "a TU")]
    pub(super) packet: Option<Bytes>,
    /// Links to the interface that a TU is striped over.
    #[describe(label = "stripes", holds = Whole::new(1, 4_096), derived = "all of machine.links")]
    pub(super) stripes: Option<u32>,
    /// How many ADUs there are; a run ends with the last.
    #[describe(label = "ADUs", holds = Whole::new(1, 1_000_000), default = 8)]
    pub(super) adus: u64,
    /// What makes packets: the network itself, or UDP over IP (section 4.3).
    #[describe(words, default = "raw")]
    pub(super) protocol: Protocol,
    /// What is reserved, on all links on its way, for what one cell sends to the interface (section
    /// 6.3).
    #[describe(absent = "nothing: links are shared evenly", example = "\"20 MB/s\"")]
    pub(super) reservation: Option<Bandwidth>,
    /// Data that the application makes, an ADU at equal gaps.
    #[describe(
        label = "offered load",
        holds = Throughput::offered("MB/s"),
        absent = "an ADU is there when the one before has gone"
    )]
    pub(super) load: Option<Bandwidth>,
}
