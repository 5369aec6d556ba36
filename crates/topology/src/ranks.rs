//! The order of nodes that up*/down* routing goes by.

use crate::{Adjacency, distance};

/// Nodes ranked by hops from the lowest node of their connected part, then by number.
///
/// A route of up*/down* routing (Schroeder et al., "Autonet", IEEE JSAC 9(8), 1991) first goes up
/// (towards lower ranks), then down, and never up again. Up links wait only for up links of lower
/// rank and down links only for down links of higher rank, so no cycle can close. Every node but the
/// lowest of a part has a link up, so routes over that one join all nodes of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ranks {
    level: Vec<Option<u32>>,
}

impl Ranks {
    pub(crate) fn new(network: &impl Adjacency) -> Self {
        let parts = distance::parts(network);
        let roots = (0..network.node_count()).filter(|&node| parts[node as usize] == node);
        let roots: Vec<u32> = roots.collect();
        Self {
            level: distance::hops_from(network, &roots),
        }
    }

    /// Number of nodes ranked.
    pub(crate) fn len(&self) -> usize {
        self.level.len()
    }

    /// Whether a hop between these neighbours goes up.
    pub(crate) fn is_up(&self, from: u32, to: u32) -> bool {
        let rank = |node: u32| (self.level[node as usize], node);
        rank(to) < rank(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_node_of_each_part_has_no_link_up(graph in crate::graph::strategy(1..20, 30)) {
            let ranks = Ranks::new(&graph);
            let parts = distance::parts(&graph);
            for node in 0..graph.node_count() {
                let mut neighbors = graph.neighbors(node).iter();
                let is_root = parts[node as usize] == node;
                prop_assert_eq!(neighbors.any(|&neighbor| ranks.is_up(node, neighbor)), !is_root);
                for &neighbor in graph.neighbors(node) {
                    prop_assert_ne!(ranks.is_up(node, neighbor), ranks.is_up(neighbor, node));
                }
            }
        }
    }
}
