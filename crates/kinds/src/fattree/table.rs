//! Scenario table `[machine]` of a fat tree. Section numbers are those of the QsNET paper.

use crate::packets::NetworkTable;
use crate::values::Levels;
use isthmus_machine::packets::spec::{LinkLoad, LinkTie};
use isthmus_scenario::format::{Describe, Whole};
use isthmus_topology::trees::MAX_NODES;
use isthmus_topology::trees::MAX_PORTS;

/// Fields of the scenario table `[machine]` of a fat tree, except `preset`.
#[derive(Describe)]
pub(super) struct MachineTable {
    /// How the tree is described: arity and levels (section 2.2), the ports of its switches, or the
    /// numbers of an extended generalised fat tree.
    #[describe(choice, default = "k-ary")]
    pub(super) tree: TreeTable,
    /// Which link up a packet takes: the least loaded (section 2.2.1), by ascent_load and ascent_tie;
    /// the one that the destination or the source gives; any.
    #[describe(choice, default = "adaptive")]
    pub(super) ascent: AscentTable,
    #[describe(flatten)]
    pub(super) network: NetworkTable,
}

/// Scenario fields of each way to describe the shape of a tree; `machine.tree` selects one.
#[derive(Describe)]
pub(super) enum TreeTable {
    KAry {
        /// k: links down, and up, of each switch; there are k^n nodes (section 2.2: 4).
        #[describe(holds = Whole::new(2, MAX_PORTS as u64 / 2), example = "4")]
        arity: u32,
        /// n: levels of switches (section 2.2: 3).
        #[describe(holds = Whole::new(1, 16), example = "3")]
        levels: u32,
        /// Links down of a leaf switch for each link up; it must divide the arity.
        #[describe(holds = Whole::new(1, MAX_PORTS as u64), default = 1)]
        taper: u32,
    },
    Ports {
        /// Number of nodes, each with one link.
        #[describe(holds = Whole::new(2, MAX_NODES as u64), example = "648")]
        nodes: u32,
        #[describe(table)]
        ports: PortsTable,
    },
    Generalised {
        /// m: children of a switch of each level, leaf switches first; the nodes are their product.
        #[describe(label = "children", holds = Levels, example = "[8, 8]")]
        down: Vec<u32>,
        /// w: parents of a child of each level: of a node, of a leaf switch and so on; fewer than the
        /// links down below taper the tree.
        #[describe(label = "parents", holds = Levels, example = "[1, 4]")]
        up: Vec<u32>,
        /// Links between a child of each level and each of its parents.
        #[describe(label = "parallel links", holds = Levels, derived = "1 on each level")]
        parallel: Option<Vec<u32>>,
    },
}

/// Table `[machine.ports]`: the ports of switches that determine the tree.
#[derive(Describe)]
pub(super) struct PortsTable {
    /// Ports towards the nodes of the switches of each level, leaf switches first.
    #[describe(label = "ports down", holds = Levels, example = "[24, 27]")]
    pub(super) down: Vec<u32>,
    /// Ports towards the top of the switches of each level but the top.
    #[describe(label = "ports up", holds = Levels, example = "[12]")]
    pub(super) up: Vec<u32>,
}

/// Scenario fields of each rule for the choice of a link upwards; `machine.ascent` selects one.
#[derive(Describe)]
pub(super) enum AscentTable {
    Adaptive {
        /// Which of the links that a packet can have is the least loaded: that with most free virtual
        /// channels, then the earliest free (with cut-through: most room in the buffers behind it); or
        /// any that carries no packet now, then the earliest free.
        #[describe(words, label = "load of a link", default = "room")]
        ascent_load: LinkLoad,
        /// Which of several links loaded alike a packet takes: any; that which has carried no packet
        /// for longest; that of the lowest number.
        #[describe(words, label = "tie of links", default = "random")]
        ascent_tie: LinkTie,
    },
    Destination,
    Source,
    Random,
}
