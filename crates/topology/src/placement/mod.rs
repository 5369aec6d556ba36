//! Placements: the set of PEs with an I/O node, and the I/O node that serves each PE.
//!
//! | constructor | I/O nodes | server of a PE |
//! |---|---|---|
//! | [`Placement::hamming`] | code words of a Hamming code; 2^m - 1 dimensions only | the one I/O node within a hop |
//! | [`Placement::combined`] | Hamming where it is perfect, else smaller perfect cubes combined | the one I/O node within a hop in its own aligned subcube |
//! | [`Placement::stride`] | evenly spread addresses | nearest |
//! | [`Placement::clustered`] | the lowest addresses | nearest |
//! | [`Placement::list`] | in the given order | nearest |
//! | [`Placement::dominating`] | as few as possible, with every PE within a hop | nearest |
//!
//! *Nearest* counts hops between PEs; ties are balanced by the rule of [`Placement::nearest`].

mod assignment;
mod code;
mod coverage;
pub mod dominating;
mod forwarding;

use thiserror::Error;

use crate::{Adjacency, Hypercube};

pub use coverage::Coverage;
pub use dominating::{Budget, DominatingSet};

/// An error in a requested placement.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlacementError {
    /// A Hamming placement was requested in a hypercube whose number of dimensions is not 2^m - 1.
    #[error(
        "a Hamming placement is perfect only in 2^m - 1 dimensions (1, 3, 7, 15), not in \
         {dimension}; `combined` handles the others"
    )]
    NotPerfect {
        /// Number of dimensions of the cube.
        dimension: u32,
    },
    /// The requested placement has no I/O nodes.
    #[error("a placement needs at least one I/O node")]
    Empty,
    /// More I/O nodes than PEs were requested.
    #[error("{count} I/O nodes do not fit on {pe_count} PEs, one each at most")]
    TooMany {
        /// The requested number of I/O nodes.
        count: u32,
        /// Number of PEs of the network.
        pe_count: u32,
    },
    /// An I/O node was requested on a PE that does not exist.
    #[error("I/O node on PE {pe}, but the PEs are 0 to {}", pe_count - 1)]
    MissingPe {
        /// Number of the PE on which an I/O node was requested.
        pe: u32,
        /// Number of PEs of the network.
        pe_count: u32,
    },
    /// Two I/O nodes were requested on one PE.
    #[error("PE {pe} is listed more than once; it can carry one I/O node")]
    Duplicate {
        /// Number of the PE that was requested twice.
        pe: u32,
    },
    /// A PE has no path to any I/O node.
    #[error("PE {pe} has no path to any I/O node; each connected part needs one")]
    Unreachable {
        /// The lowest PE without a path to an I/O node.
        pe: u32,
    },
    /// An I/O node in the list of failed I/O nodes does not exist.
    #[error("failed I/O node {index}, but the I/O nodes are 0 to {}", count - 1)]
    MissingIoNode {
        /// Index of the I/O node in the list of failed I/O nodes.
        index: u32,
        /// Number of I/O nodes of the placement.
        count: u32,
    },
    /// A failed I/O node has no possible replacement.
    #[error("no working I/O node can be reached from failed I/O node {index}")]
    NoWorkingIoNode {
        /// Index of the failed I/O node.
        index: u32,
    },
}

/// I/O nodes on PEs `0..pe_count`, each PE served by one of them.
///
/// I/O nodes are indexed by rank: I/O node `i` is attached to PE `io_nodes()[i]`, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    io_nodes: Vec<u32>,
    server: Vec<u32>,
    coverage: Coverage,
}

impl Placement {
    /// Return the placement of I/O nodes on the code words of a Hamming code (section 3.2 of the hypercube paper): the
    /// addresses for which the parity check with the columns *i* + 1 gives 0. Every PE is within one hop of exactly
    /// one I/O node. If the parity check of the PE's address gives s > 0, flipping bit s - 1 of the address gives that
    /// I/O node.
    ///
    /// # Errors
    /// [`PlacementError::NotPerfect`] unless the dimension is 2^m - 1.
    pub fn hamming(cube: Hypercube) -> Result<Self, PlacementError> {
        let dimension = cube.dimension();
        if code::block_dimension(dimension) != dimension {
            return Err(PlacementError::NotPerfect { dimension });
        }
        Ok(Self::combined(cube))
    }

    /// Return a placement that combines Hamming codes (section 3.2 of the hypercube paper). The cube is divided into
    /// aligned subcubes of n = 2^m - 1 dimensions, with n as large as possible. In each, the I/O nodes are the code
    /// words of a Hamming code, shifted by an XOR. So each PE is at most one hop from an I/O node of its own subcube.
    /// For cubes of 2^m - 1 dimensions this is [`hamming`](Self::hamming). There are 2^(dimension - m) I/O nodes.
    ///
    /// The shift is a linear function of the subcube's address. Together, the I/O nodes are the addresses for which the
    /// parity check with the columns (*i* mod n) + 1 gives 0. Columns repeat as rarely as possible, so that few I/O
    /// nodes are two hops apart. The I/O nodes of the 4-cube are 0, 7, 9 and 14, as in the paper.
    pub fn combined(cube: Hypercube) -> Self {
        let (io_nodes, server) = code::place_code_words(cube);
        Self::new(&cube, io_nodes, server)
    }

    /// Return `count` I/O nodes spread evenly over the addresses (node numbers, in a network other than a cube): I/O
    /// node *i* on PE floor(*i* * PEs / `count`). This is every (PEs / `count`)-th PE if the division has no remainder.
    ///
    /// # Errors
    /// When `count` is zero or more than the PEs, or some PE has no path to any I/O node.
    pub fn stride(network: &impl Adjacency, count: u32) -> Result<Self, PlacementError> {
        let pe_count = network.node_count();
        check_count(count, pe_count)?;
        let pe = |index| (u64::from(index) * u64::from(pe_count) / u64::from(count)) as u32;
        Self::nearest(network, (0..count).map(pe).collect())
    }

