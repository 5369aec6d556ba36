//! Nearest servers, with ties balanced.

use super::PlacementError;
use crate::Adjacency;

const UNSEEN: u32 = u32::MAX;
const BALANCING_PASSES: usize = 4;

/// Breadth-first distances from a set of sources.
pub(super) struct Levels {
    /// Hops to the nearest source; `u32::MAX` where there is no path.
    pub distance: Vec<u32>,
    /// Reached nodes by distance, then index.
    pub order: Vec<u32>,
}

impl Levels {
    pub fn new(network: &impl Adjacency, sources: &[u32]) -> Self {
        let mut distance = vec![UNSEEN; network.node_count() as usize];
        let mut order = Vec::with_capacity(distance.len());
        order.extend_from_slice(sources);
        for &source in sources {
            distance[source as usize] = 0;
        }
        let mut level = 0;
        let mut start = 0;
        while start < order.len() {
            level += 1;
            let end = order.len();
            for at in start..end {
                for neighbor in network.neighbors(order[at]) {
                    if distance[neighbor as usize] == UNSEEN {
                        distance[neighbor as usize] = level;
                        order.push(neighbor);
                    }
                }
            }
            order[end..].sort_unstable();
            start = end;
        }
        Self { distance, order }
    }
}

/// The index in `io_nodes` (ascending) of each PE's server; the rule is that of
/// [`Placement::nearest`](super::Placement::nearest).
pub(super) fn nearest(
    network: &impl Adjacency,
    io_nodes: &[u32],
) -> Result<Vec<u32>, PlacementError> {
    let levels = Levels::new(network, io_nodes);
    if let Some(pe) = levels.distance.iter().position(|&hops| hops == UNSEEN) {
        return Err(PlacementError::Unreachable { pe: pe as u32 });
    }
    let mut server = vec![UNSEEN; levels.distance.len()];
    let mut served = vec![1u32; io_nodes.len()];
    for (index, &pe) in io_nodes.iter().enumerate() {
        server[pe as usize] = index as u32;
    }
    let others = &levels.order[io_nodes.len()..];
    for &pe in others {
        let choice = lightest(network, &levels.distance, &server, &served, pe);
        server[pe as usize] = choice;
        served[choice as usize] += 1;
    }
    for _ in 0..BALANCING_PASSES {
        let mut moved = false;
        for &pe in others {
            let current = server[pe as usize];
            let choice = lightest(network, &levels.distance, &server, &served, pe);
            if served[choice as usize] + 1 < served[current as usize] {
                server[pe as usize] = choice;
                served[choice as usize] += 1;
                served[current as usize] -= 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    Ok(server)
}

/// Of the servers of the neighbours that are one hop nearer, the one that serves the fewest, then
/// the lowest.
fn lightest(
    network: &impl Adjacency,
    distance: &[u32],
    server: &[u32],
    served: &[u32],
    pe: u32,
) -> u32 {
    network
        .neighbors(pe)
        .filter(|&neighbor| distance[neighbor as usize] + 1 == distance[pe as usize])
        .map(|neighbor| server[neighbor as usize])
        .min_by_key(|&index| (served[index as usize], index))
        .expect("a node reached at level n has a neighbour at level n - 1")
}

#[cfg(test)]
mod tests {
    use crate::{Hypercube, Placement};
    use proptest::prelude::*;

    #[test]
    fn ties_are_balanced() {
        // Antipodal I/O nodes in the 4-cube: 6 of the 16 PEs are two hops from both.
        let placement = Placement::list(Hypercube::new(4).unwrap(), &[0, 15]).unwrap();
        assert_eq!(placement.coverage().served(), [8, 8]);
    }

    proptest! {
        #[test]
        fn the_server_is_a_nearest_io_node(
            dimension in 1u32..8,
            picks in prop::collection::btree_set(0u32..128, 1..12),
        ) {
            let cube = Hypercube::new(dimension).unwrap();
            let pes: Vec<u32> = picks.into_iter().filter(|&pe| cube.contains(pe)).collect();
            prop_assume!(!pes.is_empty());
            let placement = Placement::list(cube, &pes).unwrap();
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
}
