//! Scenario table `[machine]` of a network of switches.

use crate::packets::NetworkTable;
use crate::values::Size;
use isthmus_machine::graph::spec::DragonflyRouting;
use isthmus_scenario::format::{Describe, Links, Span, Text, Whole};
use isthmus_topology::switches::Leaves;
use isthmus_units::Time;

/// Maximum number of switches, so that the table of routes fits into memory.
pub const SWITCHES_MAX: u32 = 4096;

/// Maximum number of nodes of the network.
pub(super) const NODES_MAX: u32 = 1 << 17;

/// Maximum number of characters of a list of edges or routes.
const LIST_MAX: usize = 1 << 24;

/// Maximum number of characters of the list of GraphML attributes to ignore.
const IGNORED_MAX: usize = 10_000;

/// Type of a scenario field: the number of switches in each dimension of a grid.
const SWITCHES: Size = Size {
    least: 1,
    nodes: SWITCHES_MAX,
    limited_by: "a table of routes",
};

/// Valid range of the number of nodes at one switch.
const NODES: Whole<u32> = Whole::new(1, 4096);

/// Table `[machine]` of a network of switches.
#[derive(Describe)]
pub(super) struct MachineTable {
    /// How switches are joined: each with the next; in a grid that is closed in every dimension, or has
    /// borders; in groups, each pair of which has links of its own (Kim, Dally, Scott and Abts, ISCA
    /// 2008); by the cables or the edges listed.
    #[describe(choice, example = "\"torus\"")]
    pub(super) graph: GraphTable,
    /// What a signal takes along a link between switches; of a dragonfly, within a group.
    #[describe(label = "link delay", holds = Span::or_zero("ns"), default = "0 s")]
    pub(super) delay: Time,
    #[describe(flatten)]
    pub(super) network: NetworkTable,
}

/// Scenario fields of each topology; `machine.graph` selects one.
#[derive(Describe)]
pub(super) enum GraphTable {
    Ring {
        /// Switches of the ring.
        #[describe(holds = Whole::new(2, SWITCHES_MAX as u64), example = "8")]
        switches: u32,
        #[describe(flatten)]
        at: Switches,
    },
    Torus(Grid),
    Mesh(Grid),
    Dragonfly {
        /// p: nodes at each router.
        #[describe(holds = NODES, example = "2")]
        nodes: u32,
        /// a: routers of each group.
        #[describe(holds = Whole::new(1, 4096), example = "4")]
        routers: u32,
        /// g: groups.
        #[describe(holds = Whole::new(1, 4096), example = "9")]
        groups: u32,
        /// Links between each two groups.
        #[describe(label = "links of a pair of groups", holds = Whole::new(1, 4096), default = 1)]
        global_links: u32,
        /// What a signal takes along a link between groups.
        #[describe(label = "delay of global links", holds = Span::or_zero("ns"), default = "0 s")]
        global_delay: Time,
        /// Which ways packets take through a dragonfly: over a link between the two groups; by a third
        /// group, drawn by lot; by that if its queues promise to be faster (UGAL-L).
        #[describe(words, label = "routing of groups", default = "minimal")]
        group_routing: DragonflyRouting,
    },
    Edges {
        /// The network as a list of edges, two names a line and perhaps how many links lie beside one
        /// another; or as GraphML, with the attribute width of edges, and role ("node" or "switch") of vertices.
        #[describe(holds = Text { max: LIST_MAX }, example = "\"a b 2\\nb c\"")]
        edges: String,
        /// What vertices with one neighbour are, unless their role says it. Where there are nodes in the list,
        /// there are no others.
        #[describe(words, default = "switches")]
        leaves: Leaves,
        /// Attributes of the list that have no effect here, names separated by commas. Without it an attribute
        /// that means nothing here is refused, unless it only says how a part is called or drawn.
        #[describe(holds = Text { max: IGNORED_MAX }, default = "")]
        ignored: String,
        #[describe(flatten)]
        at: Switches,
    },
    Cables {
        /// The switches that each cable joins.
        #[describe(holds = Links { directed: false }, example = "[[0, 1], [1, 2]]")]
        cables: Vec<(u32, u32)>,
        #[describe(flatten)]
        at: Switches,
    },
}

/// Scenario fields of networks in the form of a grid: tori and meshes.
#[derive(Describe)]
pub(super) struct Grid {
    /// Switches in each dimension, x first; of a torus 2 or more.
    #[describe(holds = SWITCHES, example = "\"4x4\"")]
    pub(super) size: Vec<u32>,
    #[describe(flatten)]
    pub(super) at: Switches,
}

/// Fields of all topologies except dragonflies.
#[derive(Describe)]
pub(super) struct Switches {
    /// Nodes at each switch.
    #[describe(holds = NODES, default = 1)]
    pub(super) nodes_per_switch: u32,
    /// Which ways packets take: one of the shortest, in layers of virtual channels where they could wait
    /// for one another in a circle; the shortest of those that lead up a tree, then down; those of a table.
    #[describe(choice, default = "minimal")]
    pub(super) routing: RoutingTable,
}

/// Scenario fields of each routing algorithm; `machine.routing` selects one.
#[derive(Describe)]
pub(super) enum RoutingTable {
    Minimal,
    UpDown,
    Table {
        /// The routes, one a line: a switch, a destination, the next switch, and perhaps the layer of virtual
        /// channels on the link to that, from 0. A destination is a switch, a run of numbers ("3-7"), or * for
        /// all that the switch has no other route to.
        #[describe(holds = Text { max: LIST_MAX }, example = "\"0 * 1\\n1 0 0\"")]
        routes: String,
    },
}
