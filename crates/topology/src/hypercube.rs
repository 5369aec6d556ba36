//! The binary hypercube: addresses, links and e-cube routes.

use thiserror::Error;

use crate::Adjacency;

/// Maximum dimension of a hypercube: 2^20 = 1,048,576 nodes.
pub const MAX_DIMENSION: u32 = 20;

/// An error: the requested dimension of a hypercube is outside 1 to [`MAX_DIMENSION`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a hypercube has 1 to {MAX_DIMENSION} dimensions, not {dimension}")]
pub struct DimensionError {
    /// Requested number of dimensions.
    pub dimension: u32,
}

/// A binary hypercube. Two nodes are neighbours if their addresses differ in exactly one bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hypercube {
    dimension: u32,
}

impl Hypercube {
    /// Return a hypercube of 2^`dimension` nodes.
    ///
    /// # Errors
    /// When `dimension` is not 1 to [`MAX_DIMENSION`].
    pub const fn new(dimension: u32) -> Result<Self, DimensionError> {
        if dimension == 0 || dimension > MAX_DIMENSION {
            return Err(DimensionError { dimension });
        }
        Ok(Self { dimension })
    }

    /// Return the number of dimensions.
    pub const fn dimension(self) -> u32 {
        self.dimension
    }

    /// Return the number of nodes, 2^dimension.
    pub const fn node_count(self) -> u32 {
        1 << self.dimension
    }

    /// Return the number of directed links, dimension * 2^dimension.
    pub const fn link_count(self) -> usize {
        self.node_count() as usize * self.dimension as usize
    }

    /// Return whether `node` is an address of this cube.
    pub const fn contains(self, node: u32) -> bool {
        node < self.node_count()
    }

    /// Return all nodes in ascending order.
    pub const fn nodes(self) -> std::ops::Range<u32> {
        0..self.node_count()
    }

    /// Return the neighbour of `node` along `dimension`.
    pub const fn neighbor(self, node: u32, dimension: u32) -> u32 {
        debug_assert!(self.contains(node) && dimension < self.dimension);
        node ^ (1 << dimension)
    }

    /// Return the neighbours of `node`, lowest dimension first.
    pub fn neighbors(self, node: u32) -> impl Iterator<Item = u32> + use<> {
        (0..self.dimension).map(move |dimension| node ^ (1 << dimension))
    }

    /// Return the number of hops between two nodes, which is the number of differing address bits.
    pub const fn distance(self, from: u32, to: u32) -> u32 {
        (from ^ to).count_ones()
    }

    /// Return the dense index of the directed link that leaves `node` along `dimension`, below
    /// [`link_count`](Self::link_count).
    pub const fn link(self, node: u32, dimension: u32) -> usize {
        debug_assert!(self.contains(node) && dimension < self.dimension);
        node as usize * self.dimension as usize + dimension as usize
    }

    /// Return the hop that crosses the link with this index; the inverse of [`link`](Self::link).
    pub const fn hop(self, link: usize) -> Hop {
        debug_assert!(link < self.link_count());
        let dimension = self.dimension as usize;
        Hop {
            node: (link / dimension) as u32,
            dimension: (link % dimension) as u32,
        }
    }

    /// Return the e-cube route, which crosses the differing dimensions from highest to lowest
    /// (section 4.2 of the hypercube paper). The route is empty if `from == to`. The method
    /// allocates no memory.
    pub const fn route(self, from: u32, to: u32) -> Route {
        debug_assert!(self.contains(from) && self.contains(to));
        Route {
            node: from,
            remaining: from ^ to,
            last: 0,
        }
    }
}

impl Adjacency for Hypercube {
    /// Return the number of nodes, 2^dimension.
    fn node_count(&self) -> u32 {
        Hypercube::node_count(*self)
    }

    /// Return the neighbours of `node`, lowest dimension first.
    fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        Hypercube::neighbors(*self, node)
    }
}

/// One hop of a route: the directed link that leaves `node` along `dimension`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// The node that the hop leaves.
    pub node: u32,
    /// The dimension that the hop crosses.
    pub dimension: u32,
}

impl Hop {
    /// Return the node that the hop enters.
    pub const fn target(self) -> u32 {
        self.node ^ (1 << self.dimension)
    }
}

/// The hops of a route in order, computed from the addresses without allocating.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub(crate) node: u32,
    /// Dimensions that the route has yet to cross, as a bit set.
    pub(crate) remaining: u32,
    /// The dimension in `remaining` that the route crosses last, as a bit set of at most one
    /// dimension.
    pub(crate) last: u32,
}

impl Iterator for Route {
    /// One hop of the route: a node and the dimension of the link that leaves it.
    type Item = Hop;

    /// Return the next hop of the route, or `None` at the destination.
    #[inline]
    fn next(&mut self) -> Option<Hop> {
        if self.remaining == 0 {
            return None;
        }
        let early = self.remaining & !self.last;
        let dimension = if early == 0 { self.last } else { early }.ilog2();
        let hop = Hop {
            node: self.node,
            dimension,
        };
        self.remaining ^= 1 << dimension;
        self.node ^= 1 << dimension;
        Some(hop)
    }
}
