//! Distances and components, against the algorithm of Floyd and Warshall.

use isthmus_topology::distance::{histogram, hops_from, largest_part, parts, walk_steps};
use isthmus_topology::{Adjacency, CubeFaults, Graph, Hypercube, IncompleteHypercube};
use proptest::prelude::*;
use std::ops::Range;

/// Return random graphs with up to `edges_max` edges and a number of nodes in this range, named by their numbers.
fn graphs(node_count: Range<u32>, edges_max: usize) -> impl Strategy<Value = Graph> {
    let ends = prop::collection::vec((any::<u32>(), any::<u32>()), 0..=edges_max);
    (node_count, ends).prop_map(|(node_count, ends)| {
        let mut text: String = (0..node_count).map(|node| format!("{node}\n")).collect();
        for (from, to) in ends {
            let (from, to) = (from % node_count, to % node_count);
            if from != to {
                text += &format!("{from} {to}\n");
            }
        }
        Graph::from_edge_list(&text).unwrap()
    })
}

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
    let mut pairs: Vec<u64> = Vec::new();
    for from in nodes.clone() {
        let from_one = &expected[from as usize];
        assert_eq!(&hops_from(network, &[from]), from_one);
        for &hops in from_one.iter().flatten() {
            pairs.resize(pairs.len().max(hops as usize + 1), 0);
            pairs[hops as usize] += 1;
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
    fn searches_agree_with_relaxation(graph in graphs(1..16, 24)) {
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
