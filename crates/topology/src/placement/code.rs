//! Placements that are linear codes: Hamming codes and combinations of them.

use crate::Hypercube;

/// Return the number m of parity bits of the largest Hamming code whose length, 2^m - 1, is at most
/// the `dimension` of the hypercube.
fn parity_bits(dimension: u32) -> u32 {
    (dimension + 1).ilog2()
}

/// Return the largest number 2^m - 1 up to `dimension`. A cube of that many dimensions has a perfect
/// Hamming code: each PE is within one hop of exactly one code word.
pub(super) fn block_dimension(dimension: u32) -> u32 {
    (1 << parity_bits(dimension)) - 1
}

/// Return, for each bit of a node address, its column of the parity-check matrix of the Hamming code.
fn columns(dimension: u32) -> impl Iterator<Item = u32> {
    let block = block_dimension(dimension);
    (0..dimension).map(move |bit| bit % block + 1)
}

/// Place I/O nodes on the PEs whose addresses are code words of the Hamming code. Return these PEs in
/// ascending order, and for each PE the index of the I/O node that serves it.
pub(super) fn place_code_words(cube: Hypercube) -> (Vec<u32>, Vec<u32>) {
    let pe_count = cube.node_count() as usize;
    let mut syndrome = vec![0u8; pe_count];
    for (bit, column) in columns(cube.dimension()).enumerate() {
        let half = 1 << bit;
        for low in 0..half {
            syndrome[half + low] = syndrome[low] ^ column as u8;
        }
    }
    let mut io_nodes = Vec::with_capacity(pe_count >> parity_bits(cube.dimension()));
    let mut index = vec![u32::MAX; pe_count];
    for pe in cube.nodes() {
        if syndrome[pe as usize] == 0 {
            index[pe as usize] = io_nodes.len() as u32;
            io_nodes.push(pe);
        }
    }
    let server = syndrome
        .iter()
        .enumerate()
        .map(|(pe, &syndrome)| match syndrome {
            0 => index[pe],
            // Flip the address bit whose parity-check column equals the result of the check (syndrome):
            // this gives a code word, a PE with an I/O node, in the PE's own aligned subcube.
            syndrome => index[pe ^ (1 << (syndrome - 1))],
        })
        .collect();
    (io_nodes, server)
}

#[cfg(test)]
mod tests {
    use crate::{Hypercube, Placement, PlacementError};

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
            let block = super::block_dimension(dimension);
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
}
