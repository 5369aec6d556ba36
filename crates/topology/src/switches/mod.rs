//! Networks of switches in any form, and routes through them that cannot deadlock.

mod attributes;
mod layers;
mod listed;
mod neighbors;
mod routes;
mod shortest;
mod summary;
mod up_down;
mod waits;

pub use attributes::Found;
pub use layers::{Change, Layers, no_circle};
pub use listed::{CABLES_MAX, Leaves, ListError, Listed, WIDTH_MAX, listed};
pub use neighbors::Apart;
pub use routes::{Listing, RouteError, Routes};
pub use shortest::Shortest;
pub use summary::ListSummary;
pub use up_down::UpDown;

use crate::{Graph, Wiring, distance};
use neighbors::Neighbors;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of characters of a switch name in an error message.
const NAME_MAX: usize = 60;

/// Arrangement of the switches and cables of a network, as plain values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// A ring: each switch is joined to the next switch, and the last to the first.
    Ring {
        /// Number of switches.
        switches: u32,
    },
    /// A grid of switches that wraps around in every dimension.
    Torus {
        /// Number of switches in each dimension; dimension 0 varies fastest in switch numbers.
        sizes: Vec<u32>,
    },
    /// A grid of switches that does not wrap around in any dimension.
    Mesh {
        /// Number of switches in each dimension; dimension 0 varies fastest in switch numbers.
        sizes: Vec<u32>,
    },
    /// Listed cables, each between two switches. A repeated pair of switches stands for parallel cables.
    Cables {
        /// Number of switches.
        switches: u32,
        /// For each cable, the two switches that it joins.
        cables: Vec<(u32, u32)>,
        /// Names of the switches; empty if their names are their numbers.
        names: Vec<String>,
    },
}

/// The nodes of a network, by the switches that they are joined to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nodes {
    /// The same number of nodes at each switch; the nodes of a switch have consecutive numbers.
    Each(u32),
    /// For each node, the number of its switch.
    At(Vec<u32>),
}

impl From<u32> for Nodes {
    /// Return the same number of nodes, `each`, at every switch.
    fn from(each: u32) -> Self {
        Self::Each(each)
    }
}

impl Nodes {
    /// Return the total number of nodes of `switches` switches; `None` if it is 2^32 or more.
    pub fn count(&self, switches: u32) -> Option<u32> {
        match self {
            Self::Each(each) => switches.checked_mul(*each),
            Self::At(at) => u32::try_from(at.len()).ok(),
        }
    }

    /// Return for each node the number of its switch.
    fn at(&self, switches: u32) -> Vec<u32> {
        match self {
            Self::Each(each) => (0..switches * each).map(|node| node / each).collect(),
            Self::At(at) => at.clone(),
        }
    }
}

impl Form {
    /// Return a network with these cables. The highest switch number in the cables determines the number of switches.
    pub fn of_cables(cables: Vec<(u32, u32)>) -> Self {
        let last = cables.iter().flat_map(|&(a, b)| [a, b]).max();
        Self::Cables {
            switches: last.map_or(0, |last| last.saturating_add(1)),
            cables,
            names: Vec::new(),
        }
    }

    /// Return each connected component of a graph as a network whose switches are the nodes of the graph.
    pub fn of_parts(graph: &Graph) -> Vec<Self> {
        let part_of = distance::parts(graph);
        let mut names: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        let mut cables: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        let numbers = graph.nodes().zip(&part_of).map(|(node, &part)| {
            let names = names.entry(part).or_default();
            names.push(node.name.clone());
            names.len() as u32 - 1
        });
        let numbers: Vec<u32> = numbers.collect();
        for (from, to, _) in graph.edges() {
            let cables = cables.entry(part_of[from as usize]).or_default();
            cables.push((numbers[from as usize], numbers[to as usize]));
        }
        let forms = names.into_iter().map(|(part, names)| Self::Cables {
            switches: names.len() as u32,
            cables: cables.remove(&part).unwrap_or_default(),
            names,
        });
        forms.collect()
    }

