//! Wiring of a network: nodes and switches, joined by cables.

use std::collections::BTreeMap;
use std::ops::Range;

/// The directed links of nodes and switches that are joined by cables. Each cable is two links, one
/// in each direction.
///
/// Vertices are the nodes, from 0, then the switches. Links are numbered in the order of the
/// vertices that they leave. The links of one vertex are in the order of its cables, except that
/// parallel links follow the first of them directly.
///
/// ```
/// use isthmus_topology::Wiring;
///
/// // Nodes 0 and 1 at switches 2 and 3, which two cables join.
/// let wiring = Wiring::new(2, 2, &[(0, 2), (2, 3), (1, 3), (2, 3)]);
/// assert_eq!(wiring.out_of(2), 2..5);
/// let targets: Vec<u32> = wiring.out_of(2).map(|link| wiring.target(link)).collect();
/// assert_eq!(targets, [0, 3, 3]);
/// assert_eq!(wiring.target(wiring.reverse(3)), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wiring {
    nodes: u32,
    /// Index of each vertex's first outgoing link, and the number of links at the end.
    first: Vec<u32>,
    targets: Vec<u32>,
    reverse: Vec<u32>,
    /// For each cable, the number of the link from its first end to its second.
    forward: Vec<u32>,
}

impl Wiring {
    /// Return the wiring of these cables with `nodes` nodes and `switches` switches.
    ///
    /// # Panics
    /// If an end of a cable is no vertex, or both ends are the same.
    pub fn new(nodes: u32, switches: u32, cables: &[(u32, u32)]) -> Self {
        let vertices = nodes + switches;
        let mut out: Vec<Vec<(u32, usize)>> = vec![Vec::new(); vertices as usize];
        for (cable, &(a, b)) in cables.iter().enumerate() {
            assert!(
                a < vertices && b < vertices && a != b,
                "cable {cable} joins {a} and {b}; the vertices are 0 to {}",
                vertices.saturating_sub(1)
            );
            out[a as usize].push((b, cable));
            out[b as usize].push((a, cable));
        }
        let mut wiring = Self {
            nodes,
            first: vec![0],
            targets: Vec::with_capacity(2 * cables.len()),
            reverse: vec![0; 2 * cables.len()],
            forward: vec![0; cables.len()],
        };
        let mut backward = vec![0; cables.len()];
        for (vertex, links) in (0..).zip(&mut out) {
            let mut rank = BTreeMap::new();
            for (place, &(target, _)) in links.iter().enumerate() {
                rank.entry(target).or_insert(place);
            }
            links.sort_by_key(|&(target, cable)| (rank[&target], cable));
            for &(target, cable) in links.iter() {
                let link = wiring.targets.len() as u32;
                wiring.targets.push(target);
                if cables[cable].0 == vertex {
                    wiring.forward[cable] = link;
                } else {
                    backward[cable] = link;
                }
            }
            wiring.first.push(wiring.targets.len() as u32);
        }
        for (&forward, &backward) in wiring.forward.iter().zip(&backward) {
            wiring.reverse[forward as usize] = backward;
            wiring.reverse[backward as usize] = forward;
        }
        wiring
    }

    /// Return the number of nodes.
    pub fn node_count(&self) -> u32 {
        self.nodes
    }

    /// Return the number of switches.
    pub fn switch_count(&self) -> u32 {
        self.first.len() as u32 - 1 - self.nodes
    }

    /// Return the number of links.
    pub fn link_count(&self) -> u32 {
        self.targets.len() as u32
    }

    /// Return the numbers of the links that leave a vertex.
    ///
    /// # Panics
    /// If the vertex does not exist.
    pub fn out_of(&self, vertex: u32) -> Range<u32> {
        self.first[vertex as usize]..self.first[vertex as usize + 1]
    }

    /// Return the vertex that a link leads to.
    ///
    /// # Panics
    /// If the link does not exist.
    pub fn target(&self, link: u32) -> u32 {
        self.targets[link as usize]
    }

    /// Return the link in the opposite direction along the same cable.
    ///
    /// # Panics
    /// If the link does not exist.
    pub fn reverse(&self, link: u32) -> u32 {
        self.reverse[link as usize]
    }

    /// Return the link along a cable from its first end to its second.
    ///
    /// # Panics
    /// If the cable does not exist.
    pub fn forward(&self, cable: usize) -> u32 {
        self.forward[cable]
    }
}
