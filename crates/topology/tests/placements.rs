//! Placements of I/O nodes, and the PEs that each serves.

use isthmus_topology::{Budget, DominatingSet, Graph, Hypercube, Placement, PlacementError};
use proptest::prelude::*;

/// Return the cube of this dimension.
fn cube(dimension: u32) -> Hypercube {
    Hypercube::new(dimension).unwrap()
}

/// Checks that a placement by stride is even, also if the number of I/O nodes does not divide the number of PEs.
#[test]
fn stride_is_even_without_divisibility() {
    let even = Placement::stride(&cube(4), 4).unwrap();
    assert_eq!(even.io_nodes(), [0, 4, 8, 12]);
    let uneven = Placement::stride(&cube(4), 5).unwrap();
    assert_eq!(uneven.io_nodes(), [0, 3, 6, 9, 12]);
    let all = Placement::stride(&cube(4), 16).unwrap();
    assert_eq!(all.coverage().distance_histogram(), [16]);
}

/// Checks that a clustered placement uses the PEs with the lowest addresses.
#[test]
fn clustered_takes_the_lowest_addresses() {
    let placement = Placement::clustered(&cube(5), 4).unwrap();
    assert_eq!(placement.io_nodes(), [0, 1, 2, 3]);
    // The I/O nodes are the PEs whose upper 3 address bits are 0. So the distance of a PE from an I/O node is the
    // number of ones among these bits.
    assert_eq!(placement.coverage().distance_histogram(), [4, 12, 12, 4]);
    assert!(
        placement
            .coverage()
            .served()
            .iter()
            .all(|&served| served == 8)
    );
}

/// Checks that a list of PEs is sorted, and empty lists, duplicates and missing PEs are refused.
#[test]
fn a_list_is_sorted_and_checked() {
    let placement = Placement::list(&cube(3), &[7, 0]).unwrap();
    assert_eq!(placement.io_nodes(), [0, 7]);
    assert_eq!(placement.io_node_at(7), Some(1));
    assert_eq!(placement.io_node_at(6), None);
    assert_eq!(placement.server_pe(6), 7);
    let errors = [
        (&[][..], "a placement needs at least one I/O node"),
        (&[0, 8], "I/O node on PE 8, but the PEs are 0 to 7"),
        (
            &[5, 1, 5],
            "PE 5 is listed more than once; it can carry one I/O node",
        ),
    ];
    for (pes, message) in errors {
        let error = Placement::list(&cube(3), pes).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

/// Checks that placements work in other networks than cubes, and refuse PEs without a path to an I/O node.
#[test]
fn other_networks_use_node_numbers() {
    let path = Graph::from_edge_list("0 1\n1 2\n2 3\n3 4\n4 5").unwrap();
    let stride = Placement::stride(&path, 4).unwrap();
    assert_eq!(stride.io_nodes(), [0, 1, 3, 4]);
    assert_eq!(Placement::clustered(&path, 2).unwrap().io_nodes(), [0, 1]);
    assert_eq!(Placement::list(&path, &[5, 2]).unwrap().io_nodes(), [2, 5]);
    assert!(Placement::stride(&path, 7).is_err());
    let apart = Graph::from_edge_list("0 1\n2 3").unwrap();
    assert_eq!(
        Placement::clustered(&apart, 2),
        Err(PlacementError::Unreachable { pe: 2 })
    );
}

/// Checks that `is_smallest` returns true, false and `None` for placements that have the fewest I/O nodes, that
/// do not, and for which it is not known.
#[test]
fn the_smallest_are_recognized() {
    let cube = cube(5);
    let (best, set) = Placement::dominating(cube, Budget::default());
    assert_eq!(
        (best.io_node_count(), best.is_smallest(&set)),
        (7, Some(true))
    );
    // Neither is smallest: `combined` has one I/O node too many, and `far`, with one I/O node, leaves PEs that
    // are further than one hop from it.
    let combined = Placement::combined(cube);
    assert_eq!(combined.is_smallest(&set), Some(false));
    let far = Placement::list(&cube, &[0]).unwrap();
    assert_eq!(far.is_smallest(&set), Some(false));
    // Forbid the exact solver. The best known set then has 8 I/O nodes, and the lower bound is 32 / 6 rounded up.
    let budget = Budget {
        solver_pes_max: 0,
        ..Budget::default()
    };
    let unproven = DominatingSet::find(&cube, Some(combined.io_nodes()), budget);
    assert_eq!((unproven.pes().len(), unproven.lower_bound()), (8, 6));
    assert_eq!(combined.is_smallest(&unproven), None);
}

/// Checks that placements with no I/O nodes or more I/O nodes than PEs are refused.
#[test]
fn counts_are_checked() {
    for place in [Placement::stride, Placement::clustered] {
        assert_eq!(place(&cube(3), 0), Err(PlacementError::Empty));
        assert_eq!(
            place(&cube(3), 9).unwrap_err().to_string(),
            "9 I/O nodes do not fit on 8 PEs, one each at most"
        );
    }
}

/// Checks that PEs with two nearest I/O nodes are divided evenly between the two.
#[test]
fn ties_are_balanced() {
    // Place the I/O nodes on opposite corners of the 4-cube, so that 6 of the 16 PEs are two hops from both.
    let placement = Placement::list(&Hypercube::new(4).unwrap(), &[0, 15]).unwrap();
    assert_eq!(placement.coverage().served(), [8, 8]);
}

proptest! {
    /// Checks that each PE is served by an I/O node at minimum distance, and the coverage
    /// contains these distances.
    #[test]
    fn the_server_is_a_nearest_io_node(
        dimension in 1u32..8,
        picks in prop::collection::btree_set(0u32..128, 1..12),
    ) {
        let cube = Hypercube::new(dimension).unwrap();
        let pes: Vec<u32> = picks.into_iter().filter(|&pe| cube.contains(pe)).collect();
        prop_assume!(!pes.is_empty());
        let placement = Placement::list(&cube, &pes).unwrap();
        let mut histogram = vec![0; dimension as usize + 1];
        for pe in cube.nodes() {
            let nearest = pes.iter().map(|&io| cube.distance(pe, io)).min().unwrap();
            prop_assert_eq!(cube.distance(pe, placement.server_pe(pe)), nearest);
            histogram[nearest as usize] += 1;
        }
        let longest = placement.coverage().longest_distance() as usize;
        prop_assert_eq!(&histogram[..=longest], placement.coverage().distance_histogram());
        prop_assert!(histogram[longest + 1..].iter().all(|&count| count == 0));
    }
}