    /// Return the number of switches; `u32::MAX` if the number is that large or larger.
    pub fn switch_count(&self) -> u32 {
        match self {
            Self::Ring { switches } | Self::Cables { switches, .. } => *switches,
            Self::Torus { sizes } | Self::Mesh { sizes } => {
                sizes.iter().fold(1, |all, &size| all.saturating_mul(size))
            }
        }
    }

    /// Return the name of a switch.
    pub fn name(&self, switch: u32) -> String {
        let name = match self {
            Self::Cables { names, .. } => names.get(switch as usize).cloned(),
            _ => None,
        };
        name.unwrap_or_else(|| switch.to_string())
    }

    /// Return the name of a switch for an error message, shortened to fit a line.
    pub fn shortened_name(&self, switch: u32) -> String {
        self.name(switch).chars().take(NAME_MAX).collect()
    }

    /// Return switch 0 and a switch that no path joins to it; `None` if paths join all switches.
    pub fn apart(&self) -> Option<Apart> {
        Neighbors::new(&self.wiring(0)).apart()
    }

    /// Return the cables between switches; in a grid they are ordered by dimension.
    pub fn cables(&self) -> Vec<(u32, u32)> {
        match self {
            Self::Ring { switches } => grid(&[*switches], true),
            Self::Torus { sizes } => grid(sizes, true),
            Self::Mesh { sizes } => grid(sizes, false),
            Self::Cables { cables, .. } => cables.clone(),
        }
    }

    /// Return the wiring of the network with `nodes` nodes at each switch, or with the listed nodes.
    ///
    /// # Panics
    /// If a listed cable joins a switch to itself, or a node is at a missing switch.
    pub fn wiring(&self, nodes: impl Into<Nodes>) -> Wiring {
        let switches = self.switch_count();
        let at = nodes.into().at(switches);
        let nodes = at.len() as u32;
        let of_nodes = (0..).zip(&at).map(|(node, &at)| (node, nodes + at));
        let between = self.cables().into_iter();
        let between = between.map(|(a, b)| (nodes + a, nodes + b));
        Wiring::new(
            nodes,
            switches,
            &of_nodes.chain(between).collect::<Vec<_>>(),
        )
    }

    /// Select the next switch for a packet at switch `at` for switch `to` if several routes are equally short. The
    /// result is an index of `ways`, the possible next switches in the order of their cables. On grids, routes go
    /// dimension by dimension; of two equally short directions, switches at even positions use one and those at odd
    /// positions the other. Elsewhere the routes are used in turn.
    pub fn choice(&self, at: u32, to: u32, ways: &[u32]) -> usize {
        if ways.len() == 1 {
            return 0;
        }
        let sizes = match self {
            Self::Ring { switches } => std::slice::from_ref(switches),
            Self::Torus { sizes } | Self::Mesh { sizes } => sizes,
            Self::Cables { .. } => return (at as usize + to as usize) % ways.len().max(1),
        };
        let mut step = 1;
        for &size in sizes {
            let place = |switch: u32| switch / step % size;
            let here = place(at);
            let preferred = (here + if here % 2 == 0 { 1 } else { size - 1 }) % size;
            let mut along = (0..ways.len()).filter(|&way| place(ways[way]) != here);
            if let Some(first) = along.next() {
                return match along.next() {
                    Some(second) if place(ways[second]) == preferred => second,
                    _ => first,
                };
            }
            step *= size;
        }
        0
    }
}

/// A grid of switches (ring, torus or mesh), on which routes go dimension by dimension.
#[derive(Debug, Clone)]
struct Grid {
    sizes: Vec<u32>,
    closed: bool,
}

/// Remaining path of a route along the first dimension in which two switches differ.
struct Leg {
    /// Difference between the numbers of neighbouring switches in this dimension.
    step: u32,
    size: u32,
    from: u32,
    to: u32,
    /// Whether the path leads to higher coordinates.
    up: bool,
}

impl Grid {
    /// Return the grid of switches of a ring, torus or mesh, or `None` for a network of listed cables.
    fn of(form: &Form) -> Option<Self> {
        let (sizes, closed) = match form {
            Form::Ring { switches } => (vec![*switches], true),
            Form::Torus { sizes } => (sizes.clone(), true),
            Form::Mesh { sizes } => (sizes.clone(), false),
            Form::Cables { .. } => return None,
        };
        Some(Self { sizes, closed })
    }

