//! Which link leads where.

use crate::Error;

/// Nodes of a fabric at most.
pub const NODES_MAX: u64 = 1 << 22;

/// Number of a link. See [`Fabric`] for the order.
pub type LinkId = u32;

/// One switch of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Its level; nodes are below level 1.
    pub level: u32,
    /// Which nodes are below it: with s nodes below each switch of this level, `block * s` and the
    /// s - 1 that follow.
    pub block: u32,
    /// The switches that its up links lead to.
    pub ups: Vec<u32>,
}

/// Where a link ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At a node.
    Node(u32),
    /// At a switch.
    Switch(u32),
}

/// A tree of switches over numbered nodes: below each switch is a block of nodes of the size of
/// its level, divided evenly among its down links.
///
/// Links are numbered: first the up links of the nodes, by node; then those of the switches, by
/// switch and port; then all down links, in the order of the up links beside which they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fabric {
    nodes: u32,
    levels: u32,
    /// Nodes below each switch, by level; 1 at level 0.
    sizes: Vec<u32>,
    /// For each level and node: which of the down links of a switch over it leads to it.
    digits: Vec<u32>,
    /// For each level and node: which up link of a switch of that level is the node's own, before
    /// it is cut to the number of up links.
    ascents: Vec<u32>,
    level_of: Vec<u32>,
    /// The first up link of each switch, and one entry more.
    first_up: Vec<LinkId>,
    /// Where the down links of each switch begin in `downs`.
    first_down: Vec<u32>,
    /// Down links, by switch and port.
    downs: Vec<LinkId>,
    ends: Vec<End>,
    /// For each link the port at which it enters its switch: down ports first.
    ports: Vec<u32>,
}

impl Fabric {
    /// A tree whose switches of level i have `downs[i - 1]` down links. The nodes are as many as
    /// the product of these.
    ///
    /// # Errors
    /// If there are no nodes or too many, or the switches and their up links do not close to a
    /// tree: each node below one leaf switch, each up link to a switch over the same nodes, one
    /// link from a switch to each of the parts of its nodes.
    pub fn new(downs: &[u32], switches: &[Switch]) -> Result<Self, Error> {
        let product = downs
            .iter()
            .fold(1u64, |p, &d| p.saturating_mul(u64::from(d)));
        if downs.is_empty() || product == 0 || product > NODES_MAX {
            return Err(Error::Shape {
                nodes: if downs.is_empty() { 0 } else { product },
                most: NODES_MAX,
            });
        }
        let (nodes, levels) = (product as u32, downs.len() as u32);
        let mut sizes = vec![1u32];
        for &down in downs {
            sizes.push(sizes[sizes.len() - 1] * down);
        }
        let mut fabric = Self {
            nodes,
            levels,
            digits: Vec::new(),
            ascents: Vec::new(),
            level_of: switches.iter().map(|switch| switch.level).collect(),
            first_up: Vec::new(),
            first_down: Vec::new(),
            downs: Vec::new(),
            ends: Vec::new(),
            ports: Vec::new(),
            sizes,
        };
        for (level, &down) in downs.iter().enumerate() {
            let size = fabric.sizes[level];
            fabric.digits.extend((0..nodes).map(|n| n / size % down));
        }
        fabric.wire(downs, switches)?;
        fabric.spread(switches);
        Ok(fabric)
    }

    /// The extended generalised fat tree with `downs[i - 1]` down links and `ups[i - 1]` up links
    /// at each switch of level i, without up links at the top. A k-ary n-tree has k everywhere.
    ///
    /// Up link j of switch i of a block leads to switch `i * ups + j` of the block above.
    ///
    /// # Errors
    /// If a number is 0, the lengths do not fit, or there are too many nodes.
    pub fn tree(downs: &[u32], ups: &[u32]) -> Result<Self, Error> {
        let mut blocks: u64 = downs.iter().map(|&d| u64::from(d)).product();
        if ups.len() + 1 != downs.len() || blocks == 0 || blocks > NODES_MAX {
            let nodes = if downs.is_empty() { 0 } else { blocks };
            return Err(Error::Shape {
                nodes,
                most: NODES_MAX,
            });
        }
        let mut switches = Vec::new();
        let mut width = 1;
        for (at, &down) in downs.iter().enumerate() {
            blocks /= u64::from(down);
            let above = switches.len() as u32 + blocks as u32 * width;
            let up = ups.get(at).copied().unwrap_or(0);
            for block in 0..blocks as u32 {
                for index in 0..width {
                    let parent = |port| {
                        let block = block / downs[at + 1];
                        above + block * width * up + index * up + port
                    };
                    switches.push(Switch {
                        level: at as u32 + 1,
                        block,
                        ups: (0..up).map(parent).collect(),
                    });
                }
            }
            width *= up;
        }
        Self::new(downs, &switches)
    }

