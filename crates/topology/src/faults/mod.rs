//! Failed nodes and links of a (complete or incomplete) binary cube, and routing around them.

mod base;
mod dependencies;
mod detour;
mod local;
mod pairs;
mod routing;
mod up_down;

use thiserror::Error;

use crate::{Adjacency, Hop, IncompleteHypercube, distance};

pub use routing::{FaultyCube, FaultyRoute, RouteError, RoutingScheme};

/// An error in a list of failed nodes and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FaultError {
    /// A listed node does not exist.
    #[error("failed node {node}, but the nodes are 0 to {}", node_count - 1)]
    MissingNode {
        /// Number of the nonexistent node in the list of failed nodes.
        node: u32,
        /// Number of nodes of the cube.
        node_count: u32,
    },
    /// The ends of a listed link are not neighbours.
    #[error("failed link {from}-{to}, but {from} and {to} are not neighbours: their addresses differ in {} bits, not 1", (from ^ to).count_ones())]
    NotNeighbors {
        /// One end of the link in the list of failed links.
        from: u32,
        /// The other end of the link in the list of failed links.
        to: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the faults cut the network apart: {pair_count} ordered pairs of working nodes have no path, \
     the first from node {from} to node {to}"
)]
/// An error: some pairs of working nodes have no path, because the faults disconnect the network.
pub struct DisconnectedError {
    /// Source of the first pair of working nodes without a path.
    pub from: u32,
    /// Destination of the first pair of working nodes without a path.
    pub to: u32,
    /// Number of ordered pairs of working nodes without a path.
    pub pair_count: u64,
}

/// The failed nodes and links of a cube. A failed link fails in both directions; the links of a
/// failed node fail, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CubeFaults {
    cube: IncompleteHypercube,
    /// For each node, a bit set of the dimensions along which its link works.
    usable: Vec<u32>,
    failed: Vec<bool>,
    /// For each node the lowest node that it can reach over working links. The entries of failed
    /// nodes have no meaning.
    component: Vec<u32>,
}

impl CubeFaults {
    /// Return faults of `cube` (a [`Hypercube`](crate::Hypercube) or an [`IncompleteHypercube`]) at
    /// the given nodes and links. A node or link may be listed twice.
    ///
    /// # Errors
    /// A node does not exist, or the ends of a link are not neighbours.
    pub fn new(
        cube: impl Into<IncompleteHypercube>,
        nodes: &[u32],
        links: &[(u32, u32)],
    ) -> Result<Self, FaultError> {
        let cube = cube.into();
        let check = |node| match cube.contains(node) {
            true => Ok(()),
            false => Err(FaultError::MissingNode {
                node,
                node_count: cube.node_count(),
            }),
        };
        let dimensions = |node| {
            (0..cube.dimension())
                .filter(move |&dimension| cube.neighbor(node, dimension).is_some())
                .fold(0, |set, dimension| set | 1 << dimension)
        };
        let mut usable: Vec<u32> = cube.nodes().map(dimensions).collect();
        let mut failed = vec![false; usable.len()];
        for &(from, to) in links {
            check(from)?;
            check(to)?;
            if !(from ^ to).is_power_of_two() {
                return Err(FaultError::NotNeighbors { from, to });
            }
            usable[from as usize] &= !(from ^ to);
            usable[to as usize] &= !(from ^ to);
        }
        for &node in nodes {
            check(node)?;
            failed[node as usize] = true;
            usable[node as usize] = 0;
            for dimension in 0..cube.dimension() {
                if let Some(neighbor) = cube.neighbor(node, dimension) {
                    usable[neighbor as usize] &= !(1 << dimension);
                }
            }
        }
        let mut faults = Self {
            cube,
            usable,
            failed,
            component: Vec::new(),
        };
        faults.component = distance::parts(&faults);
        Ok(faults)
    }

    /// Create an empty set of faults of `cube`: all its nodes and links work.
    pub fn none(cube: impl Into<IncompleteHypercube>) -> Self {
        Self::new(cube, &[], &[]).expect("an empty list of faults names nothing that is missing")
    }

    /// Return whether nothing has failed.
    pub fn is_none(&self) -> bool {
        self.unusable_links().next().is_none() && !self.failed.contains(&true)
    }

    /// Return the cube that has these faults, as if it had none.
    pub fn cube(&self) -> IncompleteHypercube {
        self.cube
    }

    /// Return whether `node` has failed.
    pub fn is_failed(&self, node: u32) -> bool {
        self.failed[node as usize]
    }

    /// Return whether the link that leaves `node` along `dimension` exists and works, which implies
    /// that both ends work.
    pub fn is_usable(&self, node: u32, dimension: u32) -> bool {
        self.usable[node as usize] >> dimension & 1 == 1
    }

    /// Return the dimensions along which `node` has a working link, highest first.
    pub fn usable_dimensions(&self, node: u32) -> impl Iterator<Item = u32> + use<> {
        let mut set = self.usable[node as usize];
        std::iter::from_fn(move || {
            let dimension = set.checked_ilog2()?;
            set ^= 1 << dimension;
            Some(dimension)
        })
    }

    /// Return the working links as pairs of their ends, the lower node first, in ascending order,
    /// each once.
    pub fn working_links(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.cube.nodes().flat_map(move |node| {
            (0..self.cube.dimension())
                .filter(move |&dimension| {
                    node >> dimension & 1 == 0 && self.is_usable(node, dimension)
                })
                .map(move |dimension| (node, Hop { node, dimension }.target()))
        })
    }

    /// Return the working nodes, ascending.
    pub fn working_nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.cube.nodes().filter(|&node| !self.is_failed(node))
    }

    /// Return whether both nodes work and a path of working links joins them.
    pub fn is_reachable(&self, from: u32, to: u32) -> bool {
        !self.is_failed(from)
            && !self.is_failed(to)
            && self.component[from as usize] == self.component[to as usize]
    }

    /// Check that all working nodes can reach one another.
    ///
    /// # Errors
    /// The first unreachable pair of nodes, and the number of such pairs.
    pub fn check_connected(&self) -> Result<(), DisconnectedError> {
        let mut size = vec![0u64; self.component.len()];
        let mut working = 0;
        for node in self.working_nodes() {
            size[self.component[node as usize] as usize] += 1;
            working += 1;
        }
        let pair_count = size.iter().map(|&nodes| nodes * (working - nodes)).sum();
        if pair_count == 0 {
            return Ok(());
        }
        let from = self.working_nodes().next().unwrap_or(0);
        let to = self
            .working_nodes()
            .find(|&to| !self.is_reachable(from, to))
            .unwrap_or(from);
        Err(DisconnectedError {
            from,
            to,
            pair_count,
        })
    }

    /// Return the existing links that do not work, as pairs of a node and the dimension along which the link leaves it.
    /// Each link occurs twice, once for each end.
    fn unusable_links(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.cube.nodes().flat_map(move |node| {
            (0..self.cube.dimension())
                .filter(move |&dimension| {
                    self.cube.neighbor(node, dimension).is_some()
                        && !self.is_usable(node, dimension)
                })
                .map(move |dimension| (node, dimension))
        })
    }
}

impl Adjacency for CubeFaults {
    /// Return the number of nodes of the cube. Failed nodes count, but have no neighbours.
    fn node_count(&self) -> u32 {
        self.cube.node_count()
    }

    /// Return the nodes at the other ends of the working links of `node`, highest dimension first.
    fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        self.usable_dimensions(node)
            .map(move |dimension| Hop { node, dimension }.target())
    }
}
