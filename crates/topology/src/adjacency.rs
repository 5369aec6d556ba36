//! Adjacency: the interface of a network for the computation of placements, coverage and distances.

/// An undirected network of nodes `0..node_count`, described by the neighbours of each node.
///
/// Implementations list the neighbours of a node in a fixed order, so that results depend only on
/// the network.
pub trait Adjacency {
    /// Return the number of nodes.
    fn node_count(&self) -> u32;

    /// Return the neighbours of `node`, each once; `node` itself is not among them.
    fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + '_;
}
