//! The channels of a graph, numbered for the deadlock check.

use super::Graph;

/// The channels of a graph: one for each direction of a link, numbered `0..count` by the node that
/// they leave, then by the one that they enter. Parallel links are lanes of one channel.
///
/// ```
/// use isthmus_topology::Graph;
/// use isthmus_topology::graph::Channels;
///
/// let path = Graph::from_edge_list("a b\nb c").unwrap();
/// let channels = Channels::new(&path);
/// assert_eq!(channels.count(), 4);
/// assert_eq!(channels.ends(2), (1, 2));
/// assert_eq!(channels.between(1, 2), Some(2));
/// assert_eq!(channels.between(0, 2), None);
/// ```
#[derive(Debug, Clone)]
pub struct Channels<'a> {
    graph: &'a Graph,
    /// Where each node's channels start; one entry more than nodes.
    first: Vec<usize>,
}

impl<'a> Channels<'a> {
    /// The channels of `graph`.
    pub fn new(graph: &'a Graph) -> Self {
        let mut first = vec![0];
        let mut count = 0;
        for node in 0..graph.node_count() {
            count += graph.neighbors(node).len();
            first.push(count);
        }
        Self { graph, first }
    }

    /// The graph that they are the channels of.
    pub fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// Number of channels.
    pub fn count(&self) -> usize {
        self.first[self.first.len() - 1]
    }

    /// The channel from a node to another; `None` if they are not neighbours.
    ///
    /// # Panics
    /// When there is no node `from`.
    pub fn between(&self, from: u32, to: u32) -> Option<usize> {
        let place = self.graph.neighbors(from).binary_search(&to).ok()?;
        Some(self.first[from as usize] + place)
    }

    /// The node that a channel leaves and the one that it enters.
    ///
    /// # Panics
    /// When there is no such channel.
    pub fn ends(&self, channel: usize) -> (u32, u32) {
        assert!(
            channel < self.count(),
            "channel {channel} of {}",
            self.count()
        );
        let from = self.first.partition_point(|&first| first <= channel) - 1;
        let to = self.graph.neighbors(from as u32)[channel - self.first[from]];
        (from as u32, to)
    }

    /// The channels that a route crosses, given by its nodes.
    pub(super) fn along(&self, route: &[u32]) -> impl Iterator<Item = usize> {
        route.windows(2).map(|ends| {
            self.between(ends[0], ends[1])
                .expect("a route goes from neighbour to neighbour")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parallel_links_share_a_channel() {
        let graph = Graph::from_edge_list("a b\na b\nb a\nc").unwrap();
        let channels = Channels::new(&graph);
        assert_eq!(channels.count(), 2);
        assert_eq!((channels.ends(0), channels.ends(1)), ((0, 1), (1, 0)));
    }

    #[test]
    fn a_graph_without_links_has_none() {
        assert_eq!(Channels::new(&Graph::new()).count(), 0);
    }

    proptest! {
        #[test]
        fn numbers_and_ends_are_inverse(graph in super::super::strategy(1..20, 30)) {
            let channels = Channels::new(&graph);
            let ends: Vec<_> = (0..channels.count()).map(|channel| channels.ends(channel)).collect();
            prop_assert!(ends.is_sorted_by(|a, b| a < b));
            for (channel, &(from, to)) in ends.iter().enumerate() {
                prop_assert_eq!(channels.between(from, to), Some(channel));
            }
            let links: std::collections::BTreeSet<_> = graph
                .edges()
                .flat_map(|(from, to, _)| [(from, to), (to, from)])
                .collect();
            prop_assert!(links.into_iter().eq(ends));
        }
    }
}
