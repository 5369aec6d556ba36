//! The order of nodes that up*/down* routing goes by.

use crate::Adjacency;

/// Nodes ranked in the order in which a breadth-first search from the roots finds them; of the neighbours of a
/// node the lowest comes first.
///
/// A route of up*/down* routing (Schroeder et al., "Autonet", IEEE JSAC 9(8), 1991) first goes up
/// (towards lower ranks), then down, and never up again. Up links wait only for up links of lower
/// rank and down links only for down links of higher rank, so no cycle can close. Every node but the
/// roots has a link up, so with a root in each connected part routes over that one join all its nodes.
///
/// Two routings go by it. They differ in the one of several shortest routes that they take:
/// [`switches::UpDown`](crate::switches::UpDown) keeps a table, in which the form of the network chooses at each
/// switch; [`FaultyCube`](crate::FaultyCube) has too many nodes for a table, and takes the first that a search
/// for the pair finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ranks {
    order: Vec<u32>,
    /// Of each node its place in the order; `u32::MAX` if nothing joins it to a root.
    place: Vec<u32>,
}

impl Ranks {
    pub(crate) fn new(network: &impl Adjacency, roots: Vec<u32>) -> Self {
        let mut place = vec![u32::MAX; network.node_count() as usize];
        for (rank, &root) in (0..).zip(&roots) {
            place[root as usize] = rank;
        }
        let mut order = roots;
        let mut done = 0;
        while let Some(&at) = order.get(done) {
            done += 1;
            let mut others: Vec<u32> = network.neighbors(at).collect();
            others.sort_unstable();
            for other in others {
                if place[other as usize] == u32::MAX {
                    place[other as usize] = order.len() as u32;
                    order.push(other);
                }
            }
        }
        Self { order, place }
    }

    /// The nodes that are joined to a root, in their order.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// The rank of each node; `u32::MAX` if nothing joins it to a root.
    pub(crate) fn places(&self) -> &[u32] {
        &self.place
    }

    /// Whether a hop between these neighbours goes up.
    pub(crate) fn is_up(&self, from: u32, to: u32) -> bool {
        self.place[to as usize] < self.place[from as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_node_of_each_part_has_no_link_up(graph in crate::graph::strategy(1..20, 30)) {
            let parts = distance::parts(&graph);
            let roots = (0..graph.node_count()).filter(|&node| parts[node as usize] == node);
            let ranks = Ranks::new(&graph, roots.collect());
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
