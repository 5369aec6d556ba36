//! Positions of the I/O nodes: how often the path between a PE and its I/O node crosses each
//! dimension of the cube.

use serde::{Deserialize, Serialize};

use crate::Error;

/// Shares per dimension (index 0 is the lowest) of the paths between PEs and the class I PEs that
/// serve them. Routing is e-cube, highest dimension first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Serving {
    /// For each dimension, the share of PEs whose address differs from that of their class I PE in
    /// it.
    pub crossing: Vec<f64>,
    /// For each dimension, the share of PEs whose address differs in this and in no higher dimension from that of their
    /// I/O node's PE (class I). Replies leave the class I router through this dimension (channel D of Fig. 2).
    pub first: Vec<f64>,
    /// For each dimension, the share of PEs whose address differs in this and in no lower dimension from that of their
    /// I/O node's PE (class I). Requests enter the class I router through this dimension (channel A of Fig. 2).
    pub last: Vec<f64>,
    /// For each dimension, the share of PEs with an I/O node (class I) whose address has this bit set.
    pub class_one_ones: Vec<f64>,
}

impl Serving {
    /// Compute the shares from the paths of a `dimension`-cube. `own[pe]` is the class I PE that
    /// serves `pe`.
    ///
    /// # Errors
    /// The table does not have 2^`dimension` entries, or contains a PE that is not in the cube or
    /// does not serve itself.
    pub fn from_table(dimension: u32, own: &[u32]) -> Result<Self, Error> {
        let pes = 1usize << dimension;
        if own.len() != pes {
            return Err(Error::Contradiction(
                "the table of class I PEs needs one entry for each PE of the cube",
            ));
        }
        let width = dimension as usize;
        let (mut crossing, mut first, mut last, mut ones) = (
            vec![0u64; width],
            vec![0u64; width],
            vec![0u64; width],
            vec![0u64; width],
        );
        let mut class_one = 0u64;
        for (pe, &server) in (0u32..).zip(own) {
            if own.get(server as usize) != Some(&server) {
                return Err(Error::Contradiction(
                    "a PE is served by one that is not in the cube or does not serve itself",
                ));
            }
            if server == pe {
                class_one += 1;
                add_bits(pe, &mut ones);
            } else {
                let path = pe ^ server;
                add_bits(path, &mut crossing);
                first[path.ilog2() as usize] += 1;
                last[path.trailing_zeros() as usize] += 1;
            }
        }
        let share = |counts: Vec<u64>, of: u64| -> Vec<f64> {
            counts.iter().map(|&n| n as f64 / of as f64).collect()
        };
        Ok(Self {
            crossing: share(crossing, pes as u64),
            first: share(first, pes as u64),
            last: share(last, pes as u64),
            class_one_ones: share(ones, class_one),
        })
    }

    /// Return the mean number of hops between a PE and the PE of its I/O node.
    pub fn mean_distance(&self) -> f64 {
        self.crossing.iter().sum()
    }
}

/// Add 1 to the count of each dimension whose bit is set.
fn add_bits(mut bits: u32, counts: &mut [u64]) {
    while bits != 0 {
        counts[bits.trailing_zeros() as usize] += 1;
        bits &= bits - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that each PE of the 7-cube has exactly one I/O node of the Hamming code within one
    /// hop, and one eighth of the paths crosses each dimension.
    #[test]
    fn the_seven_cubes_hamming_code_is_perfect() {
        // Section 4.1 lists the I/O nodes. Each PE belongs to the only I/O node at distance 0 or 1.
        let nodes = [
            0u32, 7, 25, 30, 42, 45, 51, 52, 75, 76, 82, 85, 97, 102, 120, 127,
        ];
        let own: Vec<u32> = (0..128u32)
            .map(|pe| {
                let near: Vec<u32> = nodes
                    .into_iter()
                    .filter(|node| (node ^ pe).count_ones() <= 1)
                    .collect();
                assert_eq!(near.len(), 1);
                near[0]
            })
            .collect();
        let counted = Serving::from_table(7, &own).unwrap();
        let eighth = vec![0.125; 7];
        let perfect = Serving {
            crossing: eighth.clone(),
            first: eighth.clone(),
            last: eighth,
            class_one_ones: vec![0.5; 7],
        };
        assert_eq!(counted, perfect);
        assert_eq!(counted.mean_distance(), 7.0 / 8.0);
    }

    /// Checks that for PEs two hops from their I/O node, the first, last and all crossed dimensions
    /// are counted separately.
    #[test]
    fn longer_paths_are_split_into_first_and_last() {
        // One I/O node at PE 0 of a 2-cube. PE 3 is two dimensions away.
        let counted = Serving::from_table(2, &[0, 0, 0, 0]).unwrap();
        assert_eq!(counted.crossing, [0.5, 0.5]);
        assert_eq!(counted.first, [0.25, 0.5]);
        assert_eq!(counted.last, [0.5, 0.25]);
        assert_eq!(counted.class_one_ones, [0.0, 0.0]);
    }

    /// Checks that tables of the wrong length, with unknown PEs, or with I/O nodes that do not
    /// serve themselves are refused.
    #[test]
    fn invalid_tables_are_refused() {
        assert!(Serving::from_table(2, &[0, 0, 0]).is_err());
        assert!(Serving::from_table(1, &[1, 0]).is_err());
        assert!(Serving::from_table(1, &[7, 7]).is_err());
    }
}
