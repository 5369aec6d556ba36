//! Requests from Python to read graphs of networks from text.

use crate::question::{Refusal, answer};
use isthmus_topology::Graph;
use isthmus_topology::graph::Part;
use isthmus_topology::switches::{self, Found, Leaves, ListError};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A file format of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    Graphml,
    EdgeList,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with the format, text and file of a graph"
)]
/// A request from Python to import a graph: the graph as text, its format, and the name of its
/// file, if it comes from a file.
pub(crate) struct GraphRequest {
    pub format: Format,
    pub text: String,
    pub file: Option<String>,
}

impl GraphRequest {
    /// Parse the graph. Errors name the file and the line, or the field of the request if there is
    /// no file.
    pub(crate) fn read(&self, prefix: &str) -> Result<Graph, Refusal> {
        let place = match &self.file {
            Some(file) => file.clone(),
            None => format!("{prefix}text"),
        };
        let graph = match self.format {
            Format::Graphml => Graph::from_graphml(&self.text),
            Format::EdgeList => Graph::from_edge_list(&self.text),
        };
        let graph = graph.map_err(|error| match self.file {
            Some(_) => Refusal::at(format!("{place}:{}", error.line), error.problem),
            None => Refusal::at(&place, error),
        })?;
        if graph.node_count() == 0 {
            return Err(Refusal::at(
                place,
                "a graph without nodes; it needs one or more",
            ));
        }
        Ok(graph)
    }
}

/// A request from Python to parse a text with lists of vertices and edges into a graph.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeListRequest {
    text: String,
    file: String,
    ignored: String,
}

/// A summary of a network of switches, in JSON.
#[derive(Serialize)]
struct Account {
    vertices: u32,
    leaves: u32,
    leaves_are: &'static str,
    obstacle: Option<String>,
    switches: u32,
    nodes: u32,
    cables: usize,
    used: ByPart,
    not_used: ByPart,
}

/// Names of attributes, by the part that they describe: vertices, edges or the graph.
type ByPart = BTreeMap<&'static str, Vec<String>>;

/// Group the names of attributes by the kind of part that they describe.
fn by_part(attributes: BTreeSet<(Part, String)>) -> ByPart {
    let mut found = ByPart::new();
    for (part, name) in attributes {
        let part = match part {
            Part::Edges => "edges",
            Part::Vertices => "vertices",
            Part::Graph => "graph",
        };
        found.entry(part).or_default().push(name);
    }
    found
}

/// Return a summary, as JSON, of the network of switches that a file with lists of vertices and
/// edges describes.
#[pyfunction]
pub(crate) fn graph_account(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question: EdgeListRequest, _| {
        let refusal = |error: ListError| {
            let problem = format!("{error}; {}", error.hint());
            match (&error, error.line()) {
                (ListError::Ignored { .. }, _) => Refusal::at("--ignored", problem),
                (_, Some(line)) => Refusal::at(format!("{}:{line}", question.file), problem),
                (_, None) => Refusal::at(&question.file, problem),
            }
        };
        let found =
            switches::ListSummary::of(&question.text, &question.ignored).map_err(refusal)?;
        let Found { used, not_used } = found.attributes;
        Ok(Account {
            vertices: found.vertices,
            leaves: found.leaves,
            leaves_are: match found.leaves_are {
                Leaves::Nodes => "nodes",
                Leaves::Switches => "switches",
            },
            obstacle: found.obstacle.map(|error| error.to_string()),
            switches: found.switches,
            nodes: found.nodes,
            cables: found.cables,
            used: by_part(used),
            not_used: by_part(not_used),
        })
    })
}
