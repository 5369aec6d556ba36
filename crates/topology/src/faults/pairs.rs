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
