//! Pairs of nodes in a hypercube whose route crosses a failed link or node.

use super::CubeFaults;

/// Return all pairs of nodes whose route in the cube without faults crosses an unusable link,
/// although both nodes work and can reach each other. The pairs are sorted by distance, source and
/// destination. Return `None` if detours for all of them would cost more than `work_max` search
/// steps.
pub(super) fn affected(faults: &CubeFaults, work_max: u64) -> Option<Vec<(u32, u32)>> {
    let cube = faults.cube();
    let mut pairs = Vec::new();
    let mut work = 0;
    for (node, dimension) in faults.unusable_links() {
        for to in faults.working_nodes() {
            let first = cube.route(node, to).next();
            if first.map(|hop| hop.dimension) != Some(dimension) {
                continue;
            }
            // Find all sources whose route to `to` passes `node`: search backwards along the tree
            // that the routes to one destination form.
            let mut stack = vec![node];
            while let Some(from) = stack.pop() {
                if faults.is_reachable(from, to) {
                    pairs.push((from, to));
                    work += search_steps(cube.distance(from, to));
                    if work > work_max {
                        return None;
                    }
                }
                for before in cube.neighbors(from) {
                    let next = cube.route(before, to).next().map(|hop| hop.target());
                    if next == Some(from) {
                        stack.push(before);
                    }
                }
            }
        }
    }
    pairs.sort_unstable_by_key(|&(from, to)| (cube.distance(from, to), from, to));
    pairs.dedup();
    Some(pairs)
}

/// Return an upper bound of the number of steps in which all shortest paths over `distance` hops
/// are searched.
fn search_steps(distance: u32) -> u64 {
    u64::from(distance * distance) << distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hypercube, IncompleteHypercube};

    /// Checks that the affected pairs are exactly those whose e-cube route crosses a failed node or
    /// link.
    #[test]
    fn affected_pairs_are_those_of_all_routes() {
        let cubes = [
            Hypercube::new(4).unwrap().into(),
            IncompleteHypercube::new(13).unwrap(),
        ];
        for cube in cubes {
            let faults = CubeFaults::new(cube, &[6], &[(0, 1), (9, 11)]).unwrap();
            let mut expected = Vec::new();
            for from in faults.working_nodes() {
                for to in faults.working_nodes() {
                    if cube
                        .route(from, to)
                        .any(|hop| !faults.is_usable(hop.node, hop.dimension))
                    {
                        expected.push((from, to));
                    }
                }
            }
            expected.sort_by_key(|&(from, to)| (cube.distance(from, to), from, to));
            assert_eq!(affected(&faults, u64::MAX), Some(expected));
            assert_eq!(affected(&faults, 10), None);
        }
    }

    /// Checks that a failed link of a 7-cube affects the routes of 64 pairs of nodes in each
    /// direction.
    #[test]
    fn a_failed_link_affects_half_of_the_nodes_in_each_direction() {
        let faults = CubeFaults::new(Hypercube::new(7).unwrap(), &[], &[(5, 13)]).unwrap();
        assert_eq!(affected(&faults, u64::MAX).unwrap().len(), 2 * 64);
    }
}
