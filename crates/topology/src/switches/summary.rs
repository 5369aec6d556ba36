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
