//! Neighbours of the switches of a network.

use crate::{Adjacency, Wiring, distance};

/// Error for a network that is not connected: no path leads from the switch `from` to the switch `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no way leads from switch {from} to switch {to}")]
pub struct Apart {
    /// Number of a switch from which no path leads to the switch `to`.
    pub from: u32,
    /// Number of a switch that no path from the switch `from` reaches.
    pub to: u32,
}

/// The neighbours of each switch, and the links to them. Links are numbered in the order of the switches that they
/// leave. Parallel cables count as one link.
#[derive(Debug, Clone)]
pub(super) struct Neighbors {
    /// For each switch, the index in `to` of its first neighbour; then one more entry, the length of `to`.
    first: Vec<u32>,
    to: Vec<u32>,
}

impl Neighbors {
    /// Return the neighbours of each switch in the order of its cables.
    pub fn new(wiring: &Wiring) -> Self {
        let nodes = wiring.node_count();
        let mut found = Self {
            first: vec![0],
            to: Vec::new(),
        };
        for switch in 0..wiring.switch_count() {
            let start = found.to.len();
            for link in wiring.out_of(nodes + switch) {
                // Add each neighbour once: parallel links follow one another, so compare only with the last
                // neighbour.
                match wiring.target(link).checked_sub(nodes) {
                    Some(there) if found.to[start..].last() != Some(&there) => found.to.push(there),
                    _ => {}
                }
            }
            found.first.push(found.to.len() as u32);
        }
        found
    }

    /// Sort the neighbours of each switch in ascending order.
    pub fn sorted(mut self) -> Self {
        for ends in self.first.windows(2) {
            self.to[ends[0] as usize..ends[1] as usize].sort_unstable();
        }
        self
    }

    /// Return the number of switches.
    pub fn switches(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Return the number of links.
    pub fn links(&self) -> usize {
        self.to.len()
    }

    /// Return the neighbours of a switch.
    pub fn of(&self, switch: u32) -> &[u32] {
        let [start, end] = [switch, switch + 1].map(|at| self.first[at as usize] as usize);
        &self.to[start..end]
    }

    /// Return the number of the link from a switch to a neighbour, or `None` if they are no neighbours. The neighbours
    /// must be sorted.
    pub fn link(&self, from: u32, to: u32) -> Option<u32> {
        let place = self.of(from).binary_search(&to).ok()?;
        Some(self.first[from as usize] + place as u32)
    }

    /// Return the switch that a link leaves.
    pub fn from(&self, link: u32) -> u32 {
        self.first.partition_point(|&first| first <= link) as u32 - 1
    }

    /// Return the first switch that has no path to switch 0, and switch 0; `None` if all switches are connected.
    pub fn apart(&self) -> Option<Apart> {
        let parts = distance::parts(self);
        let from = parts.iter().position(|&lowest| lowest != 0)? as u32;
        Some(Apart { from, to: 0 })
    }
}

impl Adjacency for Neighbors {
    /// Return the number of switches, which are the nodes of this network.
    fn node_count(&self) -> u32 {
        self.switches()
    }

    /// Return the neighbours of the switch with number `node`.
    fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        self.of(node).iter().copied()
    }
}