    /// Return the coordinates of each switch in the grid, one for each dimension, switch by switch.
    fn places(&self) -> Vec<u32> {
        let place = |mut switch: u32| {
            self.sizes.iter().map(move |size| {
                let place = switch % size;
                switch /= size;
                place
            })
        };
        (0..self.switch_count()).flat_map(place).collect()
    }

    /// Return the number of switches of the grid.
    fn switch_count(&self) -> u32 {
        self.sizes.iter().product()
    }

    /// Return the part of a path between two switches that lies along the first dimension in which their coordinates
    /// `here` and `there` differ, in the direction of [`Form::choice`]. Return `None` if the coordinates are equal.
    fn leg(&self, here: &[u32], there: &[u32]) -> Option<Leg> {
        let mut step = 1;
        for (&size, (&from, &to)) in self.sizes.iter().zip(here.iter().zip(there)) {
            if from != to {
                let ahead = if to > from {
                    to - from
                } else {
                    to + size - from
                };
                let up = match (2 * ahead).cmp(&size) {
                    _ if !self.closed => to > from,
                    Ordering::Less => true,
                    Ordering::Equal => from % 2 == 0,
                    Ordering::Greater => false,
                };
                return Some(Leg {
                    step,
                    size,
                    from,
                    to,
                    up,
                });
            }
            step *= size;
        }
        None
    }

    /// Return the next switch on the route from switch `at`, at the grid coordinates `here`, to the switch at the
    /// coordinates `there`.
    fn next(&self, at: u32, here: &[u32], there: &[u32]) -> u32 {
        let Some(leg) = self.leg(here, there) else {
            return at;
        };
        match leg.up {
            true if leg.from + 1 == leg.size => at - leg.from * leg.step,
            true => at + leg.step,
            false if leg.from == 0 => at + (leg.size - 1) * leg.step,
            false => at - leg.step,
        }
    }

    /// Call `each` with every pair of a destination switch and a current switch, and with their coordinates in the
    /// grid.
    fn pairs(&self, mut each: impl FnMut(u32, &[u32], &[u32])) {
        let places = self.places();
        let dimensions = self.sizes.len();
        for there in places.chunks_exact(dimensions) {
            for (at, here) in (0..).zip(places.chunks_exact(dimensions)) {
                each(at, here, there);
            }
        }
    }
}

/// Return the cables of a grid. If a dimension has two switches, one cable joins them.
fn grid(sizes: &[u32], closed: bool) -> Vec<(u32, u32)> {
    let switches: u32 = sizes.iter().product();
    let mut cables = Vec::new();
    let mut step = 1;
    for &size in sizes {
        for switch in 0..switches {
            let place = switch / step % size;
            if place + 1 < size {
                cables.push((switch, switch + step));
            } else if closed && size > 2 {
                cables.push((switch, switch - place * step));
            }
        }
        step *= size;
    }
    cables
}

impl fmt::Display for Form {
    /// Write a short description of the network, such as "4 x 4 torus".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |sizes: &[u32]| {
            let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
            sizes.join(" x ")
        };
        match self {
            Self::Ring { switches } => write!(f, "ring of {switches} switches"),
            Self::Torus { sizes } => write!(f, "{} torus", by(sizes)),
            Self::Mesh { sizes } => write!(f, "{} mesh", by(sizes)),
            Self::Cables {
                switches, cables, ..
            } => {
                let ends = |count: usize, one, more| if count == 1 { one } else { more };
                let switch = ends(*switches as usize, "switch", "switches");
                let cable = ends(cables.len(), "cable", "cables");
                write!(f, "{switches} {switch} with {} {cable}", cables.len())
            }
        }
    }
}

/// Return for each switch whether nodes are joined to it.
fn has_nodes(wiring: &Wiring) -> Vec<bool> {
    let nodes = wiring.node_count();
    let out = (0..wiring.switch_count()).map(|switch| wiring.out_of(nodes + switch));
    out.map(|mut links| links.any(|link| wiring.target(link) < nodes))
        .collect()
}
