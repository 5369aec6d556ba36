//! Plain types that describe a fabric of rings: its shape, its faults and its routing.

use strum::{EnumString, VariantNames};

/// The shape of a fabric of directed rings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// One ring, on which node i sends to node i + 1.
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
    /// The unit squares of a torus grid, all in the same direction of rotation: as many rings of
    /// four as nodes, each node on four (section 4.3 of the SCI paper).
    UniformRingTorus {
        /// Columns (x) and rows (y), each 3 or more.
        sizes: [u32; 2],
    },
    /// A Manhattan street network: one ring along each row and each column of a torus grid,
    /// neighbouring ones in opposite directions.
    Manhattan {
        /// Columns (x) and rows (y), each an even number.
        sizes: [u32; 2],
    },
    /// The listed rings, each a list of nodes in the order in which packets pass them.
    Rings(Vec<Vec<u32>>),
}

impl Shape {
    /// Return the number of nodes.
    pub fn node_count(&self) -> u32 {
        match self {
            Self::Ring { nodes } | Self::CounterRotating { nodes } => *nodes,
            Self::Torus { sizes } | Self::BidirectionalTorus { sizes } => sizes.iter().product(),
            Self::UniformRingTorus { sizes } | Self::Manhattan { sizes } => sizes.iter().product(),
            Self::Rings(rings) => rings.iter().flatten().max().map_or(0, |last| last + 1),
        }
    }
}

/// The rule by which a packet selects one of its shortest paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Routing {
    /// Dimension by dimension, x first. Of two equally long directions, one is chosen at random for
    /// each packet. Only for fabrics with dimensions.
    DimensionOrder,
    /// The first path: at every node the packet takes the ring with the lowest number that is on a
    /// shortest path.
    Fixed,
    /// Any shortest path, at random for each packet, all with the same probability.
    Random,
    /// Any shortest path with the fewest changes of ring, at random for each packet, all with the
    /// same probability.
    FewestChanges,
}

/// One segment of a path: a number of consecutive links on one ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment {
    /// Number of the ring that the segment follows.
    pub ring: u32,
    /// Number of consecutive links on the ring, 1 or more.
    pub hops: u32,
}

/// Failed nodes and links of a fabric. A failure takes all rings of the node or link out of
/// service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults {
    /// Numbers of the failed nodes.
    pub nodes: Vec<u32>,
    /// Failed links, each as a node and the next node on one of its rings.
    pub links: Vec<(u32, u32)>,
}
