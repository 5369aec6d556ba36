//! Switches beside one another.

use super::Apart;
use crate::{Adjacency, Wiring, distance};

/// Of each switch those beside it, and the links to them, numbered by the switch that they leave; those of
/// several cables count as one.
#[derive(Debug, Clone)]
pub(super) struct Neighbors {
    /// Where those of each switch start; one entry more than switches.
    first: Vec<u32>,
    to: Vec<u32>,
}

impl Neighbors {
    /// Those of each switch in the order of their cables.
    pub fn new(wiring: &Wiring) -> Self {
        let nodes = wiring.node_count();
        let mut found = Self {
            first: vec![0],
            to: Vec::new(),
        };
        for switch in 0..wiring.switch_count() {
            let start = found.to.len();
            for link in wiring.out_of(nodes + switch) {
                // Parallel links stand beside one another.
                match wiring.target(link).checked_sub(nodes) {
                    Some(there) if found.to[start..].last() != Some(&there) => found.to.push(there),
                    _ => {}
                }
            }
            found.first.push(found.to.len() as u32);
        }
        found
    }

    /// Those of each switch ascending.
    pub fn sorted(mut self) -> Self {
        for ends in self.first.windows(2) {
            self.to[ends[0] as usize..ends[1] as usize].sort_unstable();
        }
        self
    }

    /// Number of switches.
    pub fn switches(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.to.len()
    }

    /// The switches beside one.
    pub fn of(&self, switch: u32) -> &[u32] {
        let [start, end] = [switch, switch + 1].map(|at| self.first[at as usize] as usize);
        &self.to[start..end]
    }

    /// The link from a switch to one beside it; of sorted ones.
    pub fn link(&self, from: u32, to: u32) -> Option<u32> {
        let place = self.of(from).binary_search(&to).ok()?;
        Some(self.first[from as usize] + place as u32)
    }

    /// The switch that a link leaves.
    pub fn from(&self, link: u32) -> u32 {
        self.first.partition_point(|&first| first <= link) as u32 - 1
    }

    /// The first switch that no way joins to switch 0.
    pub fn apart(&self) -> Option<Apart> {
        let parts = distance::parts(self);
        let from = parts.iter().position(|&lowest| lowest != 0)? as u32;
        Some(Apart { from, to: 0 })
    }
}

impl Adjacency for Neighbors {
    fn node_count(&self) -> u32 {
        self.switches()
    }

    fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        self.of(node).iter().copied()
    }
}
