//! Where links lead and which of them lead on: tables made of the tree.

use crate::readings::LinkTie;
use isthmus_kernel::Cycles;
use isthmus_topology::trees::{Ascent, Tree, Vertex};

/// Where a link leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// The node or, counted on from the nodes, the switch.
    pub vertex: u32,
    /// The port of the switch at which it enters: that of the link beside it which leads back,
    /// ports down first.
    pub port: u32,
}

/// A node's or a switch's links.
#[derive(Debug, Clone, Copy)]
struct Ports {
    first_up: u32,
    first_down: u32,
    level: u32,
}

/// What a level has in common.
#[derive(Debug, Clone)]
struct Level {
    /// For each node, the port down of a switch over it that leads to it, the first of parallel
    /// ones.
    down: Vec<u16>,
    /// Links to each child.
    parallel: u32,
    /// Links up, and links down to all children.
    ups: u32,
    downs: u32,
    /// For each node, the port up that it has if its number decides.
    up: Vec<u32>,
    /// For each node, the one of the parallel links down that it has if its number decides.
    beside: Vec<u32>,
}

/// A run of links, any of which leads on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub first: u32,
    pub links: u32,
}

impl Run {
    #[inline]
    pub fn iter(self) -> std::ops::Range<u32> {
        self.first..self.first + self.links
    }
}

/// The tables.
#[derive(Debug, Clone)]
pub(super) struct Ways {
    /// Of the nodes, then of the switches.
    ports: Vec<Ports>,
    nodes: u32,
    levels: Vec<Level>,
    ascent: Ascent,
}

impl Ways {
    pub fn new(tree: &Tree, ascent: Ascent) -> Self {
        let nodes = tree.node_count();
        let vertices = || {
            let switches = (0..tree.switch_count()).map(Vertex::Switch);
            (0..nodes).map(Vertex::Node).chain(switches)
        };
        let ports = vertices().map(|vertex| Ports {
            first_up: tree.ascents(vertex).start,
            first_down: tree.all_descents(vertex).start,
            level: tree.level_of(vertex),
        });
        let levels = (0..=tree.level_count()).map(|level| level_of(tree, level, ascent));
        Self {
            nodes,
            ports: ports.collect(),
            levels: levels.collect(),
            ascent,
        }
    }

    /// Where each link leads.
    pub fn ends(tree: &Tree) -> impl Iterator<Item = End> {
        (0..tree.link_count()).map(|link| {
            let back = tree.reverse(link);
            let vertex = tree.target(link);
            let (ups, downs) = (tree.ascents(vertex), tree.all_descents(vertex));
            let port = if downs.contains(&back) {
                back - downs.start
            } else {
                back - ups.start + downs.end - downs.start
            };
            End {
                vertex: match vertex {
                    Vertex::Node(node) => node,
                    Vertex::Switch(switch) => tree.node_count() + switch,
                },
                port,
            }
        })
    }

    /// Whether a link leads to a node.
    #[inline]
    pub fn is_last(&self, end: End) -> bool {
        end.vertex < self.nodes
    }

    /// All runs of links that packets may wait for at a switch, and the ports of that switch.
    pub fn runs(&self) -> impl Iterator<Item = (Run, u32)> {
        let adaptive = self.ascent == Ascent::Adaptive;
        let runs = move |first: u32, count: u32, each: u32| {
            let links = if adaptive { each.max(1) } else { 1 };
            let firsts = (first..first + count).step_by(links as usize);
            firsts.map(move |first| Run { first, links })
        };
        let switches = self.ports[self.nodes as usize..].iter();
        switches.flat_map(move |ports| {
            let level = &self.levels[ports.level as usize];
            let up = runs(ports.first_up, level.ups, level.ups);
            let down = runs(ports.first_down, level.downs, level.parallel);
            up.chain(down).map(|run| (run, level.ups + level.downs))
        })
    }

    /// The links of a node.
    #[inline]
    pub fn of_node(&self, node: u32) -> Run {
        Run {
            first: self.ports[node as usize].first_up,
            links: self.levels[0].ups,
        }
    }

    /// The links that a packet may take from its source. `lot` decides with random ascent.
    #[inline]
    pub fn out(&self, from: u32, to: u32, lot: impl FnOnce() -> u64) -> Run {
        self.up(&self.ports[from as usize], from, to, lot)
    }

