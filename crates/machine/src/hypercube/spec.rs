//! What a machine is made of: plain values, no behaviour.

pub use isthmus_topology::Lanes;
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::jobs::spec::JobsTraffic;
pub use isthmus_workload::storage::DiskSpec;
use strum::{EnumString, VariantNames};

/// Where the I/O nodes go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacementSpec {
    /// Code words of the Hamming code; dimensions 2^m - 1 only.
    Hamming,
    /// Hamming where it is perfect, else combined 3-cubes (section 3.2).
    Combined,
    /// A minimum dominating set, exact where the solver ends in time, else the best found.
    Dominating,
    /// PEs 0, s, 2s, ... for `count` I/O nodes.
    Stride {
        /// Number of I/O nodes.
        count: u32,
    },
    /// PEs 0 to count - 1.
    Clustered {
        /// Number of I/O nodes.
        count: u32,
    },
    /// These PEs.
    List(Vec<u32>),
}

/// How requests share an I/O node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Service {
    /// Access times are pure delays, as in the hypercube paper.
    Delay,
    /// Cache misses queue for the I/O node's one disk, first come first served.
    Queue,
}

/// Start-up overhead, I/O node and disk.
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
    /// How requests share the disk.
    pub service: Service,
}

impl Default for DeviceSpec {
    /// Table 1, with the hit rate of 100% of section 5 and a disk of 20 ms mean access.
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

/// What has failed.
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

/// A binary hypercube of PEs with I/O nodes and, if `lanes.io_link > 0`, an I/O network.
#[derive(Debug, Clone, PartialEq)]
pub struct HypercubeSpec {
    /// Dimension of the PE hypercube, 1 to 20.
    pub dimension: u32,
    /// Length of one flit.
    pub flit: Bytes,
    /// Bandwidth of one lane.
    pub bandwidth: Bandwidth,
    /// Lanes of each kind of link.
    pub lanes: Lanes,
    /// Where the I/O nodes go.
    pub placement: PlacementSpec,
    /// Start-up overhead, I/O node and disk.
    pub device: DeviceSpec,
    /// What has failed.
    pub faults: FaultSpec,
}

impl HypercubeSpec {
    /// Number of I/O nodes, where it follows from the placement without a search: 2^(d - m) for the
    /// codes with m parity bits (section 3.2).
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

    /// The paper's machine: 20 MB/s lanes, 1-byte flits, widths of section 5.1.
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

/// How the messages of jobs become worms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Most data of one worm, 1 B or more (Table 1: files of more than 128 KiB are broken up).
    pub unit: Bytes,
    /// Transfer units of one message that may be under way, 1 or more.
    pub worms: u32,
    /// Length of a request.
    pub request: Bytes,
}

/// The work of a hypercube on which jobs run.
#[derive(Debug, Clone, PartialEq)]
pub struct JobsOnCube {
    /// The jobs; their servers are the I/O nodes.
    pub jobs: JobsTraffic,
    /// How their messages become worms.
    pub transfer: Transfer,
}
