//! Hop distances between the nodes of a network, histograms of them, and connected components.
//!
//! Distances are in hops (links crossed). They are found by breadth-first search, except in cubes
//! without faults, whose pairs are counted by a formula.

use crate::{Adjacency, IncompleteHypercube};

/// Return the hops from the nearest of `sources` to every node; `None` for nodes without a path.
///
/// The time is proportional to the number of nodes and links. Without sources, no node is reached.
///
/// ```
/// use isthmus_topology::{Graph, distance};
///
/// let path = Graph::from_edge_list("a b\nb c\nd").unwrap();
/// assert_eq!(distance::hops_from(&path, &[0]), [Some(0), Some(1), Some(2), None]);
/// ```
///
/// # Panics
/// When a source is not a node of the network.
pub fn hops_from(network: &impl Adjacency, sources: &[u32]) -> Vec<Option<u32>> {
    let mut hops = vec![None; network.node_count() as usize];
    let mut reached = sources.to_vec();
    for &source in sources {
        hops[source as usize] = Some(0);
    }
    let mut next = 0;
    while let Some(&node) = reached.get(next) {
        next += 1;
        let further = hops[node as usize].map(|hops| hops + 1);
        for neighbor in network.neighbors(node) {
            if hops[neighbor as usize].is_none() {
                hops[neighbor as usize] = further;
                reached.push(neighbor);
            }
        }
    }
    hops
}

/// Return the number of ordered pairs of nodes by their distance. Entry `h` counts the pairs at `h`
/// hops of one of `nodes` and any node, itself included. Pairs without a path are not counted; the
/// last entry is not 0.
///
/// The function searches the network from each of `nodes`; [`walk_steps`] returns the cost of these
/// searches.
///
/// # Panics
/// When one of `nodes` is not a node of the network.
pub fn histogram(network: &impl Adjacency, nodes: impl IntoIterator<Item = u32>) -> Vec<u64> {
    let mut pairs: Vec<u64> = Vec::new();
    for node in nodes {
        for hops in hops_from(network, &[node]).into_iter().flatten() {
            count_pair(&mut pairs, hops);
        }
    }
    pairs
}

/// Add one pair to entry `hops` of `pairs`, and lengthen the vector if necessary.
pub(crate) fn count_pair(pairs: &mut Vec<u64>, hops: u32) {
    let hops = hops as usize;
    if pairs.len() <= hops {
        pairs.resize(hops + 1, 0);
    }
    pairs[hops] += 1;
}

/// Return the number of elementary steps (visits of nodes and link ends) of a search from every
/// node, for comparison with a limit; `u64::MAX` if the number is larger.
pub fn walk_steps(node_count: u32, link_count: usize) -> u64 {
    let walk = (link_count as u64).saturating_mul(2);
    u64::from(node_count).saturating_mul(walk.saturating_add(node_count.into()))
}

/// Return, for each node, the lowest node number in its connected component, which identifies the component.
pub fn parts(network: &impl Adjacency) -> Vec<u32> {
    let mut lowest = vec![u32::MAX; network.node_count() as usize];
    let mut stack = Vec::new();
    for start in 0..network.node_count() {
        if lowest[start as usize] != u32::MAX {
            continue;
        }
        lowest[start as usize] = start;
        stack.push(start);
        while let Some(node) = stack.pop() {
            for neighbor in network.neighbors(node) {
                if lowest[neighbor as usize] == u32::MAX {
                    lowest[neighbor as usize] = start;
                    stack.push(neighbor);
                }
            }
        }
    }
    lowest
}

/// Split `nodes` into the nodes in the connected component that contains most of them, and the
/// other nodes, both in the given order. Of equally large components, the one with the lowest node
/// is used.
///
/// # Panics
/// When one of `nodes` is not a node of the network.
pub fn largest_part(
    network: &impl Adjacency,
    nodes: impl IntoIterator<Item = u32>,
) -> (Vec<u32>, Vec<u32>) {
    let nodes: Vec<u32> = nodes.into_iter().collect();
    let parts = parts(network);
    let mut sizes = vec![0u32; parts.len()];
    for &node in &nodes {
        sizes[parts[node as usize] as usize] += 1;
    }
    // `max_by_key` returns the last of equal elements, so the components are visited in reverse
    // order.
    let largest = (0..network.node_count())
        .rev()
        .max_by_key(|&part| sizes[part as usize]);
    nodes
        .into_iter()
        .partition(|&node| largest == Some(parts[node as usize]))
}

impl IncompleteHypercube {
    /// Return the number of ordered pairs of nodes by their distance in hops, pairs of a node and
    /// itself included. The result equals the [`histogram`](histogram) over all nodes, but takes
    /// only a few hundred steps.
    ///
    /// A cube consists of a complete lower half, the rest, and links between the two. If the half
    /// has t dimensions, each node of the rest has C(t, h) nodes of the half at a distance of h + 1
    /// hops.
    pub fn distance_histogram(self) -> Vec<u64> {
        let mut pairs = vec![0; self.dimension() as usize + 1];
        let mut left = self.node_count();
        while left > 0 {
            let half = left.ilog2();
            let rest = left - (1 << half);
            let mut ways = 1u64;
            for hops in 0..=half {
                pairs[hops as usize] += ways << half;
                if rest > 0 {
                    pairs[hops as usize + 1] += 2 * u64::from(rest) * ways;
                }
                ways = ways * u64::from(half - hops) / u64::from(hops + 1);
            }
            left = rest;
        }
        pairs
    }
}
