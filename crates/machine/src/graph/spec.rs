//! What a network of switches is made of: plain values, no behaviour.

pub use crate::packets::spec::NetworkSpec;
pub use isthmus_packet::routes::Routing as DragonflyRouting;
pub use isthmus_topology::switches::{Form, Nodes, Routes};
use isthmus_units::Time;
use std::sync::Arc;

/// The switches and which routes packets take through them.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Switches in any form.
    Switches {
        /// How they are joined.
        form: Form,
        /// The nodes at them.
        nodes: Nodes,
        /// Which routes packets take.
        routing: Routing,
        /// What a signal takes along a link between switches.
        delay: Time,
    },
    /// A dragonfly (Kim, Dally, Scott and Abts, ISCA 2008).
    Dragonfly {
        /// p: nodes at each router.
        nodes: u32,
        /// a: routers of each group.
        routers: u32,
        /// g: groups.
        groups: u32,
        /// Links between each two groups.
        links: u32,
        /// Which routes packets take.
        routing: DragonflyRouting,
        /// What a signal takes along a link within a group.
        delay: Time,
        /// What a signal takes along a link between groups.
        global_delay: Time,
    },
}

impl Shape {
    /// Number of nodes; `None` if there are 2^32 or more.
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

    /// What signals take along links between switches: along the longest last.
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

/// Which routes packets take through switches of any form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Routing {
    /// One of the shortest, in layers of virtual channels where they could wait for one another in a
    /// circle.
    Minimal,
    /// One of the shortest of those that lead up a tree, then down.
    UpDown,
    /// Those of a list.
    Table(Arc<Routes>),
}

/// A network of switches with its nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphSpec {
    /// The switches and the routes through them.
    pub shape: Shape,
    /// Links, switches and interfaces.
    pub network: NetworkSpec,
}
