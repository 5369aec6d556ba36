//! Graphs: networks of any form, with named nodes and with the attributes of a file.

mod edge_list;
mod error;
mod graphml;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use petgraph::graph::{NodeIndex, UnGraph};
use petgraph::visit::EdgeRef;

use crate::Adjacency;

pub(crate) use edge_list::{Word, words};
pub use error::{GraphError, GraphProblem};

/// The attributes of a node or edge: their values as text, by name.
pub type Attributes = BTreeMap<String, String>;

/// The kind of element of a graph that an attribute belongs to: an edge, a vertex or the whole graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The attribute belongs to an edge.
    Edges,
    /// The attribute belongs to a vertex.
    Vertices,
    /// The attribute belongs to the graph as a whole.
    Graph,
}

/// A node of a [`Graph`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Unique name of the node.
    pub name: String,
    /// Attributes of the node in the file.
    pub attributes: Attributes,
}

/// An edge of a [`Graph`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edge {
    /// Whether the file declares the edge as directed, from its first end to its second.
    pub directed: bool,
    /// Attributes of the edge in the file.
    pub attributes: Attributes,
}

/// A network of named nodes, indexed `0..node_count` in the order of the file.
///
/// The graph may contain parallel edges. Edges from a node to itself are refused, since no message would use them. As
/// an [`Adjacency`] the graph is undirected: links carry messages in both directions, and `directed` only records the
/// declaration in the file.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    graph: UnGraph<Node, Edge>,
    index: HashMap<String, u32>,
    /// Neighbours of each node in ascending order, without repetition.
    neighbors: Vec<Vec<u32>>,
    /// Line numbers in the file: of each node, then of each edge; 0 if the graph was not read from a file.
    lines: [Vec<usize>; 2],
    /// Names of attributes of the whole graph, with their lines in the file.
    own: BTreeMap<String, usize>,
}

impl Graph {
    /// Return a graph without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Read GraphML with one graph of nodes and edges. Their attributes are the `data` elements (with the defaults of
    /// keys), including those of ports, and XML attributes that GraphML does not define. Nested graphs and hyperedges
    /// are refused.
    ///
    /// # Errors
    /// The first invalid line and the problem in it.
    pub fn from_graphml(text: &str) -> Result<Self, GraphError> {
        graphml::read(text)
    }

    /// Read an edge list with one edge per line: two node names, separated by blanks, a comma or a semicolon, then
    /// optional attributes. These are a bare number (`weight`), `name=value` pairs, or a dictionary `{'name': value}`
    /// as NetworkX writes it. A line with one name declares a node, optionally with `name=value` pairs. Names and
    /// values with separators, and names with `=`, are written in double quotes, with `\` as the escape character. A
    /// word that begins with `#` or `%` starts a comment.
    ///
    /// Nodes are indexed by first occurrence, unless their names are exactly the numbers from 0 up: then each node has
    /// its name as its index.
    ///
    /// # Errors
    /// The first invalid line and the problem in it.
    pub fn from_edge_list(text: &str) -> Result<Self, GraphError> {
        edge_list::read(text)
    }

    /// Add a node and return its index.
    ///
    /// # Errors
    /// The name is empty or already used.
    pub fn add_node(
        &mut self,
        name: impl Into<String>,
        attributes: Attributes,
    ) -> Result<u32, GraphProblem> {
        let name = name.into();
        if name.is_empty() {
            return Err(GraphProblem::EmptyName);
        }
        if self.index.contains_key(&name) {
            return Err(GraphProblem::DuplicateNode { name });
        }
        let index = self.neighbors.len() as u32;
        self.index.insert(name.clone(), index);
        self.graph.add_node(Node { name, attributes });
        self.neighbors.push(Vec::new());
        self.lines[0].push(0);
        Ok(index)
    }

    /// Add edges, each with its line number in the file. They may be in any order; the time is proportional to their
    /// number.
    pub(super) fn add_edges(
        &mut self,
        edges: impl IntoIterator<Item = (u32, u32, Edge, usize)>,
    ) -> Result<(), GraphError> {
        for (from, to, edge, line) in edges {
            if from == to {
                let name = self.node(from).name.clone();
                return Err(GraphProblem::SelfLoop { name }.at(line));
            }
            let [one, other] = [from, to].map(|node| NodeIndex::new(node as usize));
            self.graph.add_edge(one, other, edge);
            self.lines[1].push(line);
            self.neighbors[from as usize].push(to);
            self.neighbors[to as usize].push(from);
        }
        for neighbors in &mut self.neighbors {
            neighbors.sort_unstable();
            neighbors.dedup();
            neighbors.shrink_to_fit();
        }
        Ok(())
    }

    /// Return the names of attributes of the whole graph, with their lines in the file.
    pub fn own_attributes(&self) -> &BTreeMap<String, usize> {
        &self.own
    }

    /// Remove all attributes with this name, and return the kinds of elements that had one.
    pub fn remove_attributes(&mut self, name: &str) -> BTreeSet<Part> {
        let mut parts = BTreeSet::new();
        for node in self.graph.node_weights_mut() {
            parts.extend(node.attributes.remove(name).map(|_| Part::Vertices));
        }
        for edge in self.graph.edge_weights_mut() {
            parts.extend(edge.attributes.remove(name).map(|_| Part::Edges));
        }
        parts.extend(self.own.remove(name).map(|_| Part::Graph));
        parts
    }

    /// Set the line number of a node in the file.
    pub(super) fn set_node_line(&mut self, node: u32, line: usize) {
        self.lines[0][node as usize] = line;
    }

    /// Return the line number, from 1, of a node in the file; 0 if the graph was not read from a file.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn node_line(&self, node: u32) -> usize {
        self.lines[0][node as usize]
    }

    /// Return the line number, from 1, of an edge in the file; 0 if the graph was not read from a file.
    ///
    /// # Panics
    /// When there is no such edge.
    pub fn edge_line(&self, edge: usize) -> usize {
        self.lines[1][edge]
    }

    /// Return the number of nodes.
    pub fn node_count(&self) -> u32 {
        self.neighbors.len() as u32
    }

    /// Return the number of edges. Parallel edges count separately.
    pub fn edge_count(&self) -> usize {
        self.graph.edge_count()
    }

    /// Return the node with this index.
    ///
    /// # Panics
    /// The node does not exist.
    pub fn node(&self, index: u32) -> &Node {
        &self.graph[NodeIndex::new(index as usize)]
    }

    /// Return all nodes in the order of their indices.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> + Clone {
        self.graph.raw_nodes().iter().map(|node| &node.weight)
    }

    /// Return the index of the node with this name; `None` if there is none.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.index.get(name).copied()
    }

    /// Return all edges as (first end, second end, edge), in the order in which they were added.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, &Edge)> + Clone {
        self.graph.edge_references().map(|edge| {
            let (from, to) = (edge.source().index(), edge.target().index());
            (from as u32, to as u32, edge.weight())
        })
    }

    /// Return the neighbours of a node, ascending, each once.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn neighbors(&self, node: u32) -> &[u32] {
        &self.neighbors[node as usize]
    }
}

impl Adjacency for Graph {
    /// Return the number of nodes of the graph.
    fn node_count(&self) -> u32 {
        Graph::node_count(self)
    }

    /// Return the neighbours of `node` in ascending order, each once.
    fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        Graph::neighbors(self, node).iter().copied()
    }
}
