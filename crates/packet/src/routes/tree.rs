//! Routes through a fat tree: up to a common ancestor of the two nodes, then down.

use super::{End, Header, Routes, Run, pick};
use isthmus_topology::trees::{Ascent, Tree, Vertex};

/// First upward and first downward link of a node or switch, and its level.
#[derive(Debug, Clone, Copy)]
struct Ports {
    first_up: u32,
    first_down: u32,
    /// Level of the node or switch in the tree.
    level: u32,
}

/// Properties that all vertices of a level of the tree share.
#[derive(Debug, Clone)]
struct Level {
    /// For each node, the port by which a switch above it leads down to it; the first of parallel
    /// ports.
    down: Vec<u16>,
    /// Number of links to each child.
    parallel: u32,
    /// Number of upward links of a vertex of the level, and number of its downward links to all
    /// children.
    ups: u32,
    downs: u32,
    /// For each node as source or destination: the index, among the upward ports of a vertex above
    /// it, of the port that the number of the node selects.
    up: Vec<u32>,
    /// For each destination node: the index, among the parallel links down to it, of the link that
    /// the number of the node selects.
    parallel_down: Vec<u32>,
}

/// Network with fat-tree topology, with the rule by which packets choose among upward links.
///
/// The state of a header is the level at which its route turns downwards.
#[derive(Debug, Clone)]
pub struct FatTree {
    /// For each node, then for each switch: its ports, which are the numbers of its links.
    ports: Vec<Ports>,
    tree: Tree,
    levels: Vec<Level>,
    /// Rule by which packets choose among the upward links of a vertex.
    ascent: Ascent,
}

impl FatTree {
    /// Build the tables of a tree. `ascent` is the rule for the choice of upward links.
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

    /// Return the upward links among which a packet may choose at a vertex.
    #[inline]
    fn up(&self, ports: &Ports, header: &Header, random: impl FnOnce() -> u64) -> Run {
        let level = &self.levels[ports.level as usize];
        let (first, links) = (ports.first_up, level.ups);
        let port = match self.ascent {
            Ascent::Adaptive => return Run { first, links },
            Ascent::Source => level.up[header.from as usize],
            Ascent::Destination => level.up[header.to as usize],
            Ascent::Random => pick(links, random()),
        };
        Run::one(first + port)
    }
}

impl Routes for FatTree {
    /// True: a fat tree has one class of channels, and its links have no length.
    const PLAIN: bool = true;

    /// Return the number of nodes.
    fn node_count(&self) -> u32 {
        self.tree.node_count()
    }

    /// Return the number of links.
    fn link_count(&self) -> u32 {
        self.tree.link_count()
    }

    /// Return the number of links of the longest route: up to the root and down again.
    fn longest_route(&self) -> u32 {
        2 * self.tree.level_count()
    }

    /// Return the vertex and port to which a link leads.
    fn end(&self, link: u32) -> End {
        end(&self.tree, link)
    }

    /// Return, for all switches, each run of adjacent links among which a packet may choose,
    /// together with the number of ports of the switch.
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

    /// Return the upward links of a node.
    #[inline]
    fn node_links(&self, node: u32) -> Run {
        Run {
            first: self.ports[node as usize].first_up,
            links: self.levels[0].ups,
        }
    }

    /// Return the initial state of a packet between two nodes: the level of the tree at which its
    /// route turns downwards.
    fn initial_state(&self, from: u32, to: u32) -> u16 {
        self.tree.level_between(from, to) as u16
    }

    /// Return the upward links over which a packet may leave its source node.
    #[inline]
    fn first_links(&self, header: &mut Header, random: impl FnOnce() -> u64) -> Run {
        self.up(&self.ports[header.from as usize], header, random)
    }

    /// Return the upward links, or from the turn on the downward links, that a packet may take.
    #[inline]
    fn next_links(&self, header: &mut Header, at: End, random: impl FnOnce() -> u64) -> Run {
        let ports = &self.ports[at.vertex as usize];
        // On the way up, a packet has crossed as many links as there are levels below the switch.
        // It goes on up until this is `state`, the level at which its route turns.
        if header.links < header.state {
            return self.up(ports, header, random);
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
                    Ascent::Source => level.parallel_down[header.from as usize],
                    Ascent::Destination => level.parallel_down[header.to as usize],
                    Ascent::Random | Ascent::Adaptive => pick(level.parallel, random()),
                },
        )
    }
}

/// Return the vertex and port to which a link leads. The port is that of the reverse link; downward
/// ports have the lowest numbers.
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

/// Return the properties that all vertices of a level of the tree share; level 0 holds the nodes.
fn level_of(tree: &Tree, level: u32, ascent: Ascent) -> Level {
    let nodes = tree.node_count();
    let size = tree.subtree_size(level);
    // For each node, a vertex of this level from which links lead down to the node.
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
        parallel_down: Vec::new(),
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
        let parallel_down = tree.chosen_descent(ascent, node, node, switch);
        here.parallel_down
            .push(parallel_down.map_or(0, |link| link - descents.start));
    }
    here
}