    /// The links that a packet may take from the switch to which this link leads, where it is still
    /// to ascend or not. `lot` decides with random ascent.
    #[inline]
    pub fn on(&self, end: End, up: bool, from: u32, to: u32, lot: impl FnOnce() -> u64) -> Run {
        let ports = &self.ports[end.vertex as usize];
        if up {
            return self.up(ports, from, to, lot);
        }
        let level = &self.levels[ports.level as usize];
        let first = ports.first_down + u32::from(level.down[to as usize]);
        if level.parallel == 1 || self.ascent == Ascent::Adaptive {
            return Run {
                first,
                links: level.parallel,
            };
        }
        let port = match self.ascent {
            Ascent::Source => level.beside[from as usize],
            Ascent::Destination => level.beside[to as usize],
            Ascent::Random | Ascent::Adaptive => one_of(level.parallel, lot()),
        };
        Run {
            first: first + port,
            links: 1,
        }
    }

    #[inline]
    fn up(&self, ports: &Ports, from: u32, to: u32, lot: impl FnOnce() -> u64) -> Run {
        let level = &self.levels[ports.level as usize];
        let (first, links) = (ports.first_up, level.ups);
        let port = match self.ascent {
            Ascent::Adaptive => return Run { first, links },
            Ascent::Source => level.up[from as usize],
            Ascent::Destination => level.up[to as usize],
            Ascent::Random => one_of(links, lot()),
        };
        Run {
            first: first + port,
            links: 1,
        }
    }
}

/// The one of links that are equally good that a packet takes: `free` tells from when on the
/// transmitter of each is free.
pub(super) fn one_of_equals(
    rule: LinkTie,
    mut equals: impl Iterator<Item = u32> + Clone,
    free: impl Fn(u32) -> Cycles,
    lot: impl FnOnce() -> u64,
) -> Option<u32> {
    let first = match rule {
        LinkTie::Lowest => return equals.next(),
        LinkTie::Random => None,
        LinkTie::LongestIdle => equals.clone().map(&free).min(),
    };
    let mut best = equals.filter(|&link| first.is_none_or(|first| free(link) == first));
    let at = match best.clone().count() {
        0 | 1 => 0,
        count => one_of(count as u32, lot()),
    };
    best.nth(at as usize)
}

/// The one of `count` that a lot falls on: see [`crate::tie`].
#[inline]
pub(super) fn one_of(count: u32, lot: u64) -> u32 {
    ((u128::from(lot) * u128::from(count)) >> 64) as u32
}

/// What the switches of a level, or for level 0 the nodes, have in common.
fn level_of(tree: &Tree, level: u32, ascent: Ascent) -> Level {
    let nodes = tree.node_count();
    let size = tree.subtree_size(level);
    // A vertex of this level over each node.
    let over: Vec<Vertex> = if level == 0 {
        (0..nodes).map(Vertex::Node).collect()
    } else {
        let switches = tree.switches_of(level);
        let lanes = switches.len() as u32 / (nodes / size);
        let first = |node: u32| Vertex::Switch(switches.start + node / size * lanes);
        (0..nodes).map(first).collect()
    };
    let port_up = |node: u32| {
        let vertex = over[node as usize];
        let link = tree.chosen(ascent, node, node, vertex);
        link.map_or(0, |link| link - tree.ascents(vertex).start)
    };
    let mut here = Level {
        down: Vec::new(),
        parallel: 1,
        ups: tree.ascents(over[0]).len() as u32,
        downs: tree.all_descents(over[0]).len() as u32,
        up: (0..nodes).map(port_up).collect(),
        beside: Vec::new(),
    };
    for node in 0..nodes {
        let Vertex::Switch(switch) = over[node as usize] else {
            break;
        };
        let descents = tree.descents(switch, node);
        let descents = descents.expect("the switch is over the node");
        let all = tree.all_descents(Vertex::Switch(switch));
        here.parallel = descents.end - descents.start;
        here.down.push((descents.start - all.start) as u16);
        let beside = tree.chosen_descent(ascent, node, node, switch);
        here.beside
            .push(beside.map_or(0, |link| link - descents.start));
    }
    here
}
