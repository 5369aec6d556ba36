//! What a fat tree is made of: plain values, no behaviour.

use isthmus_units::{Bandwidth, Bytes, Time};

/// How the switches of a fat tree are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A k-ary n-tree: `levels` levels of switches, each with `arity` links down and, but for the
    /// topmost, as many up (section 2.2 of the QsNET paper: 4-ary, of dimension 3).
    KAry {
        /// k: links down, and up, of a switch; 2 or more.
        arity: u32,
        /// n: levels of switches; there are k^n nodes.
        levels: u32,
    },
    /// An extended generalised fat tree: one entry of each list for each level, the one of the
    /// leaf switches first. The nodes are the product of `down`.
    Generalised {
        /// Children of a switch of this level.
        down: Vec<u32>,
        /// Parents that each child has on this level: the first entry is the links of a node, the
        /// next the links up of a leaf switch. Fewer than `down` taper the tree.
        up: Vec<u32>,
        /// Links between a child and each of its parents on this level.
        parallel: Vec<u32>,
    },
}

/// Which of its links up a switch chooses for a packet that has to go higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ascent {
    /// The one with the most free virtual channels, then the earliest free transmitter, then one
    /// at random.
    Adaptive,
    /// The one that the number of the destination gives (d-mod-k).
    Destination,
    /// The one that the number of the source gives (s-mod-k).
    Source,
    /// Any, at random.
    Random,
}

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
    },
}

/// Since when the age of a packet counts, for switches that serve the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Since its injection, up to a limit: packets beyond it are of one age.
    Saturating {
        /// The limit.
        limit: Time,
    },
    /// Since its injection, without limit.
    Unlimited,
    /// Since its arrival at the switch.
    PerSwitch,
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

/// A fat tree with its nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct FatTreeSpec {
    /// How its switches are joined.
    pub shape: Shape,
    /// Which links up packets take.
    pub ascent: Ascent,
    /// Bandwidth of a link in one direction, everything included.
    pub bandwidth: Bandwidth,
    /// From a header's arrival at a switch to its departure, if nothing is in its way.
    pub switch_latency: Time,
    /// Virtual channels of a link in one direction.
    pub virtual_channels: u32,
    /// How packets take and leave links.
    pub switching: Switching,
    /// Since when the age of a packet counts.
    pub age: Age,
    /// The network interfaces.
    pub nic: Nic,
    /// The cost of packets that wait long, if it is to be charged.
    pub late: Option<LatePackets>,
}
