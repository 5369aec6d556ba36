//! Description of links, switches and interfaces, as plain values.

pub use isthmus_packet::{Adaptive, AgeFrom, AgeTie, LinkLoad, LinkTie};
use isthmus_units::{Bandwidth, Bytes, Time};

/// Switching technique: allocation and release of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switching {
    /// The header opens a circuit: it reserves a virtual channel of each link until the acknowledgement
    /// passes back (section 2.2.1 of the QsNET paper).
    Circuit {
        /// Time from the arrival of a packet's last byte at its destination until the destination sends the
        /// acknowledgement.
        acknowledgement: Time,
        /// Time that the acknowledgement needs for each link on its way back.
        acknowledgement_hop: Time,
    },
    /// Virtual cut-through: a packet advances as soon as the next buffer has room for all of it.
    CutThrough {
        /// Capacity of an input of a switch, in packets, divided evenly among the virtual channels.
        buffer: u32,
        /// Time from the release of a buffer slot until the sender on the link knows that the slot is free.
        credit: Time,
        /// Capacity of each output buffer behind the crossbar, in packets. 0: no buffer, packets cross
        /// directly onto the link.
        output_buffer: u32,
        /// Ratio of the speed of the switch's crossbar to that of a link, 1 or more. It matters with output buffers.
        speedup: u32,
    },
}

/// Definition of the age of a packet, for switches that serve the oldest packet first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// The age counts from the event [`Readings::age_from`], up to a limit. Packets beyond the limit have
    /// equal ages.
    Saturating {
        /// Largest age that packets can have.
        limit: Time,
    },
    /// The age counts from the event [`Readings::age_from`], without a limit.
    Unlimited,
    /// The age counts from the packet's request for an output of the present switch, without a limit.
    /// [`Readings`] have no effect on it.
    PerSwitch,
}

/// Modelling choices where the QsNET paper, or data sheets of other fabrics, can be read in more than one
/// way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Readings {
    /// Event from which the age of a packet counts.
    pub age_from: AgeFrom,
    /// Choice among packets of equal age.
    pub age_tie: AgeTie,
    /// For adaptive routing: how the load of a link is measured, and how one of several links of equal load is chosen.
    pub adaptive: Adaptive,
}

/// The network interface of a node and the memory behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nic {
    /// Maximum data of one packet.
    pub payload: Bytes,
    /// Length of a packet without its payload: routing, headers, check sums.
    pub overhead: Bytes,
    /// The data of a packet is padded to a multiple of this length.
    pub padding: Bytes,
    /// Data of the request packet of a read, padding included; may be zero.
    pub request: Bytes,
    /// Maximum number of packets of one node that are in flight at the same time.
    pub packets_in_flight: u32,
    /// Time between two packets of the DMA engine, independent of their length.
    pub dma_period: Time,
    /// Additional time between two packets of the DMA engine, for each block of `padding` bytes in the packet.
    pub dma_block: Time,
    /// Time by which each packet that the node receives delays the sending DMA engine, if it is busy.
    pub receive_delay: Time,
    /// Time that software needs to send: from the handover of a message to the start of its first packet.
    pub software_latency: Time,
    /// Time from the arrival of the request packet of a read to the server's first packet.
    pub read_turnaround: Time,
    /// Number of packets of one message that the DMA engine sends before it turns to the next message.
    pub dma_slice: u32,
}

/// Penalty of late packets: a packet older than `after` needs the additional time `cost` on its last link. This
/// interprets section 4.3 of the QsNET paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatePackets {
    /// Age beyond which a packet is late.
    pub after: Time,
    /// Additional time of a late packet on its last link.
    pub cost: Time,
}

/// Properties of the links, switches and interfaces of a packet network, independent of its topology.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkSpec {
    /// Raw bandwidth of a link in one direction.
    pub bandwidth: Bandwidth,
    /// Time from a header's arrival at a switch to its departure without contention.
    pub switch_latency: Time,
    /// Number of virtual channels of a link in one direction.
    pub virtual_channels: u32,
    /// Switching technique: allocation and release of links.
    pub switching: Switching,
    /// Measure of the age of a packet, for switches that serve the oldest packet first.
    pub age: Age,
    /// Modelling choices where the papers that describe the modelled networks can be read in more than one way.
    pub readings: Readings,
    /// Properties of the network interfaces.
    pub nic: Nic,
    /// Additional time that packets need if they are late; `None` if lateness costs nothing.
    pub late: Option<LatePackets>,
}

impl NetworkSpec {
    /// Return the largest payload bandwidth of a node: full packets as fast as its link and its DMA
    /// engine allow (section 4.1 of the QsNET paper: the asymptotic bandwidth). Late acknowledgements
    /// may reduce it.
    pub fn injection_bandwidth(&self) -> Bandwidth {
        let nic = &self.nic;
        let blocks = nic.payload.get().div_ceil(nic.padding.get().max(1));
        let wire = blocks * nic.padding.get().max(1) + nic.overhead.get();
        let wire_ps = wire as f64 * 8e12 / self.bandwidth.bits_per_s() as f64;
        let engine_ps = nic.dma_period.ps() as f64 + blocks as f64 * nic.dma_block.ps() as f64;
        let bits = nic.payload.get() as f64 * 8.0;
        Bandwidth::from_bits_per_s((bits * 1e12 / wire_ps.max(engine_ps)).round() as u64)
    }
}
