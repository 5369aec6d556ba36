//! What an SCI fabric is made of: plain values, no behaviour.

use strum::{EnumString, VariantNames};

pub use isthmus_sci::{ChangeFrom, FlowControl, Source};
use isthmus_topology::rings::{Faults, Routing, Shape};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::jobs::spec::JobsTraffic;

/// What becomes of nodes that a fault leaves without a path to or from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum CutOff {
    /// It is an error of the description.
    Refuse,
    /// They neither send nor receive; the largest part that holds together goes on.
    LeaveOut,
}

/// Slots of the queues of one interface, in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queues {
    /// Slots of each input queue.
    pub input: u32,
    /// Slots of each output queue that an input port feeds.
    pub output: u32,
    /// Slots of each output queue that the client feeds.
    pub client: u32,
}

/// An SCI fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct SciSpec {
    /// Its rings.
    pub shape: Shape,
    /// Which of the shortest paths packets take.
    pub routing: Routing,
    /// What has failed.
    pub faults: Faults,
    /// What becomes of nodes that faults cut off.
    pub cut_off: CutOff,
    /// Bandwidth of a link, symbols and idles included.
    pub bandwidth: Bandwidth,
    /// Length of a symbol: what a link carries in one cycle.
    pub symbol: Bytes,
    /// From a node's output to the address decoder of the next and through its bypass.
    pub hop: Time,
    /// From an agent's address decoder to its output on the next ring, routing decision included.
    pub ring_change: Time,
    /// When that begins.
    pub ring_change_from: ChangeFrom,
    /// Header and check sum of a send packet.
    pub overhead: Bytes,
    /// Length of an echo packet.
    pub echo: Bytes,
    /// Slots of the queues.
    pub queues: Queues,
    /// Where a client's packets wait.
    pub source: Source,
    /// How a busy ring is shared.
    pub flow_control: FlowControl,
    /// Time without any delivery, packets waiting, after which a fabric has collapsed.
    pub patience: Time,
}

impl SciSpec {
    /// A fabric of the SCI paper (Table 1 and section 4.1), of this shape.
    pub fn of_paper(shape: Shape) -> Self {
        Self {
            shape,
            routing: Routing::DimensionOrder,
            faults: Faults::default(),
            cut_off: CutOff::Refuse,
            bandwidth: Bandwidth::from_mb_per_s(1_000),
            symbol: Bytes::new(2),
            hop: Time::from_ns(34),
            ring_change: Time::from_ns(66),
            ring_change_from: ChangeFrom::Header,
            overhead: Bytes::new(16),
            echo: Bytes::new(8),
            queues: Queues {
                input: 5,
                output: 5,
                client: 5,
            },
            source: Source::Unbounded,
            flow_control: FlowControl::None,
            patience: Time::from_us(20),
        }
    }
}

/// Bytes of the shortest block of data of IEEE 1596; longer ones are multiples of it.
pub const BLOCK: u64 = 16;

/// How messages of jobs become transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Most data of one transaction, 1 to 256 bytes (IEEE 1596).
    pub payload: Bytes,
    /// From the arrival of a request to its response, at the target.
    pub turnaround: Time,
    /// Transactions of one message that may be under way, 1 or more.
    pub transactions: u32,
}

/// The work of a fabric on which jobs run.
#[derive(Debug, Clone, PartialEq)]
pub struct JobsOnRings {
    /// The jobs and their I/O servers.
    pub jobs: JobsTraffic,
    /// How their messages become transactions.
    pub transfer: Transfer,
}
