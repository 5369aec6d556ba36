//! The incomplete hypercube: a binary cube with any number of nodes.

use thiserror::Error;

use crate::deadlock::{self, DependencyCycle, Numbering};
use crate::{Adjacency, Hop, Hypercube, MAX_DIMENSION, Route};

/// An error: the requested number of nodes of a cube is outside 1 to 2^[`MAX_DIMENSION`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an incomplete hypercube has 1 to {} nodes, not {node_count}", 1u32 << MAX_DIMENSION)]
pub struct NodeCountError {
    /// Requested number of nodes, which is not permitted.
    pub node_count: u32,
}

/// A binary cube that contains only the nodes `0..node_count`. Two nodes are neighbours if their
/// labels differ in one bit.
///
/// This is the network of the I/O nodes (section 3.2 of the hypercube paper). Labelled by their
/// rank in the sorted placement, they form a cube of ceil(log2 count) dimensions, which is complete
/// if their number is a power of two.
///
/// # Routing
/// [`route`](Self::route) is e-cube, highest differing dimension first, with one exception. Let *i*
/// be the highest differing dimension, and let the block of 2^(i+1) labels around both ends be cut
/// off. Then the half with bit *i* set is incomplete. A route into that half crosses *i* last
/// instead of first, so every other hop is in the complete half. A route out of it crosses *i*
/// first, as e-cube does. So all labels on the route exist, every route is shortest, and in a
/// complete cube the routes are exactly e-cube.
///
/// The routing is free of deadlock: order the links of a cut block as (out of the upper half) <
/// (links of the lower half in e-cube order) < (into the upper half), and repeat inside the upper
/// half, which shares no link with the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IncompleteHypercube {
    node_count: u32,
    dimension: u32,
}

impl IncompleteHypercube {
    /// Return the incomplete hypercube of nodes `0..node_count`.
    ///
    /// # Errors
    /// When `node_count` is not 1 to 2^[`MAX_DIMENSION`].
    pub const fn new(node_count: u32) -> Result<Self, NodeCountError> {
        if node_count == 0 || node_count > 1 << MAX_DIMENSION {
            return Err(NodeCountError { node_count });
        }
        Ok(Self {
            node_count,
            dimension: node_count.next_power_of_two().ilog2(),
        })
    }

    /// Return the number of dimensions, ceil(log2 node_count); 0 for a single node.
    pub const fn dimension(self) -> u32 {
        self.dimension
    }

    /// Return the number of nodes.
    pub const fn node_count(self) -> u32 {
        self.node_count
    }

    /// Return whether the number of nodes is a power of two.
    pub const fn is_complete(self) -> bool {
        self.node_count.is_power_of_two()
    }

    /// Return whether `node` is a label of this cube.
    pub const fn contains(self, node: u32) -> bool {
        node < self.node_count
    }

    /// Return all nodes in ascending order.
    pub const fn nodes(self) -> std::ops::Range<u32> {
        0..self.node_count
    }

    /// Return the neighbour of `node` along `dimension`, if it exists.
    pub const fn neighbor(self, node: u32, dimension: u32) -> Option<u32> {
        debug_assert!(self.contains(node) && dimension < self.dimension);
        let neighbor = node ^ (1 << dimension);
        if self.contains(neighbor) {
            Some(neighbor)
        } else {
            None
        }
    }

    /// Return the neighbours of `node`, lowest dimension first.
    pub fn neighbors(self, node: u32) -> impl Iterator<Item = u32> + use<> {
        (0..self.dimension).filter_map(move |dimension| self.neighbor(node, dimension))
    }

    /// Return the number of hops between two nodes, which is the number of differing label bits.
    pub const fn distance(self, from: u32, to: u32) -> u32 {
        (from ^ to).count_ones()
    }

    /// Return the upper bound of the indices of directed links, node_count * dimension. The indices
    /// of links to missing labels are unused.
    pub const fn link_count(self) -> usize {
        self.node_count as usize * self.dimension as usize
    }

    /// Return the index of the directed link that leaves `node` along `dimension`.
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

    /// Return the route between two nodes, which passes existing labels only. The documentation of
    /// the type describes the rule. The route is empty if `from == to`. The method allocates no
    /// memory.
    pub const fn route(self, from: u32, to: u32) -> Route {
        debug_assert!(self.contains(from) && self.contains(to));
        let remaining = from ^ to;
        let mut last = 0;
        if remaining != 0 {
            let top = 1 << remaining.ilog2();
            // Compute the largest label in the aligned block of 2 * top labels that contains both ends.
            let block_end = to | (2 * top - 1);
            if to & top != 0 && block_end >= self.node_count {
                last = top;
            }
        }
        Route {
            node: from,
            remaining,
            last,
        }
    }
}

impl IncompleteHypercube {
    /// Return the links that some route crosses right after `link`, ascending. These are the
    /// channel dependencies of `link`, for [`deadlock::check`](crate::deadlock::check). No links
    /// follow a link to a missing label.
    pub fn successors(self, link: usize) -> impl Iterator<Item = usize> + use<> {
        let held = self.hop(link);
        let exists = self.contains(held.target());
        let dimensions = if exists { self.dimension } else { 0 };
        (0..dimensions).filter_map(move |dimension| {
            let to = self.neighbor(held.target(), dimension)?;
            // Any part of a route is a route, so it suffices to check routes of two hops.
            let second = self.route(held.node, to).nth(1)?;
            (second.node == held.target()).then(|| self.link(second.node, second.dimension))
        })
    }

    /// Check that the routes cannot deadlock.
    ///
    /// # Errors
    /// A cycle of links; no cube has one.
    pub fn check_deadlock(self) -> Result<Numbering, DependencyCycle> {
        deadlock::check(self.link_count(), |link| self.successors(link))
    }
}

impl From<Hypercube> for IncompleteHypercube {
    /// Convert a complete hypercube to an incomplete hypercube with the same nodes.
    fn from(cube: Hypercube) -> Self {
        Self {
            node_count: cube.node_count(),
            dimension: cube.dimension(),
        }
    }
}

impl Adjacency for IncompleteHypercube {
    /// Return the number of nodes of the cube.
    fn node_count(&self) -> u32 {
        self.node_count
    }

    /// Return the neighbours of `node`, lowest dimension first.
    fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        IncompleteHypercube::neighbors(*self, node)
    }
}
