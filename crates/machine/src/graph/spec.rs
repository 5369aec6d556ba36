//! Description of a network of switches, as plain values.

pub use crate::packets::spec::NetworkSpec;
pub use isthmus_packet::routes::Routing as DragonflyRouting;
pub use isthmus_topology::switches::{Form, Nodes, Routes};
use isthmus_units::Time;
use std::sync::Arc;

/// Topology of the switches, with the routing of packets.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A network of switches whose topology and routing can be chosen.
    Switches {
        /// Connections between the switches.
        form: Form,
        /// Assignment of nodes to switches.
        nodes: Nodes,
        /// Routing of packets.
        routing: Routing,
        /// Signal delay of a link between switches.
        delay: Time,
    },
    /// A dragonfly (Kim, Dally, Scott and Abts, ISCA 2008).
    Dragonfly {
        /// Number of nodes at each router, p in the paper.
        nodes: u32,
        /// Number of routers of each group, a in the paper.
        routers: u32,
        /// Number of groups of routers, g in the paper.
        groups: u32,
        /// Number of links between each two groups.
        links: u32,
        /// Routing of packets.
        routing: DragonflyRouting,
        /// Signal delay of a link within a group.
        delay: Time,
        /// Signal delay of a link between groups.
        global_delay: Time,
    },
}

impl Shape {
    /// Return the number of nodes, or `None` if there are 2^32 or more.
    pub fn node_count(&self) -> Option<u32> {
        match self {
            Self::Switches { form, nodes, .. } => nodes.count(form.switch_count()),
            Self::Dragonfly {
                nodes,
                routers,
                groups,
                ..
            } => nodes.checked_mul(*routers)?.checked_mul(*groups),
        }
    }

    /// Return the smallest and the largest signal delay of links between switches.
    pub fn delays(&self) -> [Time; 2] {
        match *self {
            Self::Switches { delay, .. } => [delay, delay],
            Self::Dragonfly {
                delay,
                global_delay,
                ..
            } => [delay.min(global_delay), delay.max(global_delay)],
        }
    }
}

/// Routing of packets through a network of switches of any topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Routing {
    /// One shortest route per pair of nodes. Layers of virtual channels break dependency cycles.
    Minimal,
    /// For each pair of nodes, one of the shortest routes that lead up a tree of switches, then down.
    UpDown,
    /// Only the routes that this table lists.
    Table(Arc<Routes>),
}

/// Description of a network of switches: topology, routing, and properties of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphSpec {
    /// Topology of the switches and their routing.
    pub shape: Shape,
    /// Properties of the links, switches and interfaces.
    pub network: NetworkSpec,
}
