//! Switches and nodes from a file that lists vertices and edges.

use super::attributes::{self, Found};
use super::{Form, NAME_MAX, Nodes};
use crate::graph::{Attributes, Graph, GraphError};
use strum::{EnumString, VariantNames};
use thiserror::Error;

/// Role of a vertex with one neighbour and without an attribute `role`: switch or node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Leaves {
    /// A vertex with one neighbour is a switch, like all other vertices.
    Switches,
    /// A vertex with one neighbour is a node.
    Nodes,
}

/// Maximum number of parallel cables between two vertices.
pub const WIDTH_MAX: u32 = 1024;

/// Maximum number of cables of a network. Parallel cables count separately.
pub const CABLES_MAX: usize = 1 << 20;

/// A reason why a list of vertices and edges describes no valid network of switches.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ListError {
    /// The text cannot be read as a graph.
    #[error("{}", .0.problem)]
    Graph(#[from] GraphError),
    /// An edge has an invalid width.
    #[error("a width of {width} between {from:?} and {to:?}")]
    Width {
        /// Line number of the edge, from 1.
        line: usize,
        /// The width as written in the list.
        width: String,
        /// Name of the vertex at the first end of the edge.
        from: String,
        /// Name of the second end of the edge.
        to: String,
    },
    /// The list has more cables than [`CABLES_MAX`].
    #[error("more than {CABLES_MAX} cables")]
    Cables {
        /// Line number of the first cable beyond the maximum.
        line: usize,
    },
    /// The list declares an edge as directed.
    #[error("the edge from {from:?} to {to:?} has a direction")]
    Directed {
        /// Line number of the edge.
        line: usize,
        /// Name of the vertex at which the edge starts.
        from: String,
        /// Name of the vertex at which the edge ends.
        to: String,
    },
    /// The list contains an attribute with an unknown name.
    #[error("attribute {name:?} of {owner} means nothing here")]
    Attribute {
        /// Line number of the first occurrence of the attribute.
        line: usize,
        /// Name of the unknown attribute.
        name: String,
        /// Text that names the vertex or edge with the attribute.
        owner: String,
        /// The names of all unknown attributes of the list.
        all: Vec<String>,
    },
    /// An attribute to be ignored does not occur in the list.
    #[error("no attribute {name:?} in the list")]
    Ignored {
        /// Name of the attribute that should be ignored but does not occur.
        name: String,
    },
    /// A vertex has an invalid role.
    #[error("{name:?} has the role {role:?}")]
    Role {
        /// Line number of the vertex.
        line: usize,
        /// Name of the vertex.
        name: String,
        /// The role as written in the list.
        role: String,
    },
    /// A node has no cable.
    #[error("nobody reaches node {name:?}: no cable leads to it")]
    Alone {
        /// Line number of the node in the list.
        line: usize,
        /// Name of the node.
        name: String,
    },
    /// A node is not joined to exactly one switch by one cable.
    #[error("node {name:?} is joined to {other:?}, and not by one cable to one switch alone")]
    Joined {
        /// Line number of the edge.
        line: usize,
        /// Name of the node.
        name: String,
        /// Name of the vertex at the other end of the edge.
        other: String,
    },
    /// Some switches are not connected to each other.
    #[error("no way leads from {from:?} to {to:?}")]
    Apart {
        /// Line number of the first switch.
        line: usize,
        /// Name of the first switch.
        from: String,
        /// Name of a switch that no path joins to the first.
        to: String,
    },
    /// The list contains no switch.
    #[error("no switch at all")]
    NoSwitch,
}

