//! What links, switches and interfaces are made of: plain values, no behaviour.

pub use isthmus_packet::{Adaptive, AgeFrom, AgeTie, LinkLoad, LinkTie};
use isthmus_units::{Bandwidth, Bytes, Time};

/// How packets take and leave links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switching {
    /// The header opens a circuit, a virtual channel of each link, that is held until the
    /// acknowledgement passes back (section 2.2.1 of the QsNET paper).
    Circuit {
        /// From the last byte of a packet at its destination to the acknowledgement.
        acknowledgement: Time,
        /// What the acknowledgement takes for each link on its way back.
        acknowledgement_hop: Time,
    },
    /// Virtual cut-through: a packet goes on as soon as the next buffer has a place for all of it.
    CutThrough {
        /// Packets that an input of a switch can hold, all its virtual channels together; each
        /// has an equal part.
        buffer: u32,
        /// From a place of a buffer being free to the sender of the link knowing.
        credit: Time,
        /// Packets that each output of a switch can hold behind the crossbar; 0: none, packets cross
        /// onto the link.
        output_buffer: u32,
        /// How many times as fast as a link the crossbar is into such a buffer, 1 or more.
        speedup: u32,
    },
}

/// How the age of a packet counts, for switches that serve the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// From [`Readings::age_from`] on, up to a limit: packets beyond it are of one age.
    Saturating {
        /// The limit.
        limit: Time,
    },
    /// From there on, without limit.
    Unlimited,
    /// From its request for an output of the switch, without limit, whatever the readings say.
    PerSwitch,
}

/// What the QsNET paper, or data sheets of other fabrics, can be read to say in more than one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Readings {
    /// From when the age of a packet counts.
    pub age_from: AgeFrom,
    /// Who goes first of those equally old.
    pub age_tie: AgeTie,
    /// Which link is the least loaded, and which of several loaded alike is taken.
    pub adaptive: Adaptive,
}

/// The network interface of a node and the memory behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nic {
    /// Most data of one packet.
    pub payload: Bytes,
    /// What a packet has beside its payload: routing, headers, check sums.
    pub overhead: Bytes,
    /// Data of a packet is padded to a multiple of this.
    pub padding: Bytes,
    /// Data of the packet that asks for a read, padding included; may be none.
    pub request: Bytes,
    /// Packets of a node that may be under way at a time.
    pub packets_in_flight: u32,
    /// From one packet of the DMA engine to its next, whatever its length.
    pub dma_period: Time,
    /// What each block of `padding` bytes of a packet adds to that.
    pub dma_block: Time,
    /// What each packet received delays a busy DMA engine.
    pub receive_delay: Time,
    /// From a message being asked for to its first packet.
    pub software_latency: Time,
    /// From the arrival of the packet that asks for a read to the server's first packet.
    pub read_turnaround: Time,
    /// Packets that the DMA engine sends of one message before the next that waits has its turn.
    pub dma_slice: u32,
}

/// An empirical cost of packets that wait long (the reading of section 4.3 of the QsNET paper).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatePackets {
    /// Age beyond which a packet is late.
    pub after: Time,
    /// What a late packet costs its last link.
    pub cost: Time,
}

/// What the links, switches and interfaces of a network of packets are like, whatever its form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkSpec {
    /// Bandwidth of a link in one direction, everything included.
    pub bandwidth: Bandwidth,
    /// From a header's arrival at a switch to its departure, if nothing is in its way.
    pub switch_latency: Time,
    /// Virtual channels of a link in one direction.
    pub virtual_channels: u32,
    /// How packets take and leave links.
    pub switching: Switching,
    /// How the age of a packet counts.
    pub age: Age,
    /// Where there are several readings.
    pub readings: Readings,
    /// The network interfaces.
    pub nic: Nic,
    /// The cost of packets that wait long, if it is to be charged.
    pub late: Option<LatePackets>,
}

impl NetworkSpec {
    /// The most payload that a node can send: full packets as fast as its link and its DMA engine
    /// allow (section 4.1 of the QsNET paper: the asymptotic bandwidth). Acknowledgements that come
    /// late may hold it below that.
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
