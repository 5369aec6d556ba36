//! Plain types that describe a fat tree: its shape, and the rule by which packets ascend.

use std::fmt;

use super::{MAX_LINKS, MAX_NODES, MAX_PORTS, TreesError};

/// The shape of a fat tree.
///
/// The nodes of the tree are on level 0, its switches on levels 1 (leaf switches) to h (the top, without links up).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A k-ary n-tree: each switch has `arity` links down and, except at the top, as many up
    /// (section 2.2 of the QsNET paper: 4-ary, of dimension 3). It equals XGFT(n; k, .. k; 1, k, ..
    /// k).
    KAry {
        /// k: number of links down and number of links up of a switch, 2 or more.
        arity: u32,
        /// n: number of levels of switches. The tree has k^n nodes.
        levels: u32,
    },
    /// An extended generalised fat tree XGFT(h; m; w), or, if `parallel` differs from 1, a parallel
    /// ports generalised fat tree PGFT(h; m; w; p). Each list has one entry for each level of
    /// switches, that of the leaf switches first. The number of nodes is the product of `down`.
    Generalised {
        /// m: number of children of a switch on each level.
        down: Vec<u32>,
        /// w: number of parents of each child on each level. The first entry is for nodes, the next for leaf switches.
        /// An entry below the previous entry of `down` tapers the tree.
        up: Vec<u32>,
        /// p: number of parallel links between a child and each of its parents on each level.
        parallel: Vec<u32>,
    },
}

/// Rule by which a packet that has to ascend selects a link up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ascent {
    /// The packet takes the link up that is least loaded, as seen by the switch.
    Adaptive,
    /// The number of the destination determines the link (d-mod-k): all packets to a node meet at one switch of each
    /// level.
    Destination,
    /// The number of the source determines the link (s-mod-k): all packets of a node use one switch of each level.
    Source,
    /// The packet takes any link up at random, all with the same probability.
    Random,
}

/// Numbers of ports of the switches of one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// Number of ports towards the nodes.
    pub down: u32,
    /// Number of ports towards the top; 0 for the top itself.
    pub up: u32,
}

/// How the switches of one level of the tree are joined to the level below: children of a switch, parents of a child,
/// and parallel links between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Joint {
    pub children: u32,
    pub parents: u32,
    pub parallel: u32,
}

impl Shape {
    /// Return a k-ary n-tree whose leaf switches have only one link up for every `taper` links
    /// down. The number of switches above them is smaller by the same factor.
    ///
    /// # Errors
    /// `taper` does not divide `arity`; and those of [`check`](Self::check).
    pub fn tapered(arity: u32, levels: u32, taper: u32) -> Result<Self, TreesError> {
        let k_ary = Self::KAry { arity, levels };
        k_ary.check()?;
        if taper == 0 || !arity.is_multiple_of(taper) {
            return Err(TreesError::Taper { arity, taper });
        }
        let up = (1..=levels).map(|level| match level {
            1 => 1,
            2 => arity / taper,
            _ => arity,
        });
        Ok(Self::Generalised {
            down: vec![arity; levels as usize],
            up: up.collect(),
            parallel: vec![1; levels as usize],
        })
    }

    /// Return the shape of a tree of `nodes` nodes with one link each, whose switches have these ports, leaf switches
    /// first. Switches have one link to each of their parents. Only between the two topmost levels may there be several
    /// parallel links, for example if a top with many ports joins few switches.
    ///
    /// ```
    /// use isthmus_topology::trees::{Ports, Shape};
    ///
    /// // 648 nodes, 2:1: 27 leaf switches with 24 ports down and 12 up, 12 switches above.
    /// let shape = Shape::from_ports(648, &[Ports { down: 24, up: 12 }, Ports { down: 27, up: 0 }])?;
    /// assert_eq!(shape.to_string(), "XGFT(2; 24,27; 1,12)");
    /// // Four leaf switches do not fill switches of 8 ports, but two links to each of them do.
    /// let shape = Shape::from_ports(96, &[Ports { down: 24, up: 12 }, Ports { down: 8, up: 0 }])?;
    /// assert_eq!(shape.to_string(), "PGFT(2; 24,4; 1,6; 1,2)");
    /// # Ok::<(), isthmus_topology::trees::TreesError>(())
    /// ```
    ///
    /// # Errors
    /// No number of switches uses exactly all ports, so the tree does not close; and those of [`check`](Self::check).
    pub fn from_ports(nodes: u32, ports: &[Ports]) -> Result<Self, TreesError> {
        let Some((top, lower)) = ports.split_last() else {
            return Err(TreesError::NoLevels);
        };
        let levels = ports.len() as u32;
        if top.up != 0 {
            return Err(TreesError::PortsAtTop {
                level: levels,
                ports: top.up,
            });
        }
        let mut down: Vec<u32> = ports.iter().map(|ports| ports.down).collect();
        let places = saturating_product(&down);
        let list = || list(&down, " x ");
        let error = TreesError::Nodes {
            nodes,
            ports: list(),
        };
        if nodes == 0 || places == 0 || !places.is_multiple_of(u64::from(nodes)) {
            return Err(error);
        }
        let mut up: Vec<u32> = [1].into_iter().chain(lower.iter().map(|p| p.up)).collect();
        let mut parallel = vec![1; ports.len()];
        let spare = places / u64::from(nodes);
        if spare > 1 {
            let Some(below) = lower.last() else {
                return Err(error);
            };
            let divides = |ports: u32| u64::from(ports).is_multiple_of(spare);
            if !divides(top.down) || !divides(below.up) {
                return Err(TreesError::Parallel {
                    nodes,
                    parallel: spare,
                    down: top.down,
                    up: below.up,
                });
            }
            let last = ports.len() - 1;
            // The number divides a `u32`, so it fits into one.
            parallel[last] = spare as u32;
            down[last] /= parallel[last];
            up[last] /= parallel[last];
        }
        let shape = Self::Generalised { down, up, parallel };
        shape.check()?;
        Ok(shape)
    }

