//! Routings of graphs of any shape, and the channel dependencies that come of them.
//!
//! Both routings are deterministic: the route of a pair depends on the graph and the pair alone.
//! Channels are those of [`Channels`].

use super::{Channels, Graph};
use crate::deadlock::Dependencies;
use crate::distance;
use crate::ranks::Ranks;
use std::collections::VecDeque;

/// Routing over shortest paths; of equally short ones a message takes the next node with the lowest
/// number. On graphs with cycles it can deadlock: check its [`dependencies`](Self::dependencies).
///
/// ```
/// use isthmus_topology::Graph;
/// use isthmus_topology::graph::ShortestPaths;
///
/// let ring = Graph::from_edge_list("0 1\n1 2\n2 3\n3 0").unwrap();
/// let routing = ShortestPaths::new(&ring);
/// assert_eq!(routing.route(0, 2), Some(vec![0, 1, 2]));
/// ```
#[derive(Debug, Clone)]
pub struct ShortestPaths<'a> {
    channels: Channels<'a>,
}

impl<'a> ShortestPaths<'a> {
    /// The routing of `graph`.
    pub fn new(graph: &'a Graph) -> Self {
        Self {
            channels: Channels::new(graph),
        }
    }

    /// The nodes of the route between two nodes, both ends included; `None` when no path joins them.
    ///
    /// # Panics
    /// When a node does not exist.
    pub fn route(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let hops = distance::hops_from(self.channels.graph(), &[to]);
        hops[from as usize]?;
        let mut route = vec![from];
        let mut at = from;
        while let Some(next) = self.next(&hops, at) {
            route.push(next);
            at = next;
        }
        Some(route)
    }

    /// The next node on the way from `node`, given the hops that are left from every node; `None` at
    /// the end and where no path leads there.
    fn next(&self, hops: &[Option<u32>], node: u32) -> Option<u32> {
        let nearer = hops[node as usize]?.checked_sub(1)?;
        let mut neighbors = self.channels.graph().neighbors(node).iter().copied();
        neighbors.find(|&neighbor| hops[neighbor as usize] == Some(nearer))
    }

    /// The channel dependencies of all routes, for [`Dependencies::check`]. Walks the graph from
    /// every node; [`distance::walk_steps`] says what that costs.
    pub fn dependencies(&self) -> Dependencies {
        let mut dependencies = Dependencies::new(self.channels.count());
        let nodes = 0..self.channels.graph().node_count();
        for to in nodes.clone() {
            let hops = distance::hops_from(self.channels.graph(), &[to]);
            let next: Vec<_> = nodes.clone().map(|node| self.next(&hops, node)).collect();
            for node in nodes.clone() {
                // Any route through here is the route from here on.
                if let Some(second) = next[node as usize]
                    && let Some(third) = next[second as usize]
                {
                    dependencies.add_path(self.channels.along(&[node, second, third]));
                }
            }
        }
        dependencies
    }
}

/// Up*/down* routing (Schroeder et al., "Autonet", IEEE JSAC 9(8), 1991) over shortest allowed
/// routes: a message goes up, towards lower ranks, then down, and never up again, so it cannot
/// deadlock on any graph. Nodes rank by hops from the lowest node of their connected part, then by
/// number. Of equally short routes a breadth-first search that takes neighbours in ascending order
/// decides.
///
/// ```
/// use isthmus_topology::Graph;
/// use isthmus_topology::graph::UpDown;
///
/// let ring = Graph::from_edge_list("0 1\n1 2\n2 3\n3 4\n4 0").unwrap();
/// let routing = UpDown::new(&ring);
/// // The short way, over 3, would go down and up again.
/// assert_eq!(routing.route(2, 4), Some(vec![2, 1, 0, 4]));
/// assert!(routing.walk().dependencies.check().is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct UpDown<'a> {
    channels: Channels<'a>,
    ranks: Ranks,
}

/// What all routes of [`UpDown`] routing come to.
#[derive(Debug, Clone)]
pub struct UpDownRoutes {
    /// The channel dependencies of all routes.
    pub dependencies: Dependencies,
    /// Number of ordered pairs of nodes by hops of their route, a node and itself included; pairs
    /// that no path joins are left out.
    pub hops: Vec<u64>,
}

impl<'a> UpDown<'a> {
    /// The routing of `graph`.
    pub fn new(graph: &'a Graph) -> Self {
        Self {
            channels: Channels::new(graph),
            ranks: Ranks::new(graph),
        }
    }

    /// The nodes of the route between two nodes, both ends included; `None` when no path joins them.
    ///
    /// # Panics
    /// When a node does not exist.
    pub fn route(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let found = Search::new(self.channels.graph(), &self.ranks, from);
        let mut state = found.arrival[to as usize]?;
        let mut route = vec![to];
        while state != found.start {
            state = found.before[state];
            route.push(node(state));
        }
        route.reverse();
        Some(route)
    }

    /// The dependencies and lengths of all routes. Walks the graph from every node, passing each up
    /// to twice; [`distance::walk_steps`] says what one pass costs.
    pub fn walk(&self) -> UpDownRoutes {
        let mut routes = UpDownRoutes {
            dependencies: Dependencies::new(self.channels.count()),
            hops: Vec::new(),
        };
        for from in 0..self.channels.graph().node_count() {
            self.walk_from(from, &mut routes);
        }
        routes
    }

    fn walk_from(&self, from: u32, routes: &mut UpDownRoutes) {
        let found = Search::new(self.channels.graph(), &self.ranks, from);
        let mut counted = vec![false; found.before.len()];
        counted[found.start] = true;
        for &arrival in found.arrival.iter().flatten() {
            distance::count(&mut routes.hops, found.hops[arrival]);
            // The part of the route up to a counted state was added with that one.
            let mut at = arrival;
            while !std::mem::replace(&mut counted[at], true) && found.before[at] != found.start {
                let before = found.before[at];
                let nodes = [found.before[before], before, at].map(node);
                routes.dependencies.add_path(self.channels.along(&nodes));
                at = before;
            }
        }
    }
}

/// The shortest allowed routes from one node to all.
///
/// A state is a node and whether the message may still go up: 2 * node while it may, else + 1.
struct Search {
    start: usize,
    /// The state before each; that of the start is itself, `usize::MAX` stands for never reached.
    before: Vec<usize>,
    /// Hops to each state reached.
    hops: Vec<u32>,
    /// The first state reached of each node: where its route ends.
    arrival: Vec<Option<usize>>,
}

/// The node of a state of [`Search`].
fn node(state: usize) -> u32 {
    (state / 2) as u32
}

impl Search {
    fn new(graph: &Graph, ranks: &Ranks, from: u32) -> Self {
        let start = 2 * from as usize;
        let mut found = Self {
            start,
            before: vec![usize::MAX; 2 * ranks.len()],
            hops: vec![0; 2 * ranks.len()],
            arrival: vec![None; ranks.len()],
        };
        found.before[start] = start;
        let mut queue = VecDeque::from([start]);
        while let Some(state) = queue.pop_front() {
            let node = node(state);
            found.arrival[node as usize].get_or_insert(state);
            for &neighbor in graph.neighbors(node) {
                let up = ranks.is_up(node, neighbor);
                if up && state % 2 == 1 {
                    continue;
                }
                let next = 2 * neighbor as usize + usize::from(!up);
                if found.before[next] == usize::MAX {
                    found.before[next] = state;
                    found.hops[next] = found.hops[state] + 1;
                    queue.push_back(next);
                }
            }
        }
        found
    }
}
