//! Ways through a fat tree: up to a common ancestor of the two nodes, then down.

use super::{End, Header, Run, Routes, drawn};
use isthmus_topology::trees::{Ascent, Tree, Vertex};

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

/// A fat tree, and which links up packets take where there are several.
///
/// The state of a header is the level at which its way turns.
#[derive(Debug, Clone)]
pub struct FatTree {
    /// Of the nodes, then of the switches.
    ports: Vec<Ports>,
    tree: Tree,
    levels: Vec<Level>,
    ascent: Ascent,
}

impl FatTree {
    /// Makes the tables.
    pub fn new(tree: &Tree, ascent: Ascent) -> Self {
        let vertices = || {
            let switches = (0..tree.switch_count()).map(Vertex::Switch);
            (0..tree.node_count()).map(Vertex::Node).chain(switches)
        };
        let ports = vertices().map(|vertex| Ports {
            first_up: tree.ascents(vertex).start,
            first_down: tree.all_descents(vertex).start,
            level: tree.level_of(vertex),
        });
        let levels = (0..=tree.level_count()).map(|level| level_of(tree, level, ascent));
        Self {
            ports: ports.collect(),
            tree: tree.clone(),
            levels: levels.collect(),
            ascent,
        }
    }

    #[inline]
    fn up(&self, ports: &Ports, header: &Header, lot: impl FnOnce() -> u64) -> Run {
        let level = &self.levels[ports.level as usize];
        let (first, links) = (ports.first_up, level.ups);
        let port = match self.ascent {
            Ascent::Adaptive => return Run { first, links },
            Ascent::Source => level.up[header.from as usize],
            Ascent::Destination => level.up[header.to as usize],
            Ascent::Random => drawn(links, lot()),
        };
        Run::one(first + port)
    }
}

impl Routes for FatTree {
    const PLAIN: bool = true;

    fn node_count(&self) -> u32 {
        self.tree.node_count()
    }

    fn link_count(&self) -> u32 {
        self.tree.link_count()
    }

    fn longest(&self) -> u32 {
        2 * self.tree.level_count()
    }

    fn end(&self, link: u32) -> End {
        end(&self.tree, link)
    }

    fn runs(&self) -> impl Iterator<Item = (Run, u32)> {
        let adaptive = self.ascent == Ascent::Adaptive;
        let runs = move |first: u32, count: u32, each: u32| {
            let links = if adaptive { each.max(1) } else { 1 };
            let firsts = (first..first + count).step_by(links as usize);
            firsts.map(move |first| Run { first, links })
        };
        let switches = self.ports[self.node_count() as usize..].iter();
        switches.flat_map(move |ports| {
            let level = &self.levels[ports.level as usize];
            let up = runs(ports.first_up, level.ups, level.ups);
            let down = runs(ports.first_down, level.downs, level.parallel);
            up.chain(down).map(|run| (run, level.ups + level.downs))
        })
    }

    #[inline]
    fn of_node(&self, node: u32) -> Run {
        Run {
            first: self.ports[node as usize].first_up,
            links: self.levels[0].ups,
        }
    }

    fn state(&self, from: u32, to: u32) -> u16 {
        self.tree.level_between(from, to) as u16
    }

    #[inline]
    fn first(&self, header: &mut Header, lot: impl FnOnce() -> u64) -> Run {
        self.up(&self.ports[header.from as usize], header, lot)
    }

    #[inline]
    fn next(&self, header: &mut Header, at: End, lot: impl FnOnce() -> u64) -> Run {
        let ports = &self.ports[at.vertex as usize];
        // On its way up it has crossed as many links as the switch has levels below it.
        if header.links < header.state {
            return self.up(ports, header, lot);
        }
        let level = &self.levels[ports.level as usize];
        let first = ports.first_down + u32::from(level.down[header.to as usize]);
        if level.parallel == 1 || self.ascent == Ascent::Adaptive {
            return Run {
                first,
                links: level.parallel,
            };
        }
        Run::one(
            first
                + match self.ascent {
                    Ascent::Source => level.beside[header.from as usize],
                    Ascent::Destination => level.beside[header.to as usize],
                    Ascent::Random | Ascent::Adaptive => drawn(level.parallel, lot()),
                },
        )
    }
}

/// Where a link leads: its port is that of the link beside it which leads back, ports down first.
fn end(tree: &Tree, link: u32) -> End {
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
