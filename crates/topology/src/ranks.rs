//! The order of nodes (ranks) for up*/down* routing.

use crate::Adjacency;

/// Nodes ranked in the order of a breadth-first search from the roots. The search visits the neighbours of a node in
/// ascending order.
///
/// A route of up*/down* routing (Schroeder et al., "Autonet", IEEE JSAC 9(8), 1991) first goes up (to lower ranks),
/// then down, and never up again. Up links wait only for up links of lower rank and down links only for down links of
/// higher rank, so no cycle can close. Every node except the roots has a link up. So with a root in each connected
/// component, routes over the root join all of its nodes.
///
/// Two routings use the ranks. They select different routes if several shortest ones exist:
/// [`switches::UpDown`](crate::switches::UpDown) has a table, where the form of the network determines the choice at
/// each switch. [`FaultyCube`](crate::FaultyCube) has too many nodes for a table, and uses the first route that a
/// search for the pair finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ranks {
    order: Vec<u32>,
    /// Rank of each node; `u32::MAX` if no path joins it to a root.
    rank_of: Vec<u32>,
}

impl Ranks {
    /// Rank all nodes that some path joins to one of `roots`.
    pub(crate) fn new(network: &impl Adjacency, roots: Vec<u32>) -> Self {
        let mut rank_of = vec![u32::MAX; network.node_count() as usize];
        for (rank, &root) in (0..).zip(&roots) {
            rank_of[root as usize] = rank;
        }
        let mut order = roots;
        let mut done = 0;
        while let Some(&at) = order.get(done) {
            done += 1;
            let mut others: Vec<u32> = network.neighbors(at).collect();
            others.sort_unstable();
            for other in others {
                if rank_of[other as usize] == u32::MAX {
                    rank_of[other as usize] = order.len() as u32;
                    order.push(other);
                }
            }
        }
        Self { order, rank_of }
    }

    /// Return the nodes that a path joins to a root, ordered by rank.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Return the rank (place in the search order) of each node, by node number; `u32::MAX` if no path joins the
    /// node to a root.
    pub(crate) fn places(&self) -> &[u32] {
        &self.rank_of
    }

    /// Return whether a hop from `from` to its neighbour `to` goes up.
    pub(crate) fn is_up(&self, from: u32, to: u32) -> bool {
        self.rank_of[to as usize] < self.rank_of[from as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, distance};
    use proptest::prelude::*;

    proptest! {
        /// Checks that every node except the root of each component has a link to a node of lower rank.
        #[test]
        fn one_node_of_each_part_has_no_link_up(
            node_count in 1u32..20,
            ends in prop::collection::vec((any::<u32>(), any::<u32>()), 0..=30),
        ) {
            let mut text: String = (0..node_count).map(|node| format!("{node}\n")).collect();
            for (from, to) in ends {
                let (from, to) = (from % node_count, to % node_count);
                if from != to {
                    text += &format!("{from} {to}\n");
                }
            }
            let graph = Graph::from_edge_list(&text).unwrap();
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
