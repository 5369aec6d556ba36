//! Routings of imported graphs and the channels that wait for one another under them.
//!
//! A channel is one direction of a link; parallel links are lanes of one channel.

use crate::distance;
use isthmus_topology::Graph;
use isthmus_topology::deadlock::{Dependencies, DependencyCycle};
use std::collections::VecDeque;

/// The channels of a graph, numbered by the node they leave and the one they enter.
pub(crate) struct Channels<'a> {
    graph: &'a Graph,
    /// Where each node's channels start; one entry more than nodes.
    first: Vec<usize>,
}

impl<'a> Channels<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Self {
        let mut first = vec![0];
        let mut count = 0;
        for node in 0..graph.node_count() {
            count += graph.neighbors(node).len();
            first.push(count);
        }
        Self { graph, first }
    }

    pub(crate) fn count(&self) -> usize {
        self.first[self.first.len() - 1]
    }

    /// The channel between two neighbours.
    fn between(&self, from: u32, to: u32) -> usize {
        let place = self.graph.neighbors(from).binary_search(&to);
        self.first[from as usize] + place.expect("only neighbours are asked for")
    }

    fn ends(&self, channel: usize) -> (u32, u32) {
        let from = self.first.partition_point(|&first| first <= channel) - 1;
        let to = self.graph.neighbors(from as u32)[channel - self.first[from]];
        (from as u32, to)
    }

    /// The channels of a cycle by the names of their ends.
    pub(crate) fn names(&self, cycle: &DependencyCycle) -> Vec<String> {
        let name = |node| &self.graph.node(node).name;
        let text = |&channel: &usize| {
            let (from, to) = self.ends(channel);
            format!("{} to {}", name(from), name(to))
        };
        cycle.channels.iter().map(text).collect()
    }

    /// Shortest paths; of equally short ones a message takes the next node with the lowest number.
    pub(crate) fn shortest_paths(&self) -> Dependencies {
        let mut dependencies = Dependencies::new(self.count());
        for to in 0..self.graph.node_count() {
            let hops = distance::from(self.graph, to);
            let next = |node: u32| {
                let nearer = hops[node as usize]?.checked_sub(1)?;
                let mut neighbors = self.graph.neighbors(node).iter().copied();
                neighbors.find(|&neighbor| hops[neighbor as usize] == Some(nearer))
            };
            for node in 0..self.graph.node_count() {
                // Any path through here is the path from here on.
                if let Some(second) = next(node)
                    && let Some(third) = next(second)
                {
                    dependencies
                        .add_path([self.between(node, second), self.between(second, third)]);
                }
            }
        }
        dependencies
    }

    /// Up*/down* routing (Schroeder et al., "Autonet", IEEE JSAC 9(8), 1991) over shortest allowed
    /// paths: a message goes up, towards lower ranks, then down, and never up again. Nodes rank by
    /// hops from the lowest node of their connected part, then by number.
    pub(crate) fn up_down(&self) -> UpDown {
        let count = self.graph.node_count();
        let mut level = vec![None; count as usize];
        for root in 0..count {
            if level[root as usize].is_none() {
                for (node, hops) in distance::from(self.graph, root).into_iter().enumerate() {
                    level[node] = level[node].or(hops);
                }
            }
        }
        let is_up = |from: u32, to: u32| (level[to as usize], to) < (level[from as usize], from);
        let mut found = UpDown {
            dependencies: Dependencies::new(self.count()),
            pairs: Vec::new(),
        };
        for from in 0..count {
            self.up_down_from(from, is_up, &mut found);
        }
        found
    }

    fn up_down_from(&self, from: u32, is_up: impl Fn(u32, u32) -> bool, found: &mut UpDown) {
        // Two states for each node: 2 * node while the message may still go up, else + 1.
        let count = 2 * self.graph.node_count() as usize;
        let start = 2 * from as usize;
        let mut before = vec![usize::MAX; count];
        let mut hops = vec![0; count];
        let mut arrived = vec![false; count / 2];
        let mut counted = vec![false; count];
        before[start] = start;
        counted[start] = true;
        let mut queue = VecDeque::from([start]);
        while let Some(state) = queue.pop_front() {
            let node = (state / 2) as u32;
            if !std::mem::replace(&mut arrived[node as usize], true) {
                if found.pairs.len() <= hops[state] {
                    found.pairs.resize(hops[state] + 1, 0);
                }
                found.pairs[hops[state]] += 1;
                // The part of the path up to a counted state was added with that one.
                let mut at = state;
                while !std::mem::replace(&mut counted[at], true) && before[at] != start {
                    let path = [before[before[at]], before[at], at].map(|state| (state / 2) as u32);
                    found.dependencies.add_path([
                        self.between(path[0], path[1]),
                        self.between(path[1], path[2]),
                    ]);
                    at = before[at];
                }
            }
            for &neighbor in self.graph.neighbors(node) {
                let up = is_up(node, neighbor);
                if up && state % 2 == 1 {
                    continue;
                }
                let next = 2 * neighbor as usize + usize::from(!up);
                if before[next] == usize::MAX {
                    before[next] = state;
                    hops[next] = hops[state] + 1;
                    queue.push_back(next);
                }
            }
        }
    }
}

/// What up*/down* routing comes to.
pub(crate) struct UpDown {
    pub dependencies: Dependencies,
    /// Ordered pairs of nodes by hops of their route.
    pub pairs: Vec<u64>,
}
