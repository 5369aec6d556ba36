//! Summary of a list of vertices and edges, with the likely role of its leaves.

use super::attributes::Found;
use super::listed::{network, read};
use super::{Leaves, ListError};

/// Summary of a list of vertices and edges as a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSummary {
    /// Number of vertices.
    pub vertices: u32,
    /// Number of leaves: vertices with one neighbour and without a given role.
    pub leaves: u32,
    /// Assumed role of the leaves: nodes if they are most of the vertices and can be nodes, else switches.
    pub leaves_are: Leaves,
    /// Reason why the leaves cannot be nodes although they are most of the vertices.
    pub obstacle: Option<ListError>,
    /// Number of switches if the leaves have the role in `leaves_are`.
    pub switches: u32,
    /// Number of nodes, if the leaves of the list have the role `leaves_are`.
    pub nodes: u32,
    /// Number of cables between switches. Parallel cables count separately.
    pub cables: usize,
    /// The attributes of vertices and edges in the list: those that isthmus uses, and those that it ignores.
    pub attributes: Found,
}

impl ListSummary {
    /// Read a list as [`listed`](super::listed()) does, and choose the role of its leaves.
    ///
    /// # Errors
    /// Those of [`listed`](super::listed()).
    pub fn of(text: &str, ignored: &str) -> Result<Self, ListError> {
        let (graph, attributes) = read(text, ignored)?;
        let is_leaf = |&vertex: &u32| {
            let role = graph.node(vertex).attributes.contains_key("role");
            !role && graph.neighbors(vertex).len() == 1
        };
        let vertices = graph.node_count();
        let leaves = (0..vertices).filter(is_leaf).count() as u32;
        let as_nodes = (leaves > vertices / 2).then(|| network(&graph, Leaves::Nodes));
        let (leaves_are, obstacle, (form, _)) = match as_nodes {
            Some(Ok(found)) => (Leaves::Nodes, None, found),
            other => {
                let found = network(&graph, Leaves::Switches)?;
                (Leaves::Switches, other.and_then(Result::err), found)
            }
        };
        let switches = form.switch_count();
        Ok(Self {
            vertices,
            leaves,
            leaves_are,
            obstacle,
            switches,
            nodes: vertices - switches,
            cables: form.cables().len(),
            attributes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that leaves are assumed to be nodes if they are most of the vertices. The list has 535 hosts at five
    /// switches in a ring: 5 * 107 leaves of 540 vertices.
    #[test]
    fn hosts_of_a_list_are_nodes() {
        let ring = (0..5).map(|at| format!("s{at} s{} 4\n", (at + 1) % 5));
        let hosts = (0..535).map(|at| format!("h{at} s{}\n", at % 5));
        let text: String = ring.chain(hosts).collect();
        let account = ListSummary::of(&text, "").unwrap();
        assert_eq!((account.vertices, account.leaves), (540, 535));
        assert_eq!(account.leaves_are, Leaves::Nodes);
        let parts = (account.switches, account.nodes, account.cables);
        assert_eq!(parts, (5, 535, 5 * 4));
    }

    /// Checks that leaves are assumed to be switches if they are few or have invalid cables. Half of the vertices are
    /// not most of them. A host with two cables is no node, and neither are two hosts that are joined to each other.
    #[test]
    fn few_or_invalid_leaves_are_switches() {
        for (text, obstacle) in [
            ("a b\nb c\nc d\n", false),
            ("s a 2\ns b\n", true),
            ("a b\n", true),
        ] {
            let account = ListSummary::of(text, "").unwrap();
            assert_eq!(account.leaves_are, Leaves::Switches, "{text}");
            assert_eq!(account.obstacle.is_some(), obstacle, "{text}");
            assert_eq!(account.switches, account.vertices);
        }
    }
}
