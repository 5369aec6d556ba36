//! Errors in the description of a fat tree.

use std::fmt;

/// Maximum number of nodes of a tree.
pub const MAX_NODES: u32 = 65_536;

/// Maximum number of ports, up and down together, of a switch or node.
pub const MAX_PORTS: u32 = 4_096;

/// Maximum number of directed links of a tree.
pub const MAX_LINKS: u32 = 1 << 22;

/// An error in the description of a fat tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreesError {
    /// The tree has no level of switches.
    NoLevels,
    /// The lists for links down, links up and parallel links differ in length.
    Lengths {
        /// Length of the list of numbers of links down.
        down: usize,
        /// Length of the list of numbers of links up.
        up: usize,
        /// Length of the list of numbers of parallel links.
        parallel: usize,
    },
    /// The arity of a k-ary tree is below 2.
    SmallArity {
        /// The requested arity.
        arity: u32,
    },
    /// The switches of one level have no links of one kind.
    NoLinks {
        /// The level of the switches, from 1 (leaf switches).
        level: u32,
        /// Word for the kind of links that the switches lack, for the message of the error.
        what: &'static str,
    },
    /// The tree has only one node.
    OneNode,
    /// The tree has too many nodes.
    TooManyNodes {
        /// Requested number of nodes; `u64::MAX` if it is larger.
        nodes: u64,
    },
    /// A switch or node has too many ports.
    TooManyPorts {
        /// The level of the switches, from 1 (leaf switches); 0 for nodes.
        level: u32,
        /// Requested number of ports; `u64::MAX` if it is larger.
        ports: u64,
    },
    /// The tree has too many links.
    TooManyLinks {
        /// Requested number of links of the tree; `u64::MAX` if it is larger.
        links: u64,
    },
    /// The taper does not divide the number of links down of a leaf switch.
    Taper {
        /// Number of links down of a leaf switch.
        arity: u32,
        /// Requested ratio of links down to links up.
        taper: u32,
    },
    /// The switches of the top level have ports up, although no level is above them.
    PortsAtTop {
        /// The level of the top switches, from 1 (leaf switches).
        level: u32,
        /// Requested number of ports up.
        ports: u32,
    },
    /// No tree of switches with these numbers of ports has exactly the requested number of nodes.
    Nodes {
        /// Requested number of nodes.
        nodes: u32,
        /// Numbers of ports of a switch towards the nodes, level by level, as text.
        ports: String,
    },
    /// The parallel links between the top level and the level below cannot be divided evenly among the switches.
    Parallel {
        /// Requested number of nodes.
        nodes: u32,
        /// Number of parallel links.
        parallel: u64,
        /// Number of ports down of a top switch.
        down: u32,
        /// Number of ports up of a switch on the level below the top.
        up: u32,
    },
}

impl TreesError {
    /// Return a text that describes the problem.
    pub fn problem(&self) -> String {
        match self {
            Self::NoLevels => "no level of switches".to_owned(),
            Self::Lengths { down, up, parallel } => format!(
                "{down} levels by the links down, {up} by the links up, {parallel} by the parallel \
                 links"
            ),
            Self::SmallArity { arity } => format!("a {arity}-ary tree"),
            Self::NoLinks { level, what } => format!("level {level} has no {what}"),
            Self::OneNode => "a tree of one node".to_owned(),
            Self::TooManyNodes { nodes } => format!("{nodes} nodes"),
            Self::TooManyPorts { level: 0, ports } => format!("{ports} ports of a node"),
            Self::TooManyPorts { level, ports } => {
                format!("{ports} ports of a switch of level {level}")
            }
            Self::TooManyLinks { links } => format!("{links} directed links"),
            Self::Taper { arity, taper } => format!(
                "a taper of {taper} to 1 does not divide the {arity} links of a leaf switch"
            ),
            Self::PortsAtTop { level, ports } => format!(
                "switches of level {level}, the top, have {ports} ports up that lead nowhere"
            ),
            Self::Nodes { nodes, ports } => {
                format!("{nodes} nodes do not fill switches with {ports} ports down")
            }
            Self::Parallel {
                nodes,
                parallel,
                down,
                up,
            } => format!(
                "{nodes} nodes need {parallel} parallel links from each switch to each of the top, \
                 which divides neither evenly: the top has {down} ports down, the level below {up} up"
            ),
        }
    }

    /// Return a text that suggests how to fix the description.
    pub fn hint(&self) -> String {
        match self {
            Self::NoLevels => "a tree has at least one".to_owned(),
            Self::Lengths { .. } => {
                "each list needs one entry for each level of switches, that of \
                                     the leaf switches first"
                    .to_owned()
            }
            Self::SmallArity { .. } => "a switch needs at least 2 links down".to_owned(),
            Self::NoLinks { .. } => "a tree needs at least one there to close".to_owned(),
            Self::OneNode => "there must be at least 2".to_owned(),
            Self::TooManyNodes { .. } => format!("a tree may have {MAX_NODES} at most"),
            Self::TooManyPorts { .. } => format!("{MAX_PORTS} is the most"),
            Self::TooManyLinks { .. } => format!("a tree may have {MAX_LINKS} at most"),
            Self::Taper { .. } => "a tree tapered so does not close".to_owned(),
            Self::PortsAtTop { .. } | Self::Parallel { .. } => "the tree does not close".to_owned(),
            Self::Nodes { .. } => "the tree does not close: the ports down, level by level, must \
                                   multiply to the number of nodes, or to a multiple of it that \
                                   the topmost level can take up in parallel links"
                .to_owned(),
        }
    }
}

impl fmt::Display for TreesError {
    /// Write the problem with the fat tree, and advice on how to fix it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem(), self.hint())
    }
}

impl std::error::Error for TreesError {}