    /// Numbers the links and checks that the tree closes.
    fn wire(&mut self, downs: &[u32], switches: &[Switch]) -> Result<(), Error> {
        let mut leaves = vec![Vec::new(); (self.nodes / self.sizes[1]) as usize];
        let mut up_count = self.nodes;
        for (id, switch) in switches.iter().enumerate() {
            let bad = Error::Place { switch: id as u32 };
            let size = self.sizes.get(switch.level as usize).ok_or(bad)?;
            if switch.level == 0 || switch.block >= self.nodes / size {
                return Err(bad);
            }
            if switch.level == 1 {
                leaves[switch.block as usize].push(id as u32);
            }
            if switch.ups.is_empty() && switch.level < self.levels {
                return Err(Error::NoAscent { switch: id as u32 });
            }
            self.first_up.push(up_count);
            self.first_down.push(self.downs.len() as u32);
            let down = downs[switch.level as usize - 1] as usize;
            self.downs.extend(std::iter::repeat_n(u32::MAX, down));
            up_count += switch.ups.len() as u32;
        }
        self.first_up.push(up_count);
        for (block, found) in leaves.iter().enumerate() {
            if found.len() != 1 {
                return Err(Error::Leaves {
                    node: block as u32 * self.sizes[1],
                    leaves: found.len() as u32,
                });
            }
        }
        let mut down_ends = Vec::new();
        let mut down_ports = Vec::new();
        for node in 0..self.nodes {
            let leaf = leaves[(node / self.sizes[1]) as usize][0];
            let port = self.digit(1, node);
            self.ends.push(End::Switch(leaf));
            self.ports.push(port);
            self.downs[(self.first_down[leaf as usize] + port) as usize] = up_count + node;
            down_ends.push(End::Node(node));
            down_ports.push(0);
        }
        for (id, switch) in switches.iter().enumerate() {
            for (port, &parent) in switch.ups.iter().enumerate() {
                let bad = Error::UpLink {
                    switch: id as u32,
                    port: port as u32,
                };
                let above = switches.get(parent as usize).ok_or(bad)?;
                let first_node = switch.block * self.sizes[switch.level as usize];
                if above.level != switch.level + 1
                    || first_node / self.sizes[above.level as usize] != above.block
                {
                    return Err(bad);
                }
                let part = self.digit(above.level, first_node);
                let down = up_count + self.ends.len() as u32;
                let place = &mut self.downs[(self.first_down[parent as usize] + part) as usize];
                if *place != u32::MAX {
                    return Err(Error::DownLinks {
                        switch: parent,
                        port: part,
                        links: 2,
                    });
                }
                *place = down;
                self.ends.push(End::Switch(parent));
                self.ports.push(part);
                down_ends.push(End::Switch(id as u32));
                down_ports.push(downs[switch.level as usize - 1] + port as u32);
            }
        }
        self.ends.append(&mut down_ends);
        self.ports.append(&mut down_ports);
        for switch in 0..switches.len() as u32 {
            let ways = self.downs_of(switch);
            if let Some(port) = ways.iter().position(|&link| link == u32::MAX) {
                return Err(Error::DownLinks {
                    switch,
                    port: port as u32,
                    links: 0,
                });
            }
        }
        Ok(())
    }

    /// Fills in the deterministic ascents: with w(i) up links at level i, floor(node / (w(1) ...
    /// w(i - 1))) at level i. Taken modulo w(i), neighbours spread over all up links.
    fn spread(&mut self, switches: &[Switch]) {
        let mut below = 1u32;
        for level in 1..=self.levels {
            self.ascents.extend((0..self.nodes).map(|n| n / below));
            let here = switches.iter().find(|switch| switch.level == level);
            let ups = here.map_or(1, |switch| switch.ups.len().max(1)) as u32;
            below = below.saturating_mul(ups);
        }
    }

    /// Number of nodes.
    pub fn node_count(&self) -> u32 {
        self.nodes
    }

    /// Number of switches.
    pub fn switch_count(&self) -> u32 {
        self.level_of.len() as u32
    }

    /// Number of links.
    pub fn link_count(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Number of levels of switches.
    pub fn level_count(&self) -> u32 {
        self.levels
    }

    /// Where a link ends.
    #[inline]
    pub fn end(&self, link: LinkId) -> End {
        self.ends[link as usize]
    }

    /// The port at which a link enters its switch: the down ports come first. 0 at a node.
    #[inline]
    pub fn port(&self, link: LinkId) -> u32 {
        self.ports[link as usize]
    }

    /// Number of ports of a switch.
    pub fn port_count(&self, switch: u32) -> u32 {
        (self.downs_of(switch).len() + self.ups_of(switch).len()) as u32
    }

    /// The level of a switch, from 1.
    #[inline]
    pub fn level(&self, switch: u32) -> u32 {
        self.level_of[switch as usize]
    }

    /// The up links of a switch.
    #[inline]
    pub fn ups_of(&self, switch: u32) -> std::ops::Range<LinkId> {
        self.first_up[switch as usize]..self.first_up[switch as usize + 1]
    }

    /// The down links of a switch, by port.
    #[inline]
    pub fn downs_of(&self, switch: u32) -> &[LinkId] {
        let begin = self.first_down[switch as usize] as usize;
        let end = self.first_down.get(switch as usize + 1);
        &self.downs[begin..end.map_or(self.downs.len(), |&end| end as usize)]
    }

    /// The down link of a switch over `node` that leads to it.
    #[inline]
    pub fn down(&self, switch: u32, node: u32) -> LinkId {
        let port = self.digit(self.level(switch), node);
        self.downs[(self.first_down[switch as usize] + port) as usize]
    }

    /// The up link that `node` gets at a switch below the top, if its number alone decides.
    #[inline]
    pub fn ascent(&self, switch: u32, node: u32) -> LinkId {
        let ups = self.ups_of(switch);
        let level = self.level(switch) - 1;
        ups.start + self.ascents[(level * self.nodes + node) as usize] % (ups.end - ups.start)
    }

    /// The level of the lowest switches over both nodes.
    #[inline]
    pub fn meeting_level(&self, a: u32, b: u32) -> u32 {
        let mut level = 1;
        while a / self.sizes[level] != b / self.sizes[level] {
            level += 1;
        }
        level as u32
    }

    #[inline]
    fn digit(&self, level: u32, node: u32) -> u32 {
        self.digits[((level - 1) * self.nodes + node) as usize]
    }
}
