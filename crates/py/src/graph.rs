//! Imported graphs in a question.

use crate::question::Refusal;
use isthmus_topology::Graph;
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    Graphml,
    EdgeList,
}

/// A graph and the file that it came from.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with the format, text and file of a graph"
)]
pub(crate) struct GraphQuestion {
    pub format: Format,
    pub text: String,
    pub file: Option<String>,
}

impl GraphQuestion {
    /// Reads the graph; errors name the file and the line, or the field if there is no file.
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
