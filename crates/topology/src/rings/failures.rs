//! Possible failures of links and nodes in a fabric, for dependability studies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Fabric, Faults};

/// A failure: its cause and the rings that it takes out of service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The link or node that fails.
    pub cause: Cause,
    /// Numbers of the rings that the failure takes out of service, ascending.
    pub rings: Vec<u32>,
    /// Number of links, or of nodes, whose single failure takes the same rings out of service. A
    /// study multiplies the probability of one such failure by this number.
    pub components: u32,
}

/// The cause of a failure: a failed link or node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A link. If several links take the same rings out of service, the first of them is named.
    Link {
        /// Node at which the link starts.
        from: u32,
        /// Node at which the link ends.
        to: u32,
    },
    /// The node with this number.
    Node(u32),
}

impl Failure {
    /// Return the failure as a list of faults.
    pub fn faults(&self) -> Faults {
        match self.cause {
            Cause::Link { from, to } => Faults {
                nodes: Vec::new(),
                links: vec![(from, to)],
            },
            Cause::Node(node) => Faults {
                nodes: vec![node],
                links: Vec::new(),
            },
        }
    }

    /// Return a text that names the stopped rings.
    pub fn effect(&self) -> String {
        let rings: Vec<_> = self.rings.iter().map(u32::to_string).collect();
        match &rings[..] {
            [] => "no ring stops".to_owned(),
            [ring] => format!("stops ring {ring}"),
            rings => format!("stops rings {}", rings.join(", ")),
        }
    }
}

impl fmt::Display for Failure {
    /// Write the failed link or node, and the rings that the failure stops.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause {
            Cause::Link { from, to } => write!(f, "link {from}-{to}")?,
            Cause::Node(node) => write!(f, "node {node}")?,
        }
        write!(f, " ({})", self.effect())
    }
}

impl Faults {
    /// Return a list of all faults of both lists.
    pub fn union(&self, other: &Self) -> Self {
        Self {
            nodes: [&self.nodes[..], &other.nodes].concat(),
            links: [&self.links[..], &other.links].concat(),
        }
    }
}

impl Fabric {
    /// Return all single failures of rings in service and of live nodes that differ in their
    /// effect: first those of links, ordered by ring, then those of nodes, ordered by number.
    ///
    /// A failed link stops its whole ring, so the links of a ring are one failure. If further rings
    /// have links between the same nodes, their links also belong to this failure.
    pub fn single_failures(&self) -> Vec<Failure> {
        let in_service = |link: &&super::Link| self.is_in_service(link.ring);
        let mut parallel: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
        for link in self.links().iter().filter(in_service) {
            let ends = (link.from, link.to);
            parallel.entry(ends).or_default().insert(link.ring);
        }
        let mut by_rings: BTreeMap<&BTreeSet<u32>, Failure> = BTreeMap::new();
        for link in self.links().iter().filter(in_service) {
            let rings = &parallel[&(link.from, link.to)];
            let failure = by_rings.entry(rings).or_insert_with(|| Failure {
                cause: Cause::Link {
                    from: link.from,
                    to: link.to,
                },
                rings: rings.iter().copied().collect(),
                components: 0,
            });
            failure.components += 1;
        }
        let links = by_rings.into_values();
        let nodes = self.live_nodes().iter().map(|&node| {
            let rings = self
                .links_from(node)
                .map(|link| self.links()[link as usize].ring);
            Failure {
                cause: Cause::Node(node),
                rings: rings.filter(|&ring| self.is_in_service(ring)).collect(),
                components: 1,
            }
        });
        links.chain(nodes).collect()
    }
}

/// Return the number of unordered pairs of `count` elements.
pub fn pair_count(count: u32) -> u64 {
    u64::from(count) * u64::from(count.saturating_sub(1)) / 2
}

/// Return the pair with this number in the order (0, 1), (0, 2), (1, 2), (0, 3), ...: pairs are
/// sorted by their larger, then by their smaller element.
pub fn pair(number: u64) -> (u32, u32) {
    let before = |second: u64| second * second.saturating_sub(1) / 2;
    // The square root may be off by one, since its argument may have more bits than a
    // floating-point number.
    let mut second = ((8.0 * number as f64 + 1.0).sqrt() / 2.0 + 0.5) as u64;
    while before(second) > number {
        second -= 1;
    }
    while before(second + 1) <= number {
        second += 1;
    }
    ((number - before(second)) as u32, second as u32)
}

/// Return `samples` different pairs of `count` elements, in the order of [`pair`]. All sets of
/// pairs have the same probability. If no more than `samples` pairs exist, the function returns all
/// of them.
///
/// `below(n)` must return a number below n, uniformly distributed (Floyd's algorithm: Bentley,
/// *Programming Pearls*, Comm. ACM 30 no. 9, 1987).
pub fn sample_pairs(
    count: u32,
    samples: u64,
    mut below: impl FnMut(u64) -> u64,
) -> Vec<(u32, u32)> {
    let total = pair_count(count);
    if samples >= total {
        return (0..total).map(pair).collect();
    }
    let mut chosen = BTreeSet::new();
    for last in total - samples..total {
        let number = below(last + 1);
        if !chosen.insert(number) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().map(pair).collect()
}
