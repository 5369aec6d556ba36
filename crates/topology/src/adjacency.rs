//! What placement, coverage and distances need to know of a network.

/// An undirected network of nodes `0..node_count`, seen through its neighbours.
///
/// Implementations list the neighbours of a node in a fixed order, so that results do not depend
/// on anything but the network.
pub trait Adjacency {
    /// Number of nodes.
    fn node_count(&self) -> u32;

    /// The neighbours of `node`, each once, without `node` itself.
    fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + '_;
}