impl ListError {
    /// Return the line number in the list, from 1, or `None` if the error belongs to no line.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Graph(error) => Some(error.line),
            Self::Width { line, .. }
            | Self::Cables { line }
            | Self::Directed { line, .. }
            | Self::Attribute { line, .. }
            | Self::Role { line, .. }
            | Self::Alone { line, .. }
            | Self::Joined { line, .. }
            | Self::Apart { line, .. } => Some(*line),
            Self::Ignored { .. } | Self::NoSwitch => None,
        }
    }

    /// Return a text that suggests how to fix the list.
    pub fn hint(&self) -> String {
        match self {
            Self::Attribute { name, all, .. } => attributes::hint(name, all),
            Self::Ignored { .. } => "remove it from those to be ignored".to_owned(),
            Self::Graph(_) => {
                "write two names a line and perhaps a width, or paste GraphML".to_owned()
            }
            Self::Width { .. } => format!("give a width of 1 to {WIDTH_MAX}"),
            Self::Cables { .. } => "give fewer or narrower edges".to_owned(),
            Self::Directed { .. } => {
                "list undirected edges, each once: cables lead both ways".to_owned()
            }
            Self::Role { .. } => "write \"node\" or \"switch\"".to_owned(),
            Self::Alone { .. } | Self::Joined { .. } => {
                "join each node to one switch by one cable, and to nothing else".to_owned()
            }
            Self::Apart { .. } => "join all switches".to_owned(),
            Self::NoSwitch => "list two switches or more, or a switch with nodes".to_owned(),
        }
    }
}

/// A network that was read from a list of vertices and edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The switches and the cables between them, in the order of the list.
    pub form: Form,
    /// The nodes, in the order of the list; `None` if all vertices are switches.
    pub nodes: Option<Nodes>,
    /// The attributes that vertices and edges have in the list, both those with and without an effect on the network.
    pub attributes: Found,
}

/// Read switches, nodes and the cables between them. The text is GraphML if it begins as XML, otherwise an edge list
/// with two names per line ([`Graph::from_edge_list`]). The attribute `width` of an edge, or else its `weight`, is the
/// number of parallel cables; the numbers of edges with the same ends are added. The attribute `role` of a vertex
/// (`node` or `switch`) is its role; vertices without it have the role `leaves` if they have one neighbour, else they
/// are switches. Attributes in `ignored`, a list of names separated by commas, have no effect. All other attributes
/// must be names or drawing styles.
///
/// ```
/// use isthmus_topology::switches::{Leaves, Nodes, listed};
///
/// let found = listed("left right 4\nleft a\nright b\n", Leaves::Nodes, "")?;
/// assert_eq!(found.form.switch_count(), 2);
/// assert_eq!(found.form.cables(), [(0, 1); 4]);
/// assert_eq!(found.nodes, Some(Nodes::At(vec![0, 1])));
/// # Ok::<(), isthmus_topology::switches::ListError>(())
/// ```
///
/// # Errors
/// The first invalid line, or a line with a switch that is not connected to the first switch.
pub fn listed(text: &str, leaves: Leaves, ignored: &str) -> Result<Listed, ListError> {
    let (graph, attributes) = read(text, ignored)?;
    let (form, nodes) = network(&graph, leaves)?;
    Ok(Listed {
        form,
        nodes,
        attributes,
    })
}

/// Parse the text of a graph file: GraphML or a list of edges. Return the graph without the attributes named in
/// `ignored`, and its other attributes by their meaning.
pub(super) fn read(text: &str, ignored: &str) -> Result<(Graph, Found), ListError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut graph = match text.trim_start().starts_with('<') {
        true => Graph::from_graphml(text)?,
        false => Graph::from_edge_list(text)?,
    };
    let found = attributes::classify(&mut graph, ignored)?;
    Ok((graph, found))
}

