//! What the traffic asks of each link, computed from the routing rule: probabilities over ties, no
//! sampling and no closed forms.

use super::Routes;
use super::flows::Flow;
use super::grid::Grid;
use super::table::Stretch;

/// Expected use of one link, or of the interface from which it leaves, per packet of the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkUse {
    /// Crossings by send packets.
    pub sends: f64,
    /// Crossings by echo packets: each goes on from where its send packet left the ring to where
    /// that had entered it.
    pub echoes: f64,
    /// Send packets that enter the ring here, from the client or from another ring.
    pub starts: f64,
    /// Those of them from the client.
    pub entries: f64,
    /// Send packets that leave the ring here, for the client or for another ring.
    pub ends: f64,
}

/// What a packet of the traffic asks of the fabric on average.
#[derive(Debug, Clone, PartialEq)]
pub struct Averages {
    /// By number of the link.
    pub links: Vec<LinkUse>,
    /// Links that it crosses.
    pub mean_links: f64,
    /// Changes of ring on its way.
    pub mean_changes: f64,
    /// Probability of each number of links, from 0.
    pub distances: Vec<f64>,
}

impl Routes {
    /// Averages over traffic in which `weight(source, destination)` is in proportion to the number
    /// of packets between two live nodes; it is asked once for every ordered pair of different ones
    /// and must give a finite number, 0 or more. All averages are 0 when all weights are.
    ///
    /// Takes time in the number of pairs times the length of a ring; for rules that draw among many
    /// paths, times the interfaces of a node as well.
    pub fn averages(&self, mut weight: impl FnMut(u32, u32) -> f64) -> Averages {
        let mut sums = Sums::new(self);
        let Sums {
            links,
            distances,
            total,
        } = &mut sums;
        self.visit(
            |source, destination| {
                let weight = weight(source, destination);
                let distance = self.distance(source, destination) as usize;
                add(distances, distance, weight);
                *total += weight;
                weight
            },
            |flow| count(self, links, flow),
        );
        sums.averages()
    }

    /// Averages over traffic from every live node to every other one alike.
    ///
    /// On a torus without faults all nodes are alike, and it takes time in the number of nodes times the
    /// length of a ring; else that of [`averages`](Self::averages).
    pub fn uniform_averages(&self) -> Averages {
        match self.symmetric() {
            Some(grid) => self.symmetric_averages(grid),
            None => self.averages(|_, _| 1.0),
        }
    }

    /// What a link carries in all is what all links of its class carry of the traffic to one node.
    fn symmetric_averages(&self, grid: &Grid) -> Averages {
        let mut sums = Sums::new(self);
        let nodes = f64::from(self.fabric().node_count());
        for source in 1..self.fabric().node_count() {
            let distance = self.distance(source, 0) as usize;
            add(&mut sums.distances, distance, nodes);
            sums.total += nodes;
        }
        self.visit_to(0, |_, _| 1.0, |flow| count(self, &mut sums.links, flow));
        let classes = self.link_classes(grid);
        let mut of_class =
            vec![LinkUse::default(); classes.iter().max().map_or(0, |last| last + 1)];
        for (link, &class) in sums.links.iter().zip(&classes) {
            of_class[class].add(link);
        }
        for (link, class) in sums.links.iter_mut().zip(classes) {
            *link = of_class[class];
        }
        sums.averages()
    }
}

/// What a flow asks of the links.
fn count(routes: &Routes, links: &mut [LinkUse], flow: Flow) {
    let fabric = routes.fabric();
    let Stretch {
        first,
        hops,
        beyond,
        ..
    } = flow.stretch;
    let start = &mut links[first as usize];
    start.starts += flow.amount;
    if flow.from.is_none() {
        start.entries += flow.amount;
    }
    links[beyond as usize].ends += flow.amount;
    let mut link = first;
    for _ in 0..hops {
        links[link as usize].sends += flow.amount;
        link = fabric.links()[link as usize].next;
    }
    while link != first {
        links[link as usize].echoes += flow.amount;
        link = fabric.links()[link as usize].next;
    }
}

/// Adds to an entry that may lie beyond the end.
fn add(distances: &mut Vec<f64>, distance: usize, amount: f64) {
    if distances.len() <= distance {
        distances.resize(distance + 1, 0.0);
    }
    distances[distance] += amount;
}

/// Sums over traffic before they are shares of it.
struct Sums {
    links: Vec<LinkUse>,
    distances: Vec<f64>,
    total: f64,
}

