//! Lower bounds on the size of a dominating set, without a solver.

use super::Neighborhoods;

/// Return the larger of two lower bounds, both from the dual of the covering problem. Give every
/// node a share such that no closed neighbourhood contains more than 1 in total. Then no dominating
/// set is smaller than the sum of the shares.
pub(super) fn lower(neighborhoods: &Neighborhoods) -> u32 {
    packing_bound(neighborhoods).max(fractional_bound(neighborhoods))
}

/// Return a lower bound: the number of chosen nodes that are more than two hops apart, since no
/// node dominates two of them. Nodes with small neighbourhoods are chosen first.
fn packing_bound(neighborhoods: &Neighborhoods) -> u32 {
    let mut nodes: Vec<u32> = (0..neighborhoods.node_count()).collect();
    nodes.sort_by_key(|&node| (neighborhoods.closed(node).len(), node));
    let mut taken = vec![false; nodes.len()];
    let mut count = 0;
    for node in nodes {
        let neighborhood = neighborhoods.closed(node);
        if neighborhood.iter().all(|&member| !taken[member as usize]) {
            for &member in neighborhood {
                taken[member as usize] = true;
            }
            count += 1;
        }
    }
    count
}

/// Return a lower bound: the sum over all nodes of 1 / (size of the largest neighbourhood that
/// contains the node). For a regular network this is the sphere-covering bound.
fn fractional_bound(neighborhoods: &Neighborhoods) -> u32 {
    // Count equal shares instead of adding them one by one, which would accumulate rounding errors.
    let mut nodes_by_size: Vec<u64> = Vec::new();
    for node in 0..neighborhoods.node_count() {
        let sizes = neighborhoods
            .closed(node)
            .iter()
            .map(|&member| neighborhoods.closed(member).len());
        let largest = sizes.max().unwrap_or(1);
        if nodes_by_size.len() <= largest {
            nodes_by_size.resize(largest + 1, 0);
        }
        nodes_by_size[largest] += 1;
    }
    let sum: f64 = nodes_by_size
        .iter()
        .enumerate()
        .skip(1)
        .map(|(size, &nodes)| nodes as f64 / size as f64)
        .sum();
    // Rounding down by more than the rounding error of the sum ensures that the bound is never too
    // high.
    (sum * (1.0 - 1e-9)).ceil() as u32
}
