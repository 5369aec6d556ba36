//! Up*/down* routing in a cube, which is free of deadlock on any network with any faults.

use std::collections::VecDeque;

use super::CubeFaults;
use crate::ranks::Ranks;
use crate::{Hop, distance};

/// Up*/down* routing by the [`Ranks`] of the working nodes. The root is the lowest node of each
/// connected component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UpDown {
    ranks: Ranks,
}

impl UpDown {
    /// Return the routing of a cube with these faults, for which the working nodes are ranked.
    pub(super) fn new(faults: &CubeFaults) -> Self {
        let parts = distance::parts(faults);
        let roots = (0u32..).zip(&parts).filter(|(node, part)| node == *part);
        Self {
            ranks: Ranks::new(faults, roots.map(|(node, _)| node).collect()),
        }
    }

    /// Return the dimensions of a shortest permitted route, or `None` if no path exists.
    ///
    /// The search runs for each call. It visits nodes in the order of the sum of hops and differing
    /// address bits. Each hop leaves that sum unchanged or adds two, so a double-ended queue keeps
    /// the nodes in order.
    pub(super) fn route(&self, faults: &CubeFaults, from: u32, to: u32) -> Option<Vec<u8>> {
        if !faults.is_reachable(from, to) {
            return None;
        }
        // Each node has two states: number 2 * node while the route may still go up, that number +
        // 1 after it has gone down.
        let state = |node: u32, down: bool| 2 * node as usize + usize::from(down);
        let states = 2 * self.ranks.places().len();
        let mut hops = vec![u16::MAX; states];
        let mut last = vec![(u8::MAX, false); states];
        let mut done = vec![false; states];
        let mut queue = VecDeque::from([(from, false)]);
        hops[state(from, false)] = 0;
        while let Some((node, down)) = queue.pop_front() {
            let at = state(node, down);
            if std::mem::replace(&mut done[at], true) {
                continue;
            }
            if node == to {
                let mut dimensions = Vec::with_capacity(hops[at] as usize);
                let (mut node, mut down) = (node, down);
                while (node, down) != (from, false) {
                    let (dimension, down_before) = last[state(node, down)];
                    dimensions.push(dimension);
                    node ^= 1 << dimension;
                    down = down_before;
                }
                dimensions.reverse();
                return Some(dimensions);
            }
            for dimension in faults.usable_dimensions(node) {
                let hop = Hop { node, dimension };
                let up = self.ranks.is_up(node, hop.target());
                if up && down {
                    continue;
                }
                let next = state(hop.target(), !up);
                if hops[at] + 1 < hops[next] {
                    hops[next] = hops[at] + 1;
                    last[next] = (dimension as u8, down);
                    if (node ^ to) >> dimension & 1 == 1 {
                        queue.push_front((hop.target(), !up));
                    } else {
                        queue.push_back((hop.target(), !up));
                    }
                }
            }
        }
        unreachable!("the tree path over the root joins every two nodes of a connected part")
    }
}
