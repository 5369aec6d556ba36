//! How a fabric is described: plain values.

use strum::{EnumString, VariantNames};

/// A fabric of directed rings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// One ring; node i sends to node i + 1.
    Ring {
        /// Number of nodes.
        nodes: u32,
    },
    /// Two rings over the same nodes, in opposite directions.
    CounterRotating {
        /// Number of nodes.
        nodes: u32,
    },
    /// A k-ary n-cube with one ring along each line of each dimension.
    Torus {
        /// Nodes in each dimension; dimension 0 (x) varies fastest in node numbers.
        sizes: Vec<u32>,
    },
    /// A k-ary n-cube with two opposite rings along each line.
    BidirectionalTorus {
        /// Nodes in each dimension; dimension 0 (x) varies fastest in node numbers.
        sizes: Vec<u32>,
    },
    /// The unit squares of a torus grid, all rotating the same way: as many rings of four as
    /// nodes, each node on four (section 4.3 of the SCI paper).
    UniformRingTorus {
        /// Columns (x) and rows (y), each 3 or more.
        sizes: [u32; 2],
    },
    /// A Manhattan street network: one ring along each row and each column of a torus grid,
    /// neighbouring ones in opposite directions.
    Manhattan {
        /// Columns (x) and rows (y), each even.
        sizes: [u32; 2],
    },
    /// These rings, each a list of nodes in the order in which packets pass them.
    Rings(Vec<Vec<u32>>),
}

impl Shape {
    /// Number of nodes.
    pub fn node_count(&self) -> u32 {
        match self {
            Self::Ring { nodes } | Self::CounterRotating { nodes } => *nodes,
            Self::Torus { sizes } | Self::BidirectionalTorus { sizes } => sizes.iter().product(),
            Self::UniformRingTorus { sizes } | Self::Manhattan { sizes } => sizes.iter().product(),
            Self::Rings(rings) => rings.iter().flatten().max().map_or(0, |last| last + 1),
        }
    }
}

/// Which of the shortest paths a packet takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Routing {
    /// Dimension by dimension, x first; of two equally long directions one at random for each
    /// packet. Only for fabrics with dimensions.
    DimensionOrder,
    /// The first: at every node the ring with the lowest number that leads on.
    Fixed,
    /// Any, all with the same probability, drawn for each packet.
    Random,
    /// Those with the fewest changes of ring, all with the same probability, drawn for each packet.
    FewestChanges,
}

/// One stretch of a path: `hops` links along one ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment {
    /// Number of the ring.
    pub ring: u32,
    /// Links to go on it, 1 or more.
    pub hops: u32,
}

/// What has failed. A failed link or node takes every ring that it is part of out of service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults {
    /// Failed nodes.
    pub nodes: Vec<u32>,
    /// Failed links, each from a node to the next on one of its rings.
    pub links: Vec<(u32, u32)>,
}
