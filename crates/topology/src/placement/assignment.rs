//! Assigns each PE to a nearest I/O node (its server). If several are equally near, the assignment balances the
//! numbers of PEs per I/O node.

use super::PlacementError;
use crate::{Adjacency, distance};

/// Index of the server of a PE to which no server is assigned yet.
const UNASSIGNED: u32 = u32::MAX;
/// Maximum number of passes over the PEs that balance the servers: each PE may move to another server that is
/// equally near and has fewer PEs.
const BALANCING_PASSES: usize = 4;

/// Return the index in `io_nodes` (ascending) of each PE's server, by the rule of
/// [`Placement::nearest`](super::Placement::nearest).
pub(super) fn nearest(
    network: &impl Adjacency,
    io_nodes: &[u32],
) -> Result<Vec<u32>, PlacementError> {
    let hops = distance::hops_from(network, io_nodes);
    if let Some(pe) = hops.iter().position(Option::is_none) {
        return Err(PlacementError::Unreachable { pe: pe as u32 });
    }
    let hops: Vec<u32> = hops.into_iter().flatten().collect();
    let mut server = vec![UNASSIGNED; hops.len()];
    let mut served = vec![1u32; io_nodes.len()];
    for (index, &pe) in io_nodes.iter().enumerate() {
        server[pe as usize] = index as u32;
    }
    // Sort the PEs without an I/O node by distance, and by number within a distance (the sort is stable).
    let mut others: Vec<u32> = (0..network.node_count())
        .filter(|&pe| hops[pe as usize] > 0)
        .collect();
    others.sort_by_key(|&pe| hops[pe as usize]);
    for &pe in &others {
        let choice = least_loaded(network, &hops, &server, &served, pe);
        server[pe as usize] = choice;
        served[choice as usize] += 1;
    }
    for _ in 0..BALANCING_PASSES {
        let mut moved = false;
        for &pe in &others {
            let current = server[pe as usize];
            let choice = least_loaded(network, &hops, &server, &served, pe);
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

/// Choose an I/O node for `pe` among the I/O nodes of its neighbours that are one hop nearer to one:
/// the I/O node that serves the fewest PEs so far, or the lowest of several.
fn least_loaded(
    network: &impl Adjacency,
    hops: &[u32],
    server: &[u32],
    served: &[u32],
    pe: u32,
) -> u32 {
    network
        .neighbors(pe)
        .filter(|&neighbor| hops[neighbor as usize] + 1 == hops[pe as usize])
        .map(|neighbor| server[neighbor as usize])
        .min_by_key(|&index| (served[index as usize], index))
        .expect("a node reached at level n has a neighbour at level n - 1")
}
