//! Errors in graphs and graph files.

use thiserror::Error;

/// Maximum length in characters of a word of the file in an error message.
const SHOWN_MAX: usize = 60;

/// An error in a line of a graph file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct GraphError {
    /// The line, counted from 1.
    pub line: usize,
    /// The problem in this line.
    pub problem: GraphProblem,
}

/// A problem in a graph.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GraphProblem {
    /// A node without a name.
    #[error("a node needs a name")]
    EmptyName,
    /// A name used twice.
    #[error("node \"{name}\" is there already; names must differ")]
    DuplicateNode {
        /// The name.
        name: String,
    },
    /// An edge from a node to itself.
    #[error("edge from node \"{name}\" to itself; an edge joins two different nodes")]
    SelfLoop {
        /// The node.
        name: String,
    },
    /// An edge to a node that the file does not declare.
    #[error("edge to node \"{name}\", which the file does not declare")]
    UnknownNode {
        /// The name.
        name: String,
    },
    /// Not well-formed XML.
    #[error("not well-formed XML: {what}")]
    Xml {
        /// Message of the XML reader.
        what: String,
    },
    /// The text ends inside an element.
    #[error("the file ends inside element \"{element}\"")]
    Truncated {
        /// The innermost open element.
        element: String,
    },
    /// No graph in the file.
    #[error("no \"graph\" element; GraphML has the form <graphml><graph>...</graph></graphml>")]
    NoGraph,
    /// An element in a position where it is not permitted.
    #[error("element \"{element}\" {why}")]
    Element {
        /// The element.
        element: String,
        /// The reason.
        why: &'static str,
    },
    /// An element without an attribute that it must have.
    #[error("element \"{element}\" has no attribute \"{attribute}\"")]
    MissingAttribute {
        /// The element.
        element: &'static str,
        /// The attribute.
        attribute: &'static str,
    },
    /// A `data` element for an undeclared key.
    #[error("data for key \"{key}\", which the file does not declare before")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// An invalid value of an attribute.
    #[error("\"{value}\" for {attribute}; it must be {allowed}")]
    Value {
        /// The attribute.
        attribute: &'static str,
        /// Its value.
        value: String,
        /// Permitted values.
        allowed: &'static str,
    },
    /// A quote that does not end on its line.
    #[error("the quote opened in column {column} is not closed on its line")]
    OpenQuote {
        /// The column, counted in characters from 1.
        column: usize,
    },
    /// A third column that is no attribute.
    #[error(
        "\"{word}\" after the two node names; attributes are a number, name=value, or a dictionary \
         {{'name': value}}"
    )]
    NotAnAttribute {
        /// The word.
        word: String,
    },
    /// A Slurm topology file: switches with ranges of nodes, no edges.
    #[error(
        "a topology.conf of Slurm, which lists switches, not edges; describe the fat tree as a \
         machine (kind = \"fat-tree\", tree = \"ports\"), or write a line \"SWITCH NODE\" for each link"
    )]
    SlurmTopology,
    /// The output of `ibnetdiscover`: nodes with their ports, no edges.
    #[error(
        "output of ibnetdiscover, which lists the ports of switches and hosts, not edges; write a line \
         \"SWITCH SWITCH\" or \"SWITCH HOST\" for each cable (and set leaves = \"nodes\" for the hosts)"
    )]
    Ibnetdiscover,
    /// An attribute in place of a name.
    #[error("\"{word}\" where the name of a node belongs; write names with \"=\" in double quotes")]
    NotAName {
        /// The word.
        word: String,
    },
    /// An attribute that occurs twice on one line, or for one node.
    #[error("attribute \"{name}\" is given twice")]
    DuplicateAttribute {
        /// The attribute.
        name: String,
    },
}

impl GraphProblem {
    pub(super) fn at(mut self, line: usize) -> GraphError {
        self.shorten();
        GraphError {
            line,
            problem: self,
        }
    }

    /// Shorten words of the file in the message.
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
            // The message of the reader may be longer; it also contains names of the file.
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

fn shorten(text: &mut String, most: usize) {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
}