    /// Return a placement of `count` I/O nodes on the PEs `0..count`.
    ///
    /// # Errors
    /// When `count` is zero or more than the PEs, or some PE has no path to any I/O node.
    pub fn clustered(network: &impl Adjacency, count: u32) -> Result<Self, PlacementError> {
        check_count(count, network.node_count())?;
        Self::nearest(network, (0..count).collect())
    }

    /// Return a placement of I/O nodes on the listed PEs, in any order.
    ///
    /// # Errors
    /// The list is empty, repeats a PE or contains a missing one, or some PE has no path to any I/O
    /// node.
    pub fn list(network: &impl Adjacency, pes: &[u32]) -> Result<Self, PlacementError> {
        Self::nearest(network, pes.to_vec())
    }

    /// Return the placement with the smallest number of I/O nodes found within the budget such that every PE is within
    /// one hop of an I/O node. It is a minimum dominating set, or the best set found, with a lower bound. The search
    /// starts with the placement of [`combined`](Self::combined), so the result has no more I/O nodes. For networks
    /// other than cubes, see [`DominatingSet::find`] and [`nearest`](Self::nearest).
    pub fn dominating(cube: Hypercube, budget: Budget) -> (Self, DominatingSet) {
        let combined = Self::combined(cube);
        let set = DominatingSet::find(&cube, Some(combined.io_nodes()), budget);
        if set.pes() == combined.io_nodes() {
            return (combined, set);
        }
        let placement = Self::nearest(&cube, set.pes().to_vec());
        let placement = placement.expect("the search takes PEs of the cube, each once");
        (placement, set)
    }

    /// Return a placement of I/O nodes on the given PEs of any network, in which a nearest I/O node serves each PE.
    ///
    /// Ties: PEs choose in order of distance, then index, among the servers of the neighbours one hop nearer to an I/O
    /// node. They choose the server with the fewest PEs so far, and of these the lowest. Then PEs may move, in the same
    /// order and until nothing changes (4 passes at most): a PE moves to another of its choices if that one serves at
    /// least two PEs fewer.
    ///
    /// # Errors
    /// `pes` is empty, repeats a PE or contains a missing one, or some PE has no path to any of them.
    pub fn nearest(network: &impl Adjacency, mut pes: Vec<u32>) -> Result<Self, PlacementError> {
        let pe_count = network.node_count();
        if pes.is_empty() {
            return Err(PlacementError::Empty);
        }
        if let Some(&pe) = pes.iter().find(|&&pe| pe >= pe_count) {
            return Err(PlacementError::MissingPe { pe, pe_count });
        }
        pes.sort_unstable();
        if let Some(pair) = pes.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(PlacementError::Duplicate { pe: pair[0] });
        }
        let server = assignment::nearest(network, &pes)?;
        Ok(Self::new(network, pes, server))
    }

    /// Return a placement in which `server` is the index of the I/O node of each PE.
    fn new(network: &impl Adjacency, io_nodes: Vec<u32>, server: Vec<u32>) -> Self {
        let coverage = Coverage::new(network, &io_nodes, &server);
        Self {
            io_nodes,
            server,
            coverage,
        }
    }

    /// Return the PEs with an I/O node, ascending; the position of a PE is its I/O node's index.
    pub fn io_nodes(&self) -> &[u32] {
        &self.io_nodes
    }

    /// Return for each PE the index of the I/O node that serves it.
    pub fn servers(&self) -> &[u32] {
        &self.server
    }

    /// Return the index of the I/O node that serves `pe`.
    ///
    /// # Panics
    /// When `pe` is not a PE of this placement.
    pub fn server(&self, pe: u32) -> u32 {
        self.server[pe as usize]
    }

    /// Return the PE of the I/O node that serves `pe`.
    ///
    /// # Panics
    /// When `pe` is not a PE of this placement.
    pub fn server_pe(&self, pe: u32) -> u32 {
        self.io_nodes[self.server(pe) as usize]
    }

    /// Return the index of the I/O node attached to `pe`; `None` if the PE has no I/O node of its own.
    pub fn io_node_at(&self, pe: u32) -> Option<u32> {
        self.io_nodes
            .binary_search(&pe)
            .ok()
            .map(|index| index as u32)
    }

    /// Return the number of I/O nodes.
    pub fn io_node_count(&self) -> u32 {
        self.io_nodes.len() as u32
    }

    /// Return the number of PEs.
    pub fn pe_count(&self) -> u32 {
        self.server.len() as u32
    }

    /// Return whether this placement has the smallest number of I/O nodes with which every PE is within one hop of an
    /// I/O node. `known` is a dominating set of the same network, with a lower bound on the size of every such set.
    /// False if some PE of this placement is further away; `None` if `known` does not decide it.
    pub fn is_smallest(&self, known: &DominatingSet) -> Option<bool> {
        let count = self.io_node_count();
        if !self.coverage.is_dominating() || (known.pes().len() as u32) < count {
            return Some(false);
        }
        (count <= known.lower_bound()).then_some(true)
    }

    /// Return the distances of PEs from their I/O node, and the number of PEs per I/O node.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }
}

/// Check that the number of I/O nodes is neither zero nor more than the number of PEs.
fn check_count(count: u32, pe_count: u32) -> Result<(), PlacementError> {
    if count == 0 {
        return Err(PlacementError::Empty);
    }
    if count > pe_count {
        return Err(PlacementError::TooMany { count, pe_count });
    }
    Ok(())
}
