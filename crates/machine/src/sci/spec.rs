//! Description of an SCI fabric, as plain values.

use strum::{EnumString, VariantNames};

pub use isthmus_sci::{ChangeFrom, FlowControl, Source};
use isthmus_topology::rings::{Faults, Routing, Shape};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::jobs::spec::JobsTraffic;

/// Treatment of nodes that faults leave without a path to or from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum CutOff {
    /// Report nodes without a path as an error in the description of the fabric.
    Refuse,
    /// Leave out those nodes that have no path to the others: they neither send nor receive. The largest connected part
    /// stays in service.
    LeaveOut,
}

/// Capacities of the queues of one interface, as numbers of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queues {
    /// Slots of each input queue.
    pub input: u32,
    /// Number of slots of each output queue for packets that an input port feeds.
    pub output: u32,
    /// Number of slots of each output queue for packets of the node's own client.
    pub client: u32,
}

/// Description of an SCI fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct SciSpec {
    /// Rings of the fabric and the nodes on them.
    pub shape: Shape,
    /// Rule by which packets choose among the shortest paths.
    pub routing: Routing,
    /// Failed nodes and links of the fabric.
    pub faults: Faults,
    /// Whether nodes that faults disconnect from the others are an error, or are left out of service.
    pub cut_off: CutOff,
    /// Bandwidth of a link, symbols and idles included.
    pub bandwidth: Bandwidth,
    /// Length of a symbol: the data that a link carries in one cycle.
    pub symbol: Bytes,
    /// Time from a node's output to the address decoder of the next node and through its bypass.
    pub hop: Time,
    /// Time from an agent's address decoder to its output on the next ring, including the routing decision.
    pub ring_change: Time,
    /// Event from which the time of a ring change is counted.
    pub ring_change_from: ChangeFrom,
    /// Header and check sum of a send packet.
    pub overhead: Bytes,
    /// Length of an echo packet.
    pub echo: Bytes,
    /// Number of slots of the queues of each interface.
    pub queues: Queues,
    /// Whether packets wait or are dropped if the queue of their node has no free slot.
    pub source: Source,
    /// Flow control that divides a busy ring among its nodes, if any.
    pub flow_control: FlowControl,
    /// Time without any delivery, while packets wait, after which a fabric counts as collapsed.
    pub patience: Time,
}

impl SciSpec {
    /// Return the specification of a fabric of this shape, with the parameters of the SCI paper (Table 1 and section
    /// 4.1).
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

/// Length in bytes of the shortest data block in IEEE 1596 (SCI); the length of every longer block is a multiple of it.
pub const BLOCK: u64 = 16;

/// Parameters for the split of job messages into SCI transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Maximum data of one transaction, 1 to 256 bytes (IEEE 1596).
    pub payload: Bytes,
    /// Time at the target from the arrival of a request to its response.
    pub turnaround: Time,
    /// Limit on the transactions of one message that are under way, 1 or more.
    pub transactions: u32,
}

/// Workload of jobs on an SCI fabric, with the parameters by which their messages are split into transactions.
#[derive(Debug, Clone, PartialEq)]
pub struct JobsOnRings {
    /// The jobs and their I/O servers.
    pub jobs: JobsTraffic,
    /// Split of the messages of jobs into transactions.
    pub transfer: Transfer,
}