impl Sums {
    fn new(routes: &Routes) -> Self {
        Self {
            links: vec![LinkUse::default(); routes.fabric().links().len()],
            distances: Vec::new(),
            total: 0.0,
        }
    }

    fn averages(self) -> Averages {
        let Self {
            mut links,
            mut distances,
            total,
        } = self;
        let share = |amount: &mut f64| *amount = if total > 0.0 { *amount / total } else { 0.0 };
        links.iter_mut().flat_map(LinkUse::amounts).for_each(share);
        distances.iter_mut().for_each(share);
        let lengths = (0u32..).zip(&distances);
        Averages {
            mean_links: lengths
                .map(|(length, share)| f64::from(length) * share)
                .sum(),
            mean_changes: links.iter().map(|link| link.starts - link.entries).sum(),
            links,
            distances,
        }
    }
}

impl LinkUse {
    fn amounts(&mut self) -> [&mut f64; 5] {
        let Self {
            sends,
            echoes,
            starts,
            entries,
            ends,
        } = self;
        [sends, echoes, starts, entries, ends]
    }

    fn add(&mut self, other: &Self) {
        let mut other = *other;
        for (sum, amount) in self.amounts().into_iter().zip(other.amounts()) {
            *sum += *amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fabric, Routing, Shape};
    use super::*;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-12 * one.abs().max(1e-12)
    }

    /// The short way over all tori and rules where it is taken against all pairs one by one. Amounts of
    /// dimension order and of fixed routes are halves of halves, so their sums are the same to the bit.
    #[test]
    fn the_traffic_to_one_node_tells_that_to_all() {
        let shapes = [
            Shape::Ring { nodes: 7 },
            Shape::CounterRotating { nodes: 6 },
            Shape::Torus { sizes: vec![3, 5] },
            Shape::Torus {
                sizes: vec![2, 3, 4],
            },
            Shape::BidirectionalTorus { sizes: vec![4, 6] },
            Shape::BidirectionalTorus { sizes: vec![2, 5] },
            Shape::BidirectionalTorus {
                sizes: vec![3, 4, 2],
            },
            Shape::UniformRingTorus { sizes: [4, 4] },
            Shape::UniformRingTorus { sizes: [3, 5] },
        ];
        let rules = [
            Routing::DimensionOrder,
            Routing::Fixed,
            Routing::Random,
            Routing::FewestChanges,
        ];
        let (mut compared, mut cycles) = (0, 0);
        for shape in &shapes {
            for routing in rules {
                let fabric = Fabric::new(shape).unwrap();
                let routes = Routes::new(&fabric, routing).unwrap();
                if routes.symmetric().is_none() {
                    continue;
                }
                let (short, long) = (routes.uniform_averages(), routes.averages(|_, _| 1.0));
                if [Routing::DimensionOrder, Routing::Fixed].contains(&routing) {
                    assert_eq!(short, long, "{shape:?} {routing:?}");
                }
                assert_eq!(short.distances, long.distances);
                for (mut one, mut other) in short.links.into_iter().zip(long.links) {
                    let mut pairs = one.amounts().into_iter().zip(other.amounts());
                    assert!(
                        pairs.all(|(one, other)| close(*one, *other)),
                        "{shape:?} {routing:?}"
                    );
                }
                let waiting = routes.check_waiting();
                assert_eq!(
                    waiting,
                    routes.check_waiting_of_pairs(),
                    "{shape:?} {routing:?}"
                );
                cycles += u32::from(waiting.is_err());
                compared += 1;
            }
        }
        assert_eq!(compared, 7 * 4 + 2);
        assert!(cycles > 5, "{cycles} with circles");
    }

    /// 16,384 nodes: all pairs of them would take minutes.
    #[test]
    fn the_largest_tori_are_described_at_once() {
        for shape in [
            Shape::BidirectionalTorus {
                sizes: vec![128, 128],
            },
            Shape::UniformRingTorus { sizes: [128, 128] },
        ] {
            let fabric = Fabric::new(&shape).unwrap();
            let routes = Routes::new(&fabric, Routing::DimensionOrder).unwrap();
            // A mean of 32 links along each dimension over all ordered pairs, those of a node and itself
            // included, which uniform traffic leaves out.
            let mean = 64.0 * 16_384.0 / 16_383.0;
            assert!(close(routes.uniform_averages().mean_links, mean));
            let waiting = routes.check_waiting();
            assert_eq!(
                waiting.is_ok(),
                matches!(shape, Shape::BidirectionalTorus { .. })
            );
        }
    }
}
