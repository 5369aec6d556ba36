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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CubeFaults, Graph, Hypercube};
    use proptest::prelude::*;

    /// Return all distances by the algorithm of Floyd and Warshall, which is independent of the breadth-first search.
    fn relaxed(network: &impl Adjacency) -> Vec<Vec<Option<u32>>> {
        let count = network.node_count() as usize;
        let mut hops = vec![vec![None; count]; count];
        for (node, hops) in hops.iter_mut().enumerate() {
            hops[node] = Some(0);
            for neighbor in network.neighbors(node as u32) {
                hops[neighbor as usize] = Some(1);
            }
        }
        for over in 0..count {
            for from in 0..count {
                for to in 0..count {
                    if let (Some(first), Some(second)) = (hops[from][over], hops[over][to])
                        && hops[from][to].is_none_or(|hops| first + second < hops)
                    {
                        hops[from][to] = Some(first + second);
                    }
                }
            }
        }
        hops
    }

    /// Check all distances and histograms of a network against the algorithm of Floyd and Warshall.
    fn check(network: &impl Adjacency) {
        let nodes = 0..network.node_count();
        let expected = relaxed(network);
        let mut pairs = Vec::new();
        for from in nodes.clone() {
            let from_one = &expected[from as usize];
            assert_eq!(&hops_from(network, &[from]), from_one);
            for &hops in from_one.iter().flatten() {
                count_pair(&mut pairs, hops);
            }
            let lowest = from_one.iter().position(Option::is_some);
            assert_eq!(Some(parts(network)[from as usize] as usize), lowest);
        }
        assert_eq!(histogram(network, nodes.clone()), pairs);
        let (largest, others) = largest_part(network, nodes);
        let size = |&from: &u32| expected[from as usize].iter().flatten().count();
        assert!(largest.iter().all(|node| size(node) == largest.len()));
        assert!(others.iter().all(|node| size(node) <= largest.len()));
        assert!(largest.is_sorted() && others.is_sorted());
    }

    /// Checks that the formula for cubes gives the same histogram as breadth-first searches.
    #[test]
    fn cube_histograms_equal_those_of_a_search() {
        for node_count in 1..=130 {
            let cube = IncompleteHypercube::new(node_count).unwrap();
            let walked = histogram(&cube, cube.nodes());
            assert_eq!(cube.distance_histogram(), walked, "{node_count} nodes");
        }
    }

    /// Checks that in a complete 20-cube, the number of pairs at each distance is a binomial
    /// coefficient times the number of nodes.
    #[test]
    fn in_a_complete_cube_the_pairs_are_binomial() {
        let cube = IncompleteHypercube::from(Hypercube::new(20).unwrap());
        let pairs = cube.distance_histogram();
        assert_eq!(pairs.iter().sum::<u64>(), 1 << 40);
        assert_eq!((pairs[1], pairs[2]), (20 << 20, 190 << 20));
    }

    /// Checks that with several sources, the distance of a node is that from its nearest source.
    #[test]
    fn the_nearest_source_counts() {
        let path = Graph::from_edge_list("0 1\n1 2\n2 3\n3 4\n4 5\n6 7").unwrap();
        let hops = hops_from(&path, &[5, 1]);
        let expected = [1, 0, 1, 2, 1, 0].map(Some);
        assert_eq!(hops[..6], expected);
        assert_eq!(hops[6..], [None; 2]);
        assert_eq!(hops_from(&path, &[]), [None; 8]);
    }

    /// Checks that of equally large components, the one with the lowest node counts as the largest.
    #[test]
    fn ties_of_parts_go_to_the_lowest_node() {
        let graph = Graph::from_edge_list("0\n1 4\n2 3").unwrap();
        assert_eq!(largest_part(&graph, 0..5), (vec![1, 4], vec![0, 2, 3]));
        // Only the listed nodes count for the size of a component.
        assert_eq!(largest_part(&graph, [0, 2, 3]), (vec![2, 3], vec![0]));
        assert_eq!(largest_part(&graph, []), (vec![], vec![]));
        assert_eq!(largest_part(&Graph::new(), []), (vec![], vec![]));
    }

    /// Checks that distances and components leave out failed nodes and links.
    #[test]
    fn failed_nodes_are_no_part_of_distances() {
        let faults = CubeFaults::new(Hypercube::new(2).unwrap(), &[3], &[(0, 1)]).unwrap();
        assert_eq!(histogram(&faults, faults.working_nodes()), [3, 2]);
        let (largest, others) = largest_part(&faults, faults.working_nodes());
        assert_eq!((largest, others), (vec![0, 2], vec![1]));
    }

    /// Checks that the number of search steps is limited to the largest integer instead of
    /// overflowing.
    #[test]
    fn steps_do_not_overflow() {
        assert_eq!(walk_steps(5, 6), 5 * 17);
        assert_eq!(walk_steps(u32::MAX, usize::MAX), u64::MAX);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Checks that distances by breadth-first search equal those by the algorithm of Floyd and Warshall, in random
        /// graphs.
        #[test]
        fn searches_agree_with_relaxation(graph in crate::graph::strategy(1..16, 24)) {
            check(&graph);
        }

        /// Checks that distances by breadth-first search equal those by the algorithm of Floyd and Warshall, in cubes
        /// with failed nodes.
        #[test]
        fn searches_agree_with_relaxation_among_faults(
            node_count in 1u32..24,
            nodes in prop::collection::vec(any::<u32>(), 0..8),
        ) {
            let cube = IncompleteHypercube::new(node_count).unwrap();
            let nodes: Vec<_> = nodes.into_iter().map(|node| node % node_count).collect();
            check(&CubeFaults::new(cube, &nodes, &[]).unwrap());
        }
    }
}
