//! Dragonfly networks (Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008).

use crate::Wiring;

/// Maximum number of cables of a dragonfly.
const CABLES_MAX: u64 = 1 << 24;

/// Maximum number of groups of a dragonfly.
const GROUPS_MAX: u32 = 4_096;

/// A dragonfly: groups of routers. The routers of a group are fully connected, and so are the groups.
///
/// Nodes, routers and groups are numbered from 0, nodes in the order of their routers, routers in the order of their
/// groups. The vertices of the [`Wiring`] are the nodes, then the routers. The global ports of a group are numbered in
/// turn: port q of group G leads to group G + 1 + q mod (groups - 1), modulo the number of groups. They are spread over
/// the routers of the group as evenly as possible, in order.
///
/// ```
/// use isthmus_topology::Dragonfly;
///
/// // The example of the paper's Figure 5: 2 nodes and 2 global ports to a router, 4 routers to a group.
/// let dragonfly = Dragonfly::new(2, 4, 9, 1)?;
/// assert_eq!((dragonfly.node_count(), dragonfly.router_count()), (72, 36));
/// # Ok::<(), isthmus_topology::DragonflyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dragonfly {
    nodes: u32,
    routers: u32,
    groups: u32,
    links: u32,
}

/// A reason why a dragonfly with the requested sizes is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DragonflyError {
    /// A quantity that must be 1 or more is 0.
    #[error("{what}: there must be 1 or more")]
    Zero {
        /// Name of the quantity with this error, such as "groups".
        what: &'static str,
    },
    /// A quantity exceeds its maximum.
    #[error("{count} {what}; there may be {most} at most")]
    TooMany {
        /// Name of the quantity with this error, such as "groups".
        what: &'static str,
        /// Requested value of the quantity.
        count: u64,
        /// Maximum value of the quantity.
        most: u64,
    },
}

impl Dragonfly {
    /// Return a dragonfly with `nodes` per router, `routers` per group, `groups`, and `links` global links between each
    /// pair of groups.
    ///
    /// # Errors
    /// A number is 0, there are more than 4,096 groups, or there are more than 2^24 cables.
    pub fn new(nodes: u32, routers: u32, groups: u32, links: u32) -> Result<Self, DragonflyError> {
        for (what, count) in [
            ("nodes to a router", nodes),
            ("routers to a group", routers),
            ("groups", groups),
            ("links to a pair of groups", links),
        ] {
            if count == 0 {
                return Err(DragonflyError::Zero { what });
            }
        }
        let [p, a, g, m] = [nodes, routers, groups, links].map(u128::from);
        let cables = g * (a * p + a * (a - 1) / 2) + g * (g - 1) / 2 * m;
        for (what, count, most) in [
            ("groups", g, GROUPS_MAX.into()),
            ("cables", cables, CABLES_MAX),
        ] {
            if count > most.into() {
                return Err(DragonflyError::TooMany {
                    what,
                    count: u64::try_from(count).unwrap_or(u64::MAX),
                    most,
                });
            }
        }
        Ok(Self {
            nodes,
            routers,
            groups,
            links,
        })
    }

    /// Return the number of nodes of all groups.
    pub fn node_count(&self) -> u32 {
        self.nodes * self.router_count()
    }

    /// Return the number of routers of all groups.
    pub fn router_count(&self) -> u32 {
        self.routers * self.groups
    }

    /// Return the number of nodes per router.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Return the number of routers per group.
    pub fn routers(&self) -> u32 {
        self.routers
    }

    /// Return the number of groups.
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Return the number of global links between two groups.
    pub fn links(&self) -> u32 {
        self.links
    }

    /// Return the router of group `group` that has the global port `port` of this group.
    fn at_port(&self, group: u32, port: u32) -> u32 {
        let ports = u64::from(self.links) * u64::from(self.groups - 1);
        let router = u64::from(port) * u64::from(self.routers) / ports;
        group * self.routers + router as u32
    }

    /// Return the routers at the two ends of global link `link` between two groups, the router in group `from` first.
    ///
    /// # Panics
    /// If the groups are the same, or there is no such group or link.
    pub fn ends(&self, from: u32, to: u32, link: u32) -> (u32, u32) {
        assert!(
            from != to && from.max(to) < self.groups && link < self.links,
            "link {link} from group {from} to group {to}"
        );
        let others = self.groups - 1;
        let around = |a: u32, b: u32| (b + self.groups - a - 1) % self.groups;
        let port = |a, b| link * others + around(a, b);
        (
            self.at_port(from, port(from, to)),
            self.at_port(to, port(to, from)),
        )
    }

    /// Return the cables of the dragonfly: those of the nodes, those within groups, then the global cables by pairs of
    /// groups, the lower group first.
    pub fn wiring(&self) -> Wiring {
        let node_count = self.node_count();
        let mut cables: Vec<(u32, u32)> = (0..node_count)
            .map(|node| (node, node_count + node / self.nodes))
            .collect();
        let groups = 0..self.groups;
        for group in groups.clone() {
            let routers = group * self.routers..(group + 1) * self.routers;
            for a in routers.clone() {
                cables.extend((a + 1..routers.end).map(|b| (node_count + a, node_count + b)));
            }
        }
        for from in groups {
            for to in from + 1..self.groups {
                cables.extend((0..self.links).map(|link| {
                    let (a, b) = self.ends(from, to, link);
                    (node_count + a, node_count + b)
                }));
            }
        }
        Wiring::new(node_count, self.router_count(), &cables)
    }
}
