//! What a file describes as its workload.

use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::packets::spec::PacketTraffic;
use isthmus_workload::spec::TrafficSpec;

/// A workload as plain values.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Workload {
    /// Messages and I/O requests of the PEs of a hypercube.
    Hypercube(TrafficSpec),
    /// Packets between the nodes of a fabric.
    Packets(PacketTraffic),
    /// Jobs on the nodes of a fat tree, and the I/O servers that they share.
    Jobs(JobsTraffic),
}

impl Workload {
    /// The traffic of a hypercube; `None` for other workloads.
    pub fn as_hypercube(&self) -> Option<&TrafficSpec> {
        match self {
            Self::Hypercube(traffic) => Some(traffic),
            _ => None,
        }
    }

    /// The traffic of a packet network; `None` for other workloads.
    pub fn as_packets(&self) -> Option<&PacketTraffic> {
        match self {
            Self::Packets(traffic) => Some(traffic),
            _ => None,
        }
    }

    /// The jobs of a fat tree; `None` for other workloads.
    pub fn as_jobs(&self) -> Option<&JobsTraffic> {
        match self {
            Self::Jobs(traffic) => Some(traffic),
            _ => None,
        }
    }
}
