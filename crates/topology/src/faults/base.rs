//! Channel dependencies of a fault-free cube's own routing, computed from addresses instead of
//! stored.

use crate::{Hop, IncompleteHypercube};

/// Return whether some route of the cube's own routing crosses link `next` right after link `held`.
pub(super) fn depends(cube: IncompleteHypercube, held: Hop, next: Hop) -> bool {
    let to = next.target();
    held.target() == next.node && cube.contains(to) && cube.route(held.node, to).eq([held, next])
}

/// Return whether a chain of one or more dependencies of the cube's own routing leads from link
/// `from` to link `to`.
///
/// In a complete cube a chain crosses descending dimensions. So the address after `from` may only
/// change in the dimensions strictly between the two before `to` is crossed. The incomplete cube is
/// decomposed as in the rule of [`IncompleteHypercube`].
pub(super) fn reaches(cube: IncompleteHypercube, from: Hop, to: Hop) -> bool {
    let (mut from, mut to, mut node_count) = (from, to, cube.node_count());
    while !node_count.is_power_of_two() {
        let top = node_count.ilog2();
        let half = 1 << top;
        let inside_upper = |hop: Hop| hop.node >= half && hop.dimension < top;
        match (inside_upper(from), inside_upper(to)) {
            (true, true) => {
                from.node -= half;
                to.node -= half;
                node_count -= half;
            }
            (false, false) => return reaches_across(top, from, to),
            _ => return false,
        }
    }
    crosses_descending(from.target(), from.dimension, to)
}

/// Return whether a chain of dependencies leads from link `from` to link `to`, as [`reaches`] does,
/// if neither link is inside the incomplete upper half of the cube (addresses with bit `top` set).
fn reaches_across(top: u32, from: Hop, to: Hop) -> bool {
    let half = 1 << top;
    let climbs = |hop: Hop| hop.dimension == top && hop.node < half;
    let descends = |hop: Hop| hop.dimension == top && hop.node >= half;
    if climbs(from) || descends(to) {
        return false;
    }
    let at = from.target();
    if climbs(to) {
        // A route that leaves the upper half by `from` never returns to it by `to`. But other
        // routes that enter the upper half share its links in the lower half.
        let turns_back = descends(from) && at == to.node;
        return !turns_back && (at ^ to.node) >> from.dimension == 0;
    }
    crosses_descending(at, from.dimension, to)
}

/// Return whether a chain of descending dimensions, all below `above`, leads from address `at` to
/// link `to`.
fn crosses_descending(at: u32, above: u32, to: Hop) -> bool {
    let changed = at ^ to.node;
    to.dimension < above && changed >> above == 0 && changed & ((2 << to.dimension) - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deadlock::Dependencies;

    /// Checks that the formula for dependencies between links gives the same result as all routes
    /// of the cube.
    #[test]
    fn dependencies_are_those_of_all_paths() {
        for node_count in 1..=33 {
            let cube = IncompleteHypercube::new(node_count).unwrap();
            let mut dependencies = Dependencies::new(cube.link_count());
            for from in cube.nodes() {
                for to in cube.nodes() {
                    let route = cube.route(from, to);
                    dependencies.add_path(route.map(|hop| cube.link(hop.node, hop.dimension)));
                }
            }
            let exists = |link: &usize| cube.contains(cube.hop(*link).target());
            for from in (0..cube.link_count()).filter(exists) {
                let mut reached = vec![false; cube.link_count()];
                let mut stack = dependencies.successors(from).to_vec();
                while let Some(link) = stack.pop() {
                    if !std::mem::replace(&mut reached[link], true) {
                        stack.extend(dependencies.successors(link));
                    }
                }
                for to in (0..cube.link_count()).filter(exists) {
                    let (held, next) = (cube.hop(from), cube.hop(to));
                    assert_eq!(
                        reaches(cube, held, next),
                        reached[to],
                        "{node_count} nodes: {held:?} to {next:?}"
                    );
                    assert_eq!(
                        depends(cube, held, next),
                        dependencies.successors(from).contains(&to)
                    );
                }
            }
        }
    }
}
