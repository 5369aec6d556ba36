//! What can be wrong with the description of a tree.

use thiserror::Error;

/// Most nodes of a tree.
pub const MAX_NODES: u32 = 65_536;

/// Most ports of a switch, up and down together, and of a node.
pub const MAX_PORTS: u32 = 4_096;

/// Most directed links of a tree.
pub const MAX_LINKS: u32 = 1 << 22;

/// What is wrong with the description of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TreesError {
    /// A tree without switches.
    #[error("no level of switches; a tree has at least one")]
    NoLevels,
    /// Lists that do not speak of the same levels.
    #[error(
        "{down} levels by the links down, {up} by the links up, {parallel} by the parallel links; \
         each list needs one entry for each level of switches, that of the leaf switches first"
    )]
    Lengths {
        /// Entries for the links down.
        down: usize,
        /// Entries for the links up.
        up: usize,
        /// Entries for the parallel links.
        parallel: usize,
    },
    /// A k-ary tree of k below 2.
    #[error("a {arity}-ary tree; a switch needs at least 2 links down")]
    SmallArity {
        /// The arity asked for.
        arity: u32,
    },
    /// A number of links that is zero.
    #[error("level {level} has no {what}; a tree needs at least one there to close")]
    NoLinks {
        /// The level of switches, from 1 (leaf switches).
        level: u32,
        /// Which links.
        what: &'static str,
    },
    /// A tree of one node.
    #[error("a tree of one node; there must be at least 2")]
    OneNode,
    /// More nodes than can be handled.
    #[error("{nodes} nodes; a tree may have {MAX_NODES} at most")]
    TooManyNodes {
        /// Nodes asked for; `u64::MAX` when that many or more.
        nodes: u64,
    },
    /// More ports than a switch can have.
    #[error("{ports} ports of {}; {MAX_PORTS} is the most", owner(*.level))]
    TooManyPorts {
        /// The level of switches, from 1 (leaf switches); 0 for nodes.
        level: u32,
        /// Ports that it would have; `u64::MAX` when that many or more.
        ports: u64,
    },
    /// More links than can be handled.
    #[error("{links} directed links; a tree may have {MAX_LINKS} at most")]
    TooManyLinks {
        /// Links asked for; `u64::MAX` when that many or more.
        links: u64,
    },
    /// Leaf switches whose links up cannot be tapered evenly.
    #[error(
        "a taper of {taper} to 1 does not divide the {arity} links of a leaf switch; a tree tapered \
         so does not close"
    )]
    Taper {
        /// Links down of a leaf switch.
        arity: u32,
        /// Links down for each link up.
        taper: u32,
    },
    /// Links up from the top.
    #[error(
        "switches of level {level}, the top, have {ports} ports up that lead nowhere; the tree does \
         not close"
    )]
    PortsAtTop {
        /// The level of switches, from 1 (leaf switches).
        level: u32,
        /// Ports up.
        ports: u32,
    },
    /// Ports that no number of switches joins.
    #[error(
        "{nodes} nodes do not fill switches with {ports} ports down; the tree does not close: the \
         ports down, level by level, must multiply to the number of nodes, or to a multiple of it \
         that the topmost level can take up in parallel links"
    )]
    Nodes {
        /// Nodes asked for.
        nodes: u32,
        /// Ports down, level by level, as a list.
        ports: String,
    },
    /// Parallel links to the top that cannot be shared out.
    #[error(
        "{nodes} nodes need {parallel} parallel links from each switch to each of the top, which \
         divides neither evenly: the top has {down} ports down, the level below {up} up; the tree \
         does not close"
    )]
    Parallel {
        /// Nodes asked for.
        nodes: u32,
        /// Parallel links.
        parallel: u64,
        /// Ports down of the top.
        down: u32,
        /// Ports up of the level below.
        up: u32,
    },
}

fn owner(level: u32) -> String {
    match level {
        0 => "a node".to_owned(),
        _ => format!("a switch of level {level}"),
    }
}
