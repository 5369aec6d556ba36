//! Description of a hypercube, as plain values. Tables and sections are those of the hypercube paper.

pub use isthmus_topology::Lanes;
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::jobs::spec::JobsTraffic;
pub use isthmus_workload::storage::DiskSpec;
use strum::{EnumString, VariantNames};

/// Placement of the I/O nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacementSpec {
    /// The I/O nodes are at the code words of the Hamming code; only for dimensions 2^m - 1.
    Hamming,
    /// The I/O nodes are at the code words of the Hamming code in dimensions with a perfect code, else at those of
    /// combined 3-cubes (section 3.2).
    Combined,
    /// A dominating set of PEs: a minimum one if the solver ends in time, else the smallest set found.
    Dominating,
    /// I/O nodes at the PEs 0, s, 2s and so on, with the stride s that follows from `count`.
    Stride {
        /// Number of I/O nodes.
        count: u32,
    },
    /// I/O nodes at the PEs 0 to `count` - 1.
    Clustered {
        /// Number of I/O nodes.
        count: u32,
    },
    /// I/O nodes at the PEs of this list.
    List(Vec<u32>),
}

/// Model of the disk of an I/O node: requests queue for it, or all are served at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Service {
    /// All requests are served at once: disk access times are pure delays, as in the hypercube paper.
    Delay,
    /// Cache misses queue for the single disk of the I/O node, first come, first served.
    Queue,
}

/// Start-up overhead of messages, and properties of the I/O nodes and their disks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceSpec {
    /// Message start-up overhead (Table 1: 200 us).
    pub startup: Time,
    /// I/O node latency for a block from its cache (Table 1: 400 us).
    pub access: Time,
    /// Probability that a block is in the cache, 0 to 1.
    pub cache_hit_rate: f64,
    /// The disk behind the cache.
    pub disk: DiskSpec,
    /// Whether requests to the same disk wait for each other.
    pub service: Service,
}

impl Default for DeviceSpec {
    /// Return the devices of Table 1 of the hypercube paper, with the hit rate of 100% of section 5 and a disk
    /// of 20 ms mean access.
    fn default() -> Self {
        Self {
            startup: Time::from_us(200),
            access: Time::from_us(400),
            cache_hit_rate: 1.0,
            disk: DiskSpec {
                seek: Time::from_us(12_000),
                rotation: Time::from_us(16_000),
                transfer: None,
            },
            service: Service::Delay,
        }
    }
}

/// Failed parts of a hypercube.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaultSpec {
    /// Failed PE routers (with their PE).
    pub pes: Vec<u32>,
    /// Failed I/O nodes, by index in the sorted placement.
    pub io_nodes: Vec<u32>,
    /// Failed links between neighbouring PEs.
    pub links: Vec<(u32, u32)>,
    /// Failed links between neighbouring I/O nodes, by index.
    pub io_links: Vec<(u32, u32)>,
}

/// A binary hypercube of processing elements (PEs) with I/O nodes and, if `lanes.io_link > 0`, an I/O network.
#[derive(Debug, Clone, PartialEq)]
pub struct HypercubeSpec {
    /// Dimension of the PE hypercube, 1 to 20.
    pub dimension: u32,
    /// Length of one flit.
    pub flit: Bytes,
    /// Bandwidth of one lane.
    pub bandwidth: Bandwidth,
    /// Number of lanes (parallel channels) of each kind of link.
    pub lanes: Lanes,
    /// Placement of the I/O nodes.
    pub placement: PlacementSpec,
    /// Start-up overhead of messages, and properties of the I/O nodes and their disks.
    pub device: DeviceSpec,
    /// Failed parts of the hypercube.
    pub faults: FaultSpec,
}

impl HypercubeSpec {
    /// Return the number of I/O nodes, or `None` if only a search for a placement determines it.
    /// Codes with m parity bits have 2^(d - m) I/O nodes (section 3.2).
    pub fn io_node_count(&self) -> Option<u32> {
        match &self.placement {
            PlacementSpec::Hamming | PlacementSpec::Combined => {
                let parity_bits = (self.dimension + 1).ilog2();
                Some(1 << (self.dimension - parity_bits))
            }
            PlacementSpec::Dominating => None,
            PlacementSpec::Stride { count } | PlacementSpec::Clustered { count } => Some(*count),
            PlacementSpec::List(pes) => u32::try_from(pes.len()).ok(),
        }
    }

    /// Return the machine of the hypercube paper: 20 MB/s lanes, 1-byte flits, the numbers of lanes of
    /// section 5.1, and `b` lanes for each link of the I/O network.
    pub fn paper(dimension: u32, b: u32) -> Self {
        Self {
            dimension,
            flit: Bytes::new(1),
            bandwidth: Bandwidth::from_mb_per_s(20),
            lanes: Lanes::paper(dimension, b),
            placement: PlacementSpec::Combined,
            device: DeviceSpec::default(),
            faults: FaultSpec::default(),
        }
    }
}

/// Parameters for the split of job messages into worms (messages of the wormhole network).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Maximum data of one worm, 1 byte or more (Table 1: files of more than 128 KiB are split).
    pub unit: Bytes,
    /// Limit on the transfer units of one message that are under way, 1 or more.
    pub worms: u32,
    /// Length of a request message.
    pub request: Bytes,
}

/// Workload of jobs on a hypercube, and the split of their messages into worms.
#[derive(Debug, Clone, PartialEq)]
pub struct JobsOnCube {
    /// The jobs, whose servers are the I/O nodes.
    pub jobs: JobsTraffic,
    /// How the messages of jobs are split into worms, the units that wormhole routing transfers.
    pub transfer: Transfer,
}
