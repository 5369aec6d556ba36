//! Up*/down* routing: free of deadlock on any network, whatever has failed.

use std::collections::VecDeque;

use super::CubeFaults;
use crate::Hop;

/// Nodes ranked by hops from the lowest working node of their connected part, then by index. A route
/// first goes up (towards lower ranks), then down, and never up again; up links wait only for up
/// links of lower rank and down links only for down links of higher rank, so no cycle can close
/// (Schroeder et al., "Autonet", IEEE JSAC 9(8), 1991).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UpDown {
    level: Vec<u32>,
}

impl UpDown {
    pub(super) fn new(faults: &CubeFaults) -> Self {
        let mut level = vec![u32::MAX; faults.cube().node_count() as usize];
        let mut queue = VecDeque::new();
        for root in faults.working_nodes() {
            if level[root as usize] != u32::MAX {
                continue;
            }
            level[root as usize] = 0;
            queue.push_back(root);
            while let Some(node) = queue.pop_front() {
                for dimension in faults.usable_dimensions(node) {
                    let neighbor = Hop { node, dimension }.target();
                    if level[neighbor as usize] == u32::MAX {
                        level[neighbor as usize] = level[node as usize] + 1;
                        queue.push_back(neighbor);
                    }
                }
            }
        }
        Self { level }
    }

    fn is_up(&self, hop: Hop) -> bool {
        let rank = |node: u32| (self.level[node as usize], node);
        rank(hop.target()) < rank(hop.node)
    }

    /// The dimensions of a shortest allowed route; `None` when there is no path at all.
    ///
    /// Searched when asked for, best first by hops made plus address bits still to change. Each hop
    /// leaves that sum as it is or adds two, so a double-ended queue keeps the order.
    pub(super) fn route(&self, faults: &CubeFaults, from: u32, to: u32) -> Option<Vec<u8>> {
        if !faults.is_reachable(from, to) {
            return None;
        }
        // Two states for each node: 2 * node while the route may still go up, else + 1.
        let state = |node: u32, down: bool| 2 * node as usize + usize::from(down);
        let mut hops = vec![u16::MAX; 2 * self.level.len()];
        let mut last = vec![(u8::MAX, false); 2 * self.level.len()];
        let mut done = vec![false; 2 * self.level.len()];
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
                let up = self.is_up(hop);
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
