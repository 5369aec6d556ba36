//! Fat trees: nodes, switches and ports.

use std::ops::Range;

use super::shape::Joint;
use super::{Shape, TreesError};

/// A fat tree of nodes and switches joined by directed links.
///
/// Nodes are `0..node_count`, switches `0..switch_count`, those of level 1 (leaf switches) first.
/// The nodes below a switch of level i are an aligned range of M_i nodes, with M_i the product of
/// the children on levels 1 to i. Over each of these *subtrees* there are W_i such switches, with
/// W_i the product of the parents on these levels. The position of a switch within its level is
/// subtree * W_i + *lane*. The lane encodes the parents, first to last, that a packet chooses from
/// any node of the subtree on its way to the switch.
///
/// In the tree of the QsNET paper, leaf switch = node / 4 and group = node / 16: port j up of a leaf
/// switch leads to switch (group, j) of level 2, at group * 4 + j; port k of that leads to switch
/// (j, k) of level 3, at j * 4 + k.
///
/// Port q up of a vertex leads to parent q mod w of w, over parallel link q / w. Ports down are
/// numbered child by child, with parallel links of a child next to one another. Link numbers
/// increase along every route: first the links up, by level, vertex and port; then those down from
/// the top level to the leaf switches, likewise.
///
/// ```
/// use isthmus_topology::trees::{Shape, Tree, Vertex};
///
/// let tree = Tree::new(&Shape::KAry { arity: 4, levels: 3 })?;
/// assert_eq!((tree.node_count(), tree.switch_count(), tree.link_count()), (64, 48, 384));
/// assert_eq!([1, 5, 16].map(|node| tree.level_between(0, node)), [1, 2, 3]);
///
/// let first = tree.ascents(Vertex::Node(21)).start;
/// assert_eq!(tree.link(first).to_string(), "inject");
/// assert_eq!(tree.target(first), Vertex::Switch(5));
/// # Ok::<(), isthmus_topology::trees::TreesError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    shape: Shape,
    /// Levels of the tree, from 0 (nodes) to the top.
    pub(super) levels: Vec<Level>,
}

/// One level of a fat tree: its nodes or switches, and the numbers of their links up and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    /// M_i: number of nodes below each vertex of this level.
    pub subtree: u32,
    /// W_i: number of vertices of this level that lie above the same M_i nodes.
    pub lanes: u32,
    /// Number of nodes or switches on this level.
    pub count: u32,
    /// Number of the first switch of this level; 0 for nodes.
    pub first_switch: u32,
    /// Numbers of links to the level below; [`NO_JOINT`] for nodes.
    pub down: Joint,
    /// Number of ports down of each vertex.
    pub down_ports: u32,
    /// Number of the first link down of this level.
    pub first_down: u32,
    /// Numbers of links to the level above; [`NO_JOINT`] for the top.
    pub up: Joint,
    /// Number of ports up of each vertex.
    pub up_ports: u32,
    /// Number of the first link up of this level.
    pub first_up: u32,
}

/// A vertex of a fat tree: a node or a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vertex {
    /// The node with this number.
    Node(u32),
    /// The switch with this number.
    Switch(u32),
}

/// Placeholder for the links below the nodes or above the top switches, where no level follows.
const NO_JOINT: Joint = Joint {
    children: 1,
    parents: 1,
    parallel: 0,
};

impl Tree {
    /// Return the tree of this shape.
    ///
    /// # Errors
    /// Those of [`Shape::check`].
    pub fn new(shape: &Shape) -> Result<Self, TreesError> {
        shape.check()?;
        let joints = shape.joints()?;
        let node_count = shape.node_count()?;
        let mut levels = Vec::with_capacity(joints.len() + 1);
        let (mut subtree, mut lanes, mut switches, mut links) = (1, 1, 0, 0);
        for level in 0..=joints.len() {
            let down = match level {
                0 => NO_JOINT,
                _ => joints[level - 1],
            };
            let up = joints.get(level).copied().unwrap_or(NO_JOINT);
            subtree *= down.children;
            lanes *= down.parents;
            let count = node_count / subtree * lanes;
            let up_ports = up.parents * up.parallel;
            levels.push(Level {
                subtree,
                lanes,
                count,
                first_switch: switches,
                down,
                down_ports: down.children * down.parallel,
                first_down: 0,
                up,
                up_ports,
                first_up: links,
            });
            links += count * up_ports;
            if level > 0 {
                switches += count;
            }
        }
        for level in levels.iter_mut().rev() {
            level.first_down = links;
            links += level.count * level.down_ports;
        }
        Ok(Self {
            shape: shape.clone(),
            levels,
        })
    }

    /// Return a readable name of the tree, such as "4-ary 3-tree".
    pub fn name(&self) -> String {
        self.shape.to_string()
    }

    /// Return the description of the tree.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Return the number of nodes.
    pub fn node_count(&self) -> u32 {
        self.levels[0].count
    }

    /// Return the number of levels of switches, which is also the number of the top level.
    pub fn level_count(&self) -> u32 {
        self.levels.len() as u32 - 1
    }

    /// Return the number of switches.
    pub fn switch_count(&self) -> u32 {
        let top = self.top();
        top.first_switch + top.count
    }

    /// Return the number of directed links, half of them up and half down.
    pub fn link_count(&self) -> u32 {
        let nodes = &self.levels[0];
        // Nodes have no links down; `first_down` of their level is one past the last link number.
        nodes.first_down
    }

    /// Return the switches of a level, 1 (leaf switches) to [`level_count`](Self::level_count).
    ///
    /// # Panics
    /// The level of switches does not exist.
    pub fn switches_of(&self, level: u32) -> Range<u32> {
        assert!(level > 0, "level 0 has nodes");
        let level = &self.levels[level as usize];
        level.first_switch..level.first_switch + level.count
    }

    /// Return the level of a switch, or 0 for a node.
    ///
    /// # Panics
    /// The switch does not exist.
    pub fn level_of(&self, vertex: Vertex) -> u32 {
        self.place(vertex).0 as u32
    }

    /// Return the number of nodes below a switch of this level. Their numbers are consecutive, and
    /// the first is a multiple of this number.
    pub fn subtree_size(&self, level: u32) -> u32 {
        self.levels[level as usize].subtree
    }

    /// Return the top level of the tree.
    pub(super) fn top(&self) -> &Level {
        self.levels.last().expect("a tree has levels")
    }

    /// Return the level of a vertex and its position within the level.
    pub(super) fn place(&self, vertex: Vertex) -> (usize, u32) {
        match vertex {
            Vertex::Node(node) => {
                assert!(node < self.node_count(), "node {node} of {}", self.shape);
                (0, node)
            }
            Vertex::Switch(switch) => {
                let count = self.switch_count();
                assert!(switch < count, "switch {switch} of {}", self.shape);
                let mut level = self.levels.len() - 1;
                while self.levels[level].first_switch > switch {
                    level -= 1;
                }
                (level, switch - self.levels[level].first_switch)
            }
        }
    }

    /// Return the vertex at a position of a level.
    pub(super) fn vertex(&self, level: usize, index: u32) -> Vertex {
        match level {
            0 => Vertex::Node(index),
            _ => Vertex::Switch(self.levels[level].first_switch + index),
        }
    }
}
