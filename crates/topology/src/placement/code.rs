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
