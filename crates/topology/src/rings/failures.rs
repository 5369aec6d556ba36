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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rings::Shape;

    /// Return a fabric of this shape without faults.
    fn fabric(shape: Shape) -> Fabric {
        Fabric::new(&shape).unwrap()
    }

    /// Checks that the list of single failures has one failure for all links of a ring, and one for
    /// each node.
    #[test]
    fn the_links_of_a_ring_are_one_event() {
        let torus = fabric(Shape::BidirectionalTorus { sizes: vec![4, 3] });
        let failures = torus.single_failures();
        // The torus has 2 * 3 rings along x, 2 * 4 rings along y, and 12 nodes.
        assert_eq!(failures.len(), 6 + 8 + 12);
        let components: u32 = failures.iter().map(|failure| failure.components).sum();
        assert_eq!(components, 4 * 12 + 12);
        for failure in &failures {
            let faulted = torus.with_faults(&failure.faults()).unwrap();
            let stopped: Vec<_> = faulted.rings_out_of_service().collect();
            assert_eq!(stopped, failure.rings, "{failure}");
        }
        assert_eq!(failures[0].to_string(), "link 0-1 (stops ring 0)");
        let last = &failures[25];
        assert_eq!(last.to_string(), "node 11 (stops rings 4, 5, 12, 13)");
    }

    /// Checks that two rings between the same two nodes are listed as one failure, since they have
    /// the same links.
    #[test]
    fn rings_between_the_same_two_nodes_stop_together() {
        let rings = fabric(Shape::CounterRotating { nodes: 2 });
        let failures = rings.single_failures();
        assert_eq!(failures.len(), 1 + 2);
        assert_eq!(
            (&failures[0].rings[..], failures[0].components),
            (&[0, 1][..], 4)
        );
    }

    /// Checks that the failures of a fabric with faults leave out the parts that have already
    /// failed.
    #[test]
    fn failed_parts_do_not_fail_again() {
        let torus = fabric(Shape::UniformRingTorus { sizes: [3, 3] });
        let first = &torus.single_failures()[9];
        assert_eq!((first.cause, first.rings.len()), (Cause::Node(0), 4));
        let faulted = torus.with_faults(&first.faults()).unwrap();
        let further = faulted.single_failures();
        assert_eq!(further.len(), 5 + 8);
        let twice = faulted.with_faults(&further[0].faults()).unwrap();
        let both = first.faults().union(&further[0].faults());
        assert_eq!(twice, torus.with_faults(&both).unwrap());
    }

    /// Checks that the numbering of unordered pairs covers all pairs without gaps.
    #[test]
    fn pairs_are_numbered_without_gaps() {
        let mut number = 0;
        for second in 1..200 {
            for first in 0..second {
                assert_eq!(pair(number), (first, second));
                number += 1;
            }
        }
        assert_eq!(pair_count(200), number);
        let last = pair_count(u32::MAX) - 1;
        assert_eq!(pair(last), (u32::MAX - 2, u32::MAX - 1));
        assert_eq!((pair_count(0), pair_count(1)), (0, 0));
    }

    /// Checks that a random sample contains different pairs, and all pairs if it is large enough.
    #[test]
    fn sampled_pairs_differ_and_may_be_all() {
        let mut state = 1u64;
        let mut below = |limit| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % limit
        };
        let sample = sample_pairs(30, 100, &mut below);
        assert_eq!(sample.len(), 100);
        let distinct: BTreeSet<_> = sample.iter().collect();
        assert_eq!(distinct.len(), 100);
        assert!(
            sample
                .iter()
                .all(|&(first, second)| first < second && second < 30)
        );
        assert_eq!(sample_pairs(5, 10, &mut below).len(), 10);
        assert_eq!(sample_pairs(5, 99, |_| unreachable!()).len(), 10);
        assert_eq!(sample_pairs(1, 1, |_| unreachable!()), []);
    }
}