    /// Return the number of nodes.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub fn node_count(&self) -> Result<u32, TreesError> {
        self.check()?;
        let nodes: u32 = self.joints()?.iter().map(|joint| joint.children).product();
        Ok(nodes)
    }

    /// Check that a tree of this shape is possible.
    ///
    /// # Errors
    /// The lists have different lengths, a number of links is zero, or there are too many nodes,
    /// ports or links.
    pub fn check(&self) -> Result<(), TreesError> {
        let joints = self.joints()?;
        for (level, joint) in (1..).zip(&joints) {
            let named = [
                (joint.children, "links down"),
                (joint.parents, "links up to it"),
                (joint.parallel, "links between a switch and a child of it"),
            ];
            if let Some(&(_, what)) = named.iter().find(|(count, _)| *count == 0) {
                return Err(TreesError::NoLinks { level, what });
            }
        }
        let children: Vec<u32> = joints.iter().map(|joint| joint.children).collect();
        let nodes = saturating_product(&children);
        if nodes > MAX_NODES.into() {
            return Err(TreesError::TooManyNodes { nodes });
        }
        if nodes < 2 {
            return Err(TreesError::OneNode);
        }
        let (mut vertices, mut links) = (nodes, 0u64);
        for level in 0..=joints.len() {
            let below = level.checked_sub(1).map(|below| joints[below]);
            let down = below.map_or(0, |joint| joint.down_ports());
            let up = joints.get(level).map_or(0, Joint::up_ports);
            let ports = down.saturating_add(up);
            if ports > MAX_PORTS.into() {
                let level = level as u32;
                return Err(TreesError::TooManyPorts { level, ports });
            }
            links = links.saturating_add(vertices.saturating_mul(2 * up));
            if links > MAX_LINKS.into() {
                return Err(TreesError::TooManyLinks { links });
            }
            if let Some(joint) = joints.get(level) {
                // The division is exact: the next level has `parents` times the vertices per
                // subtree and 1 / `children` of the subtrees.
                vertices = vertices / u64::from(joint.children) * u64::from(joint.parents);
            }
        }
        Ok(())
    }

    /// Return the numbers of links of each level of switches. The method checks only the number of levels.
    pub(super) fn joints(&self) -> Result<Vec<Joint>, TreesError> {
        match self {
            Self::KAry { levels: 0, .. } => Err(TreesError::NoLevels),
            Self::KAry { arity, .. } if *arity < 2 => Err(TreesError::SmallArity { arity: *arity }),
            Self::KAry { arity, levels } if *levels > MAX_NODES.ilog2() => {
                Err(TreesError::TooManyNodes {
                    nodes: u64::from(*arity).saturating_pow(*levels),
                })
            }
            Self::KAry { arity, levels } => Ok((1..=*levels)
                .map(|level| Joint {
                    children: *arity,
                    parents: if level == 1 { 1 } else { *arity },
                    parallel: 1,
                })
                .collect()),
            Self::Generalised { down, up, parallel } => {
                if down.len() != up.len() || down.len() != parallel.len() {
                    return Err(TreesError::Lengths {
                        down: down.len(),
                        up: up.len(),
                        parallel: parallel.len(),
                    });
                }
                if down.is_empty() {
                    return Err(TreesError::NoLevels);
                }
                let lists = down.iter().zip(up).zip(parallel);
                Ok(lists
                    .map(|((&children, &parents), &parallel)| Joint {
                        children,
                        parents,
                        parallel,
                    })
                    .collect())
            }
        }
    }
}

impl Joint {
    /// Return the number of ports by which a switch of the upper level is joined to the level below.
    pub(super) fn down_ports(&self) -> u64 {
        u64::from(self.children) * u64::from(self.parallel)
    }

    /// Return the number of ports by which a switch or node of the lower level is joined to the level above.
    pub(super) fn up_ports(&self) -> u64 {
        u64::from(self.parents) * u64::from(self.parallel)
    }
}

impl fmt::Display for Shape {
    /// Write the usual short name of the tree, such as "4-ary 3-tree" or "XGFT(2; 24,27; 1,12)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KAry { arity, levels } => write!(f, "{arity}-ary {levels}-tree"),
            Self::Generalised { down, up, parallel } => {
                let lists = format!("{}; {}; {}", down.len(), list(down, ","), list(up, ","));
                if parallel.iter().all(|&parallel| parallel == 1) {
                    write!(f, "XGFT({lists})")
                } else {
                    write!(f, "PGFT({lists}; {})", list(parallel, ","))
                }
            }
        }
    }
}

/// Return the numbers as text, with a separator between them.
fn list(numbers: &[u32], separator: &str) -> String {
    let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
    numbers.join(separator)
}

/// Return the product of the factors, or `u64::MAX` if it is larger.
fn saturating_product(factors: &[u32]) -> u64 {
    let factors = factors.iter().map(|&factor| u64::from(factor));
    factors.fold(1, u64::saturating_mul)
}