/// Divide the vertices of a graph into switches and nodes. Return the switches with their cables, and the nodes, or
/// `None` if all vertices are switches.
pub(super) fn network(graph: &Graph, leaves: Leaves) -> Result<(Form, Option<Nodes>), ListError> {
    let name = |vertex: u32| -> String {
        let name = graph.node(vertex).name.chars();
        name.take(NAME_MAX).collect()
    };
    let mut is_node = Vec::new();
    for vertex in 0..graph.node_count() {
        is_node.push(match graph.node(vertex).attributes.get("role") {
            None => leaves == Leaves::Nodes && graph.neighbors(vertex).len() == 1,
            Some(role) if role == "node" => true,
            Some(role) if role == "switch" => false,
            Some(role) => {
                return Err(ListError::Role {
                    line: graph.node_line(vertex),
                    name: name(vertex),
                    role: role.chars().take(NAME_MAX).collect(),
                });
            }
        });
    }
    // Number the switches from 0, and separately the nodes from 0.
    let mut counts = [0, 0];
    let numbers = is_node.iter().map(|&node| {
        let count = &mut counts[usize::from(node)];
        *count += 1;
        *count - 1
    });
    let numbers: Vec<u32> = numbers.collect();
    let [switches, nodes] = counts;
    if switches == 0 {
        return Err(ListError::NoSwitch);
    }
    let mut cables = Vec::new();
    let mut at: Vec<Option<u32>> = vec![None; nodes as usize];
    for (place, (from, to, edge)) in graph.edges().enumerate() {
        let line = graph.edge_line(place);
        if edge.directed {
            let (from, to) = (name(from), name(to));
            return Err(ListError::Directed { line, from, to });
        }
        let width = width(&edge.attributes).map_err(|width| ListError::Width {
            line,
            width,
            from: name(from),
            to: name(to),
        })?;
        let [a, b] = [from, to].map(|vertex| numbers[vertex as usize]);
        match [from, to].map(|vertex| is_node[vertex as usize]) {
            [false, false] => cables.extend((0..width).map(|_| (a, b))),
            [node, other] => {
                let (vertex, beside) = if node { (from, to) } else { (to, from) };
                let (own, switch) = if node { (a, b) } else { (b, a) };
                let own = &mut at[own as usize];
                if (node && other) || width > 1 || own.replace(switch).is_some() {
                    return Err(ListError::Joined {
                        line,
                        name: name(vertex),
                        other: name(beside),
                    });
                }
            }
        }
        if cables.len() > CABLES_MAX {
            return Err(ListError::Cables { line });
        }
    }
    let vertex_of = |number: usize, node: bool| {
        let mut vertices = (0..graph.node_count()).filter(|&v| is_node[v as usize] == node);
        vertices.nth(number).unwrap_or(0)
    };
    if let Some(node) = at.iter().position(Option::is_none) {
        let vertex = vertex_of(node, true);
        return Err(ListError::Alone {
            line: graph.node_line(vertex),
            name: name(vertex),
        });
    }
    let vertices = 0..graph.node_count();
    let of_switches = vertices.filter(|&vertex| !is_node[vertex as usize]);
    let form = Form::Cables {
        switches,
        cables,
        names: (of_switches.map(|vertex| graph.node(vertex).name.clone())).collect(),
    };
    if let Some(apart) = form.apart() {
        let [from, to] = [apart.from, apart.to].map(|switch| vertex_of(switch as usize, false));
        return Err(ListError::Apart {
            line: graph.node_line(from),
            from: name(from),
            to: name(to),
        });
    }
    let nodes = (nodes > 0).then(|| Nodes::At(at.into_iter().flatten().collect()));
    Ok((form, nodes))
}

/// Return the number of parallel cables of an edge, or the text of the attribute if it is invalid.
fn width(attributes: &Attributes) -> Result<u32, String> {
    let written = attributes.get("width").or_else(|| attributes.get("weight"));
    let Some(written) = written else { return Ok(1) };
    // Accept whole numbers with decimals: the Python library NetworkX writes the weight 2 also as `2.0`.
    match written.trim().parse::<f64>() {
        Ok(width) if width.fract() == 0.0 && (1.0..=f64::from(WIDTH_MAX)).contains(&width) => {
            Ok(width as u32)
        }
        _ => Err(written.chars().take(NAME_MAX).collect()),
    }
}
