//! Distances in networks, as histograms over ordered pairs of nodes.

use isthmus_topology::{Adjacency, CubeFaults, IncompleteHypercube};

/// What works of a cube with faults. Failed nodes are there, but have no neighbours.
pub(crate) struct Working<'a>(pub &'a CubeFaults);

impl Adjacency for Working<'_> {
    fn node_count(&self) -> u32 {
        self.0.cube().node_count()
    }

    fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let dimensions = self.0.usable_dimensions(node);
        dimensions.map(move |dimension| node ^ (1 << dimension))
    }
}

/// Elementary steps of walking a network from every node.
pub(crate) fn steps(node_count: u32, link_count: usize) -> u64 {
    let walk = u64::from(node_count) + 2 * link_count as u64;
    u64::from(node_count).saturating_mul(walk)
}

/// Hops from `start` to every node; `None` where there is no path.
pub(crate) fn from(network: &impl Adjacency, start: u32) -> Vec<Option<u32>> {
    let mut hops = vec![None; network.node_count() as usize];
    hops[start as usize] = Some(0);
    let mut reached = vec![start];
    let mut next = 0;
    while let Some(&node) = reached.get(next) {
        next += 1;
        let further = hops[node as usize].map(|hops| hops + 1);
        for neighbor in network.neighbors(node) {
            if hops[neighbor as usize].is_none() {
                hops[neighbor as usize] = further;
                reached.push(neighbor);
            }
        }
    }
    hops
}

/// Ordered pairs of `nodes` that a path joins, by hops; walks from each of them.
pub(crate) fn walked(network: &impl Adjacency, nodes: impl Iterator<Item = u32>) -> Vec<u64> {
    let mut pairs: Vec<u64> = Vec::new();
    for node in nodes {
        for hops in from(network, node).into_iter().flatten() {
            let hops = hops as usize;
            if pairs.len() <= hops {
                pairs.resize(hops + 1, 0);
            }
            pairs[hops] += 1;
        }
    }
    pairs
}

/// Ordered pairs of nodes of a cube without faults, by hops; none is walked.
///
/// A cube is a complete lower half, the rest, and links across. With t dimensions in the half, each
/// node of the rest has C(t, h) nodes of the half at h + 1 hops.
pub(crate) fn of_cube(cube: IncompleteHypercube) -> Vec<u64> {
    let mut pairs = vec![0; cube.dimension() as usize + 1];
    let mut left = cube.node_count();
    while left > 0 {
        let half = left.ilog2();
        let rest = left - (1 << half);
        let mut ways = 1u64;
        for hops in 0..=half {
            pairs[hops as usize] += ways << half;
            if rest > 0 {
                pairs[hops as usize + 1] += 2 * u64::from(rest) * ways;
            }
            ways = ways * u64::from(half - hops) / u64::from(hops + 1);
        }
        left = rest;
    }
    pairs
}

/// The largest connected part of the nodes listed, of equals the one with the lowest node, and the
/// other nodes, both ascending.
pub(crate) fn largest_part(
    network: &impl Adjacency,
    nodes: impl Iterator<Item = u32>,
) -> (Vec<u32>, Vec<u32>) {
    let nodes: Vec<u32> = nodes.collect();
    let mut part = vec![u32::MAX; network.node_count() as usize];
    let mut sizes: Vec<usize> = Vec::new();
    let mut stack = Vec::new();
    for &start in &nodes {
        if part[start as usize] != u32::MAX {
            continue;
        }
        let index = sizes.len() as u32;
        let mut size = 0;
        part[start as usize] = index;
        stack.push(start);
        while let Some(node) = stack.pop() {
            size += 1;
            for neighbor in network.neighbors(node) {
                if part[neighbor as usize] == u32::MAX {
                    part[neighbor as usize] = index;
                    stack.push(neighbor);
                }
            }
        }
        sizes.push(size);
    }
    // `max_by_key` gives the last of equals, so the order is turned round.
    let largest = (0..sizes.len()).rev().max_by_key(|&index| sizes[index]);
    let is_in = |node: &u32| largest == Some(part[*node as usize] as usize);
    nodes.into_iter().partition(is_in)
}
