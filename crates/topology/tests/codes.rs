//! Placements of I/O nodes by codes.

use isthmus_topology::{Hypercube, Placement, PlacementError};

/// Return the cube of this dimension.
fn cube(dimension: u32) -> Hypercube {
    Hypercube::new(dimension).unwrap()
}

/// Checks that the Hamming placement in the 7-cube equals the list in section 4.1 of the
/// hypercube paper.
#[test]
fn the_7_cube_has_the_nodes_listed_in_section_4_1() {
    let placement = Placement::hamming(cube(7)).unwrap();
    assert_eq!(
        placement.io_nodes(),
        [
            0, 7, 25, 30, 42, 45, 51, 52, 75, 76, 82, 85, 97, 102, 120, 127
        ]
    );
    assert!(placement.coverage().served().iter().all(|&pes| pes == 8));
    assert_eq!(placement.coverage().distance_histogram(), [16, 112]);
}

/// Checks that a Hamming placement exists only in cubes of 2^m - 1 dimensions, where it is
/// perfect.
#[test]
fn hamming_exists_exactly_in_2_to_the_m_minus_1_dimensions() {
    for dimension in 1..=20 {
        let placement = Placement::hamming(cube(dimension));
        if [1, 3, 7, 15].contains(&dimension) {
            assert!(placement.unwrap().coverage().is_perfect());
        } else {
            assert_eq!(placement, Err(PlacementError::NotPerfect { dimension }));
        }
    }
}

/// Checks that the combined placement in the 4-cube equals that printed in section 3.2 of the
/// hypercube paper.
#[test]
fn the_4_cube_has_the_nodes_printed_in_section_3_2() {
    let placement = Placement::combined(cube(4));
    assert_eq!(placement.io_nodes(), [0, 7, 9, 14]);
}

/// Checks the placement of section 3.2 of the hypercube paper for 4 to 6 dimensions. In the
/// three-dimensional subcube with the number u, the I/O nodes have the addresses {0, 7} XOR sigma(u).
/// sigma(u) is the XOR of i + 1 for all bits i that are set in u.
#[test]
fn dimensions_4_to_6_shift_the_3_cube_code_by_a_linear_sigma() {
    for dimension in 4..=6 {
        let mut expected = Vec::new();
        for subcube in 0..1u32 << (dimension - 3) {
            let sigma = (0..3)
                .filter(|bit| subcube >> bit & 1 == 1)
                .fold(0, |sigma, bit| sigma ^ (bit + 1));
            expected.extend([0, 7].map(|word| subcube << 3 | (word ^ sigma)));
        }
        expected.sort_unstable();
        assert_eq!(Placement::combined(cube(dimension)).io_nodes(), expected);
    }
}

/// Checks that in combined placements, each PE is served by an I/O node of its own subcube, at
/// most one hop away, and that all I/O nodes serve the same number of PEs.
#[test]
fn every_pe_is_served_within_a_hop_in_its_own_subcube() {
    for dimension in 1..=12 {
        let placement = Placement::combined(cube(dimension));
        // The largest cube with a perfect code has 2^m - 1 dimensions.
        let block = (1 << (dimension + 1).ilog2()) - 1;
        for pe in cube(dimension).nodes() {
            let server = placement.server_pe(pe);
            assert!((pe ^ server).count_ones() <= 1);
            assert_eq!(pe >> block, server >> block);
        }
        let served = placement.coverage().served();
        assert!(served.iter().all(|&pes| pes == block + 1));
    }
}

/// Checks that combined placements have as few I/O nodes at a distance of two hops as possible.
/// Pairs of I/O nodes two hops apart are pairs of equal parity-check columns. Their number is
/// minimal if the columns are used as evenly as possible.
#[test]
fn no_linear_code_of_this_size_has_fewer_close_pairs_in_4_to_6_dimensions() {
    for dimension in 4..=6u32 {
        let close = Placement::combined(cube(dimension))
            .io_nodes()
            .iter()
            .filter(|pe| pe.count_ones() == 2)
            .count() as u32;
        let fewest =
            3 * (dimension / 3) * (dimension / 3 - 1) / 2 + dimension % 3 * (dimension / 3);
        assert_eq!(close, fewest);
    }
}
