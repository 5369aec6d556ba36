//! Directed links of a fat tree: how they are numbered, the vertices at their ends, and their
//! names.

use std::fmt;
use std::ops::Range;

use super::tree::Level;
use super::{Tree, Vertex};

/// Kind of a directed link of a tree, which follows from its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// The link leads from a node to a leaf switch.
    Inject,
    /// The link leads from a switch to a switch on the level above.
    Up,
    /// The link leads from a switch to a switch on the level below.
    Down,
    /// The link leads from a leaf switch to a node.
    Eject,
}

/// A directed link of a fat tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Kind of the link.
    pub kind: LinkKind,
    /// Level of the lower end of the link: 0 for links of nodes, 1 for those between leaf switches
    /// and the level above them, in either direction.
    pub level: u32,
    /// Node or switch that the link leaves.
    pub from: Vertex,
    /// Node or switch that the link enters.
    pub to: Vertex,
}

impl fmt::Display for Link {
    /// Write the name that all links of this kind and level have in common, such as `up 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            LinkKind::Inject => f.write_str("inject"),
            LinkKind::Up => write!(f, "up {}", self.level),
            LinkKind::Down => write!(f, "down {}", self.level),
            LinkKind::Eject => f.write_str("eject"),
        }
    }
}

/// A link that connects a subtree with the rest of the tree: one of the links up of a vertex, or
/// the parallel link down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Crossing {
    pub up: bool,
    /// Level of the lower vertex.
    pub level: usize,
    /// Position of the lower vertex within its level.
    pub index: u32,
    /// Number of the upward port of the lower vertex, to which the link is connected.
    pub port: u32,
}

impl Tree {
    /// Return the link with this number: its kind, its level and its two ends.
    ///
    /// # Panics
    /// The link does not exist.
    pub fn link(&self, number: u32) -> Link {
        let crossing = self.crossing(number);
        let Crossing { up, level, .. } = crossing;
        let lower = self.vertex(level, crossing.index);
        let upper = self.vertex(level + 1, self.parent(crossing));
        let kind = match (up, level) {
            (true, 0) => LinkKind::Inject,
            (true, _) => LinkKind::Up,
            (false, 0) => LinkKind::Eject,
            (false, _) => LinkKind::Down,
        };
        let (from, to) = if up { (lower, upper) } else { (upper, lower) };
        Link {
            kind,
            level: level as u32,
            from,
            to,
        }
    }

    /// Return the vertex that a link enters.
    ///
    /// # Panics
    /// The link does not exist.
    pub fn target(&self, link: u32) -> Vertex {
        self.link(link).to
    }

    /// Return the link between the same vertices in the opposite direction.
    ///
    /// # Panics
    /// The link does not exist.
    pub fn reverse(&self, link: u32) -> u32 {
        let crossing = self.crossing(link);
        self.number(Crossing {
            up: !crossing.up,
            ..crossing
        })
    }

    /// Return the links up of a node or switch, ordered by port; a top switch has none.
    ///
    /// # Panics
    /// The node or switch does not exist.
    pub fn ascents(&self, vertex: Vertex) -> Range<u32> {
        let (level, index) = self.place(vertex);
        let Level {
            first_up, up_ports, ..
        } = self.levels[level];
        let first = first_up + index * up_ports;
        first..first + up_ports
    }

    /// Return all links down of a switch, ordered by child; a node has none.
    ///
    /// # Panics
    /// The node or switch does not exist.
    pub fn all_descents(&self, vertex: Vertex) -> Range<u32> {
        let (level, index) = self.place(vertex);
        let Level {
            first_down,
            down_ports,
            ..
        } = self.levels[level];
        let first = first_down + index * down_ports;
        first..first + down_ports
    }

    /// Return the links that lead down from a switch towards a node: one link, or all parallel
    /// links. Return `None` if the node is not below the switch.
    ///
    /// # Panics
    /// The switch or node does not exist.
    pub fn descents(&self, switch: u32, destination: u32) -> Option<Range<u32>> {
        let (level, index) = self.place(Vertex::Switch(switch));
        assert!(destination < self.node_count(), "node {destination}");
        let below = &self.levels[level - 1];
        let level = &self.levels[level];
        if index / level.lanes != destination / level.subtree {
            return None;
        }
        let child = destination / below.subtree % level.down.children;
        let first = level.first_down + index * level.down_ports + child * level.down.parallel;
        Some(first..first + level.down.parallel)
    }

    /// Return the lower end and the port of link number `link`.
    pub(super) fn crossing(&self, link: u32) -> Crossing {
        let count = self.link_count();
        assert!(
            link < count,
            "link {link}, but there are {count} in {}",
            self.name()
        );
        let last = self.levels.len() - 1;
        if link < self.levels[last].first_up {
            let mut level = last - 1;
            while self.levels[level].first_up > link {
                level -= 1;
            }
            let Level {
                first_up, up_ports, ..
            } = self.levels[level];
            let number = link - first_up;
            return Crossing {
                up: true,
                level,
                index: number / up_ports,
                port: number % up_ports,
            };
        }
        let mut upper = 1;
        while self.levels[upper].first_down > link {
            upper += 1;
        }
        let (above, below) = (&self.levels[upper], &self.levels[upper - 1]);
        let number = link - above.first_down;
        let (parent, port) = (number / above.down_ports, number % above.down_ports);
        let (subtree, lane) = (parent / above.lanes, parent % above.lanes);
        let (child, parallel) = (port / above.down.parallel, port % above.down.parallel);
        let (lane, digit) = (lane / above.down.parents, lane % above.down.parents);
        let subtree = subtree * above.down.children + child;
        Crossing {
            up: false,
            level: upper - 1,
            index: subtree * below.lanes + lane,
            port: parallel * above.down.parents + digit,
        }
    }

    /// Return the number of a link, given its lower end and its port.
    pub(super) fn number(&self, crossing: Crossing) -> u32 {
        let Crossing {
            up,
            level,
            index,
            port,
        } = crossing;
        let (below, above) = (&self.levels[level], &self.levels[level + 1]);
        if up {
            return below.first_up + index * below.up_ports + port;
        }
        let child = index / below.lanes % above.down.children;
        above.first_down
            + self.parent(crossing) * above.down_ports
            + child * above.down.parallel
            + port / above.down.parents
    }

    /// Return the index of a link's upper vertex within its level.
    fn parent(&self, crossing: Crossing) -> u32 {
        let Crossing {
            level, index, port, ..
        } = crossing;
        let (below, above) = (&self.levels[level], &self.levels[level + 1]);
        let (subtree, lane) = (index / below.lanes, index % below.lanes);
        let lane = lane * above.down.parents + port % above.down.parents;
        subtree / above.down.children * above.lanes + lane
    }
}
