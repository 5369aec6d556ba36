//! Broadcast trees, with and without faults.

use isthmus_topology::{BroadcastTree, CubeFaults, Hypercube, IncompleteHypercube};
use proptest::prelude::*;
use std::collections::HashSet;

/// Return the number of nodes in the tree, which receive the message.
fn reached_count(faults: &CubeFaults, tree: &BroadcastTree) -> u32 {
    steps(faults, tree).len() as u32
}

/// Return the steps in which the nodes of the tree receive the message.
fn steps(faults: &CubeFaults, tree: &BroadcastTree) -> Vec<u32> {
    let nodes = faults.cube().nodes();
    nodes.filter_map(|node| tree.step(node)).collect()
}

/// Return how many nodes have the message after each step of the broadcast, from step 0 on.
fn reached_by_step(faults: &CubeFaults, tree: &BroadcastTree) -> Vec<usize> {
    let received = steps(faults, tree);
    let reached = |by| received.iter().filter(|&&step| step <= by).count();
    (0..=tree.step_count()).map(reached).collect()
}

/// Check a broadcast tree: every node except the root has a parent that had the message in an earlier step. The
/// parent sends it to one neighbour per step, over a working link.
fn check(faults: &CubeFaults, tree: &BroadcastTree) {
    assert_eq!(tree.step(tree.root()), Some(0));
    let mut children = HashSet::new();
    for node in faults.cube().nodes() {
        let reachable = faults.is_reachable(tree.root(), node);
        assert_eq!(tree.step(node).is_some(), reachable);
        let mut last = tree.step(node);
        for &child in tree.children(node) {
            assert!(children.insert(child), "one parent");
            assert!(faults.is_usable(node, (node ^ child).ilog2()));
            assert_eq!((node ^ child).count_ones(), 1);
            assert!(tree.step(child) > last, "one send a step, after receipt");
            last = tree.step(child);
        }
        assert!(tree.step(node) <= Some(tree.step_count()));
    }
    assert!(!children.contains(&tree.root()));
    assert_eq!(reached_count(faults, tree), children.len() as u32 + 1);
    let reached = reached_by_step(faults, tree);
    assert_eq!(reached[0], 1);
    assert_eq!(reached.last(), Some(&(children.len() + 1)));
    assert!(
        reached
            .windows(2)
            .all(|pair| pair[0] < pair[1] && pair[1] <= 2 * pair[0])
    );
    assert!(tree.lower_bound() <= tree.step_count());
    assert!(tree.lower_bound() >= ceil_log2(reached_count(faults, tree)));
}

/// Return the logarithm of `count` to base 2, rounded up.
fn ceil_log2(count: u32) -> u32 {
    count.next_power_of_two().ilog2()
}

/// Checks that without faults a broadcast takes ceil(log2 nodes) steps from any root, for 1 to
/// 70 nodes.
#[test]
fn without_faults_it_takes_ceil_log2_steps_from_any_root() {
    for node_count in 1..=70 {
        let cube = IncompleteHypercube::new(node_count).unwrap();
        let faults = CubeFaults::none(cube);
        for root in cube.nodes() {
            let tree = BroadcastTree::new(&faults, root).unwrap();
            check(&faults, &tree);
            assert_eq!(tree.step_count(), ceil_log2(node_count));
            assert_eq!(tree.lower_bound(), tree.step_count());
        }
    }
}

/// Checks that the broadcast tree of the 3-cube is the binomial tree.
#[test]
fn the_tree_of_the_3_cube_is_binomial() {
    let faults = CubeFaults::none(Hypercube::new(3).unwrap());
    let tree = BroadcastTree::new(&faults, 0).unwrap();
    assert_eq!(tree.children(0), [4, 2, 1]);
    assert_eq!(tree.children(4), [6, 5]);
    assert_eq!(tree.children(6), [7]);
    assert_eq!(tree.step(7), Some(3));
}

/// Checks that the lower bound on the number of steps is at least the distance from the root to the farthest node.
#[test]
fn a_long_path_bounds_the_steps_too() {
    // The faults divide the 3-cube into a path of five nodes and a separate link; node 7 has failed.
    let links = [(0, 2), (0, 4), (1, 5), (3, 7), (4, 6)];
    let faults = CubeFaults::new(Hypercube::new(3).unwrap(), &[7], &links).unwrap();
    let path = [0, 1, 3, 2, 6];
    for pair in path.windows(2) {
        assert!(faults.is_usable(pair[0], (pair[0] ^ pair[1]).ilog2()));
    }
    let tree = BroadcastTree::new(&faults, 0).unwrap();
    assert_eq!((reached_count(&faults, &tree), tree.lower_bound()), (5, 4));
    assert_eq!(reached_by_step(&faults, &tree), [1, 2, 3, 4, 5]);
}

/// Checks that with one failed node or link, a broadcast in a 5-cube takes at most one more step.
#[test]
fn one_fault_costs_at_most_one_step() {
    let cube = Hypercube::new(5).unwrap();
    for (nodes, links) in [(&[21][..], &[][..]), (&[], &[(3, 19)])] {
        let faults = CubeFaults::new(cube, nodes, links).unwrap();
        for root in faults.working_nodes() {
            let tree = BroadcastTree::new(&faults, root).unwrap();
            check(&faults, &tree);
            assert!(
                tree.step_count() <= 6,
                "{} steps from {root}",
                tree.step_count()
            );
        }
    }
}

/// Checks that a broadcast from a failed or a missing node is refused.
#[test]
fn a_root_that_cannot_send_is_refused() {
    let faults = CubeFaults::new(Hypercube::new(3).unwrap(), &[5], &[]).unwrap();
    assert_eq!(
        BroadcastTree::new(&faults, 5).unwrap_err().to_string(),
        "broadcast from node 5, which has failed"
    );
    assert_eq!(
        BroadcastTree::new(&faults, 8).unwrap_err().to_string(),
        "broadcast from node 8, but the nodes are 0 to 7"
    );
}

proptest! {
    /// Checks that with random failed nodes, the tree contains all nodes with a path to the
    /// root.
    #[test]
    fn with_faults_all_reachable_nodes_are_reached(
        node_count in 1u32..80,
        root in any::<u32>(),
        nodes in prop::collection::vec(any::<u32>(), 0..5),
    ) {
        let cube = IncompleteHypercube::new(node_count).unwrap();
        let nodes: Vec<_> = nodes.into_iter().map(|node| node % node_count).collect();
        let faults = CubeFaults::new(cube, &nodes, &[]).unwrap();
        let root = root % node_count;
        prop_assume!(!faults.is_failed(root));
        let tree = BroadcastTree::new(&faults, root).unwrap();
        check(&faults, &tree);
        prop_assert!(tree.step_count() >= ceil_log2(reached_count(&faults, &tree)));
    }
}
