//! Errors in graphs and graph files.

use thiserror::Error;

/// Maximum number of characters of a word from the file in an error message.
const SHOWN_MAX: usize = 60;

/// An error in a line of a graph file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct GraphError {
    /// Number of the line, counted from 1.
    pub line: usize,
    /// The problem in the line.
    pub problem: GraphProblem,
}

/// A problem in a graph or in a line of a graph file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GraphProblem {
    /// A node of the graph has an empty name.
    #[error("a node needs a name")]
    EmptyName,
    /// Two nodes have the same name.
    #[error("node \"{name}\" is there already; names must differ")]
    DuplicateNode {
        /// The repeated name.
        name: String,
    },
    /// An edge joins a node to itself.
    #[error("edge from node \"{name}\" to itself; an edge joins two different nodes")]
    SelfLoop {
        /// Name of the node at both ends of the edge.
        name: String,
    },
    /// An edge ends at a node that the file does not declare.
    #[error("edge to node \"{name}\", which the file does not declare")]
    UnknownNode {
        /// Name of the undeclared node.
        name: String,
    },
    /// The text is not well-formed XML.
    #[error("not well-formed XML: {what}")]
    Xml {
        /// Error message of the XML reader.
        what: String,
    },
    /// The XML text ends inside an element.
    #[error("the file ends inside element \"{element}\"")]
    Truncated {
        /// Name of the innermost open element.
        element: String,
    },
    /// The file contains no graph.
    #[error("no \"graph\" element; GraphML has the form <graphml><graph>...</graph></graphml>")]
    NoGraph,
    /// An XML element is in a position where it is not permitted.
    #[error("element \"{element}\" {why}")]
    Element {
        /// Name of the XML element with this problem.
        element: String,
        /// Reason why this XML element of the graph file is not permitted inside its parent element.
        why: &'static str,
    },
    /// An XML element has no value for a required attribute.
    #[error("element \"{element}\" has no attribute \"{attribute}\"")]
    MissingAttribute {
        /// Name of the XML element with this problem.
        element: &'static str,
        /// Name of the missing attribute.
        attribute: &'static str,
    },
    /// A `data` element refers to an undeclared key.
    #[error("data for key \"{key}\", which the file does not declare before")]
    UnknownKey {
        /// Identifier of the undeclared key.
        key: String,
    },
    /// An attribute has an invalid value.
    #[error("\"{value}\" for {attribute}; it must be {allowed}")]
    Value {
        /// Name of the attribute with this problem.
        attribute: &'static str,
        /// Value of the attribute in the file.
        value: String,
        /// Permitted values of the attribute.
        allowed: &'static str,
    },
    /// A quoted word has no closing quote on its line.
    #[error("the quote opened in column {column} is not closed on its line")]
    OpenQuote {
        /// The column of the quote, counted in characters from 1.
        column: usize,
    },
    /// The word after the two node names of a line is not an attribute.
    #[error(
        "\"{word}\" after the two node names; attributes are a number, name=value, or a dictionary \
         {{'name': value}}"
    )]
    NotAnAttribute {
        /// The word that is not an attribute.
        word: String,
    },
    /// The file is a Slurm topology file, which lists switches with ranges of nodes, not edges.
    #[error(
        "a topology.conf of Slurm, which lists switches, not edges; describe the fat tree as a \
         machine (kind = \"fat-tree\", tree = \"ports\"), or write a line \"SWITCH NODE\" for each link"
    )]
    SlurmTopology,
    /// The file is output of `ibnetdiscover`, which lists nodes with their ports, not edges.
    #[error(
        "output of ibnetdiscover, which lists the ports of switches and hosts, not edges; write a line \
         \"SWITCH SWITCH\" or \"SWITCH HOST\" for each cable (and set leaves = \"nodes\" for the hosts)"
    )]
    Ibnetdiscover,
    /// An attribute is in the position of a node name.
    #[error("\"{word}\" where the name of a node belongs; write names with \"=\" in double quotes")]
    NotAName {
        /// The attribute, as written in the file.
        word: String,
    },
    /// An attribute occurs twice on one line, or for one node.
    #[error("attribute \"{name}\" is given twice")]
    DuplicateAttribute {
        /// Name of the attribute with this problem.
        name: String,
    },
}

impl GraphProblem {
    /// Return the problem as an error in line `line`.
    pub(super) fn at(mut self, line: usize) -> GraphError {
        self.shorten();
        GraphError {
            line,
            problem: self,
        }
    }

    /// Shorten the words from the file that the message contains.
    fn shorten(&mut self) {
        let word = match self {
            Self::DuplicateNode { name }
            | Self::SelfLoop { name }
            | Self::UnknownNode { name }
            | Self::DuplicateAttribute { name } => name,
            Self::Truncated { element } | Self::Element { element, .. } => element,
            Self::UnknownKey { key } => key,
            Self::Value { value, .. } => value,
            Self::NotAnAttribute { word } | Self::NotAName { word } => word,
            // The message of the XML reader may be longer, since it also contains names from the
            // file.
            Self::Xml { what } => return shorten(what, 4 * SHOWN_MAX),
            Self::EmptyName
            | Self::NoGraph
            | Self::MissingAttribute { .. }
            | Self::OpenQuote { .. }
            | Self::SlurmTopology
            | Self::Ibnetdiscover => return,
        };
        shorten(word, SHOWN_MAX);
    }
}

/// Shorten `text` to at most `most` characters.
fn shorten(text: &mut String, most: usize) {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
}
