//! Dominating sets, against the literature and against all sets of small networks.

use isthmus_topology::{
    Adjacency, Budget, DominatingSet, Graph, Hypercube, IncompleteHypercube, Placement,
};
use proptest::prelude::*;

/// Return the dominating set found with the default budget.
fn find(network: &impl Adjacency) -> DominatingSet {
    DominatingSet::find(network, None, Budget::default())
}

/// Return the lower bound on the size of dominating sets that is found without the solver.
fn lower(network: &impl Adjacency) -> u32 {
    let budget = Budget {
        solver_pes_max: 0,
        search_steps_max: 0,
        ..Budget::default()
    };
    DominatingSet::find(network, None, budget).lower_bound()
}

/// Return the size of the smallest dominating set by trying all sets.
fn smallest(network: &impl Adjacency) -> u32 {
    let count = network.node_count();
    let masks: Vec<u32> = (0..count)
        .map(|node| {
            network
                .neighbors(node)
                .fold(1 << node, |mask, neighbor| mask | 1 << neighbor)
        })
        .collect();
    (0u32..1 << count)
        .filter(|set| masks.iter().all(|mask| mask & set != 0))
        .map(u32::count_ones)
        .min()
        .unwrap()
}

/// Checks the sizes of the smallest covering codes of radius 1, K(n, 1), from the literature
/// (Cohen et al., "Covering Codes", table 6.1): 1, 2, 2, 4, 7, 12, 16.
#[test]
fn hypercubes_up_to_5_dimensions_are_solved() {
    for (dimension, size) in [(1, 1), (2, 2), (3, 2), (4, 4), (5, 7)] {
        let set = find(&Hypercube::new(dimension).unwrap());
        assert_eq!(set.pes().len(), size, "{dimension} dimensions");
        assert!(set.is_optimal(), "{dimension}: {}", set.lower_bound());
    }
}

/// Checks that without the solver, the set for the 6-cube has 12 PEs, and the set for the
/// 7-cube is proven to be smallest.
#[test]
fn six_dimensions_reach_12_and_seven_are_proven_by_the_code() {
    let budget = Budget {
        solver_pes_max: 0,
        ..Budget::default()
    };
    let six = Placement::dominating(Hypercube::new(6).unwrap(), budget);
    assert_eq!(six.1.pes().len(), 12);
    assert!(six.1.lower_bound() >= 10);
    let (placement, set) = Placement::dominating(Hypercube::new(7).unwrap(), budget);
    assert!(set.is_optimal() && placement.coverage().is_perfect());
}

/// Checks that the smallest dominating sets of stars, rings and networks with isolated nodes
/// are found.
#[test]
fn stars_rings_and_isolated_nodes_are_solved() {
    let star = Graph::from_edge_list("hub a\nhub b\nhub c\nhub d").unwrap();
    let set = find(&star);
    assert_eq!((set.pes(), set.is_optimal()), (&[0][..], true));
    // The smallest dominating set of a ring of n nodes has ceil(n / 3) nodes.
    for count in 3..20 {
        let text: String = (0..count)
            .map(|node| format!("{node} {}\n", (node + 1) % count))
            .collect();
        let set = find(&Graph::from_edge_list(&text).unwrap());
        assert_eq!(set.pes().len(), usize::div_ceil(count, 3));
        assert!(set.is_optimal());
    }
    let loose = Graph::from_edge_list("a\nb\nc d").unwrap();
    assert_eq!(find(&loose).pes().len(), 3);
}

/// Checks that the initial set is ignored if it does not dominate the network.
#[test]
fn an_initial_set_is_used_only_if_it_dominates() {
    let cube = Hypercube::new(4).unwrap();
    let budget = Budget {
        solver_pes_max: 0,
        search_steps_max: 0,
        ..Budget::default()
    };
    let useless = DominatingSet::find(&cube, Some(&[0]), budget);
    assert!(useless.pes().len() >= 4);
    let missing = DominatingSet::find(&cube, Some(&[99]), budget);
    assert_eq!(missing, useless);
}

/// Checks that the lower bound for a hypercube is the sphere-covering bound, nodes / (dimension
/// + 1) rounded up.
#[test]
fn hypercubes_get_the_sphere_covering_bound() {
    for dimension in 1..=12u32 {
        let cube = Hypercube::new(dimension).unwrap();
        let expected = (1u32 << dimension).div_ceil(dimension + 1);
        assert_eq!(lower(&cube), expected);
    }
}

/// Checks that leaves that no single node dominates raise the lower bound.
#[test]
fn leaves_far_apart_need_a_node_each() {
    // Three stars in a row, joined at their hubs: the shares at the hubs are small, but three
    // leaves are far apart.
    let text = "h i\ni j\nh a\nh b\nh c\ni d\ni e\ni f\nj k\nj l\nj m";
    let graph = Graph::from_edge_list(text).unwrap();
    assert_eq!(lower(&graph), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Checks that the dominating sets found for random graphs are as small as those of an
    /// exhaustive search.
    #[test]
    fn random_graphs_are_solved_exactly(
        node_count in 2u32..13,
        links in prop::collection::vec((any::<u32>(), any::<u32>()), 0..24),
    ) {
        let mut text: String = (0..node_count).map(|node| format!("{node}\n")).collect();
        for (from, to) in links {
            if from % node_count != to % node_count {
                text += &format!("{} {}\n", from % node_count, to % node_count);
            }
        }
        let graph = Graph::from_edge_list(&text).unwrap();
        let set = find(&graph);
        prop_assert!(set.is_optimal());
        prop_assert_eq!(set.pes().len() as u32, smallest(&graph));
        let placement = Placement::nearest(&graph, set.pes().to_vec()).unwrap();
        prop_assert!(placement.coverage().is_dominating());
    }

    /// Checks that without the solver, the lower bound does not exceed the size of the smallest
    /// set.
    #[test]
    fn bounds_hold_without_the_solver(node_count in 1u32..17) {
        let cube = IncompleteHypercube::new(node_count).unwrap();
        let budget = Budget { solver_pes_max: 0, ..Budget::default() };
        let set = DominatingSet::find(&cube, None, budget);
        let smallest = smallest(&cube);
        prop_assert!(set.lower_bound() <= smallest);
        prop_assert_eq!(set.pes().len() as u32, smallest);
    }
}
