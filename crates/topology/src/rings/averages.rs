//! Mean load of each link, computed from the routing rule with exact probabilities of random choices, without sampling.

use super::flows::Flow;
use super::grid::Grid;
use super::results::{Averages, LinkUse};
use super::table::Stretch;
use super::{Fabric, Routes};

impl Routes {
    /// Return averages over traffic in which `weight(source, destination)` is proportional to the number of packets
    /// between two live nodes. The method calls `weight` once for every ordered pair of different nodes; the result
    /// must be a finite number, 0 or more. All averages are 0 if all weights are 0.
    ///
    /// The time is proportional to the number of pairs. For rules that choose among many paths, it is also proportional
    /// to the number of interfaces of a node.
    pub fn averages(&self, mut weight: impl FnMut(u32, u32) -> f64) -> Averages {
        let mut sums = Sums::default();
        let mut uses = LinkLoads::new(self.fabric());
        self.visit(
            |source, destination| {
                let weight = weight(source, destination);
                let distance = self.distance(source, destination) as usize;
                sums.add(distance, weight);
                weight
            },
            |flow| uses.record(flow),
        );
        sums.averages(uses.into_links())
    }

    /// Return averages over uniform traffic between all live nodes.
    ///
    /// On a torus without faults all nodes are equivalent, and the time is proportional to the number of nodes.
    /// Otherwise the time is that of [`averages`](Self::averages) for the first call; later calls return the stored
    /// result.
    pub fn uniform_averages(&self) -> Averages {
        match self.symmetric() {
            Some(grid) => self.symmetric_averages(grid),
            None => self.pairs().averages.clone(),
        }
    }

    /// Compute the averages from the traffic to one node. The load of each link is the sum over all links that are
    /// equivalent to it.
    fn symmetric_averages(&self, grid: &Grid) -> Averages {
        let mut sums = Sums::default();
        let nodes = f64::from(self.fabric().node_count());
        for source in 1..self.fabric().node_count() {
            let distance = self.distance(source, 0) as usize;
            sums.add(distance, nodes);
        }
        let mut uses = LinkLoads::new(self.fabric());
        self.visit_to(0, |_, _| 1.0, |flow| uses.record(flow));
        let mut links = uses.into_links();
        let classes = self.link_classes(grid);
        let mut of_class =
            vec![LinkUse::default(); classes.iter().max().map_or(0, |last| last + 1)];
        for (link, &class) in links.iter().zip(&classes) {
            of_class[class].add(link);
        }
        for (link, class) in links.iter_mut().zip(classes) {
            *link = of_class[class];
        }
        sums.averages(links)
    }
}

/// Accumulated loads of the links. A flow is recorded only at both ends of its segment. The load of the links in
/// between is computed afterwards, so the cost does not depend on the length of a ring.
pub(super) struct LinkLoads<'a> {
    fabric: &'a Fabric,
    links: Vec<LinkUse>,
    rings: Vec<RingLoad>,
}

/// Traffic on one ring, summed over its segments.
#[derive(Clone, Copy, Default)]
struct RingLoad {
    /// Traffic of all segments on the ring.
    stretches: f64,
    /// Traffic of the segments that cross the last link in the list of the ring's links.
    across_last_link: f64,
}

impl<'a> LinkLoads<'a> {
    /// Return an accumulator with a load of zero for all links of a fabric.
    pub fn new(fabric: &'a Fabric) -> Self {
        Self {
            fabric,
            links: vec![LinkUse::default(); fabric.links().len()],
            rings: vec![RingLoad::default(); fabric.ring_count() as usize],
        }
    }

    /// Add the traffic of one segment.
    pub fn record(&mut self, flow: Flow) {
        let Stretch { first, beyond, .. } = flow.stretch;
        let start = &mut self.links[first as usize];
        start.starts += flow.amount;
        if flow.from.is_none() {
            start.entries += flow.amount;
        }
        self.links[beyond as usize].ends += flow.amount;
        let ring = &mut self.rings[self.fabric.links()[first as usize].ring as usize];
        ring.stretches += flow.amount;
        // Packets cross the links of a ring in ascending order, so this segment crosses the last link of its ring.
        if beyond <= first {
            ring.across_last_link += flow.amount;
        }
    }

    /// Return the load of each link: that of the previous link of the ring, minus the flows that end and plus the flows
    /// that start between the two. A packet crosses the other links of the ring as an echo.
    pub fn into_links(mut self) -> Vec<LinkUse> {
        for (ring, (nodes, all)) in (0..).zip(self.fabric.rings().iter().zip(&self.rings)) {
            let first = self.fabric.link(ring, 0) as usize;
            // Loads below this limit are rounding errors on unused links, and are set to 0.
            let nothing = all.stretches * 1e-12;
            let mut sends = all.across_last_link;
            for link in &mut self.links[first..first + nodes.len()] {
                sends += link.starts - link.ends;
                let some = |amount: f64| if amount > nothing { amount } else { 0.0 };
                (link.sends, link.echoes) = (some(sends), some(all.stretches - sends));
            }
        }
        self.links
    }
}

/// Sums over the paths of packets: traffic by path length, and total traffic. A division by the total gives averages.
#[derive(Default)]
pub(super) struct Sums {
    distances: Vec<f64>,
    total: f64,
}

impl Sums {
    /// Add traffic that crosses `distance` links.
    pub fn add(&mut self, distance: usize, amount: f64) {
        if self.distances.len() <= distance {
            self.distances.resize(distance + 1, 0.0);
        }
        self.distances[distance] += amount;
        self.total += amount;
    }

    /// Divide all sums, and the loads in `links`, by the total traffic.
    pub fn averages(self, mut links: Vec<LinkUse>) -> Averages {
        let Self {
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
    /// Return mutable references to all five loads of the link.
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

    /// Add the loads of another link.
    fn add(&mut self, other: &Self) {
        let mut other = *other;
        for (sum, amount) in self.amounts().into_iter().zip(other.amounts()) {
            *sum += *amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fabric, Faults, Routing, Shape};
    use super::*;

    /// Return the load of the links, counted link by link along every segment.
    fn counted(routes: &Routes) -> Vec<LinkUse> {
        let all = routes.fabric().links();
        let mut links = vec![LinkUse::default(); all.len()];
        routes.visit(
            |source, destination| f64::from(1 + source % 3 + destination % 2),
            |flow| {
                let Stretch { first, hops, .. } = flow.stretch;
                links[first as usize].starts += flow.amount;
                if flow.from.is_none() {
                    links[first as usize].entries += flow.amount;
                }
                let mut link = first;
                for _ in 0..hops {
                    links[link as usize].sends += flow.amount;
                    link = all[link as usize].next;
                }
                links[link as usize].ends += flow.amount;
                while link != first {
                    links[link as usize].echoes += flow.amount;
                    link = all[link as usize].next;
                }
            },
        );
        links
    }

    /// Checks link loads under uneven traffic against a count link by link, for every shape and routing rule, with and
    /// without faults.
    #[test]
    fn link_loads_follow_from_segment_ends() {
        let shapes = [
            Shape::Ring { nodes: 7 },
            Shape::CounterRotating { nodes: 6 },
            Shape::Manhattan { sizes: [4, 6] },
            Shape::Torus { sizes: vec![3, 5] },
            Shape::BidirectionalTorus { sizes: vec![4, 3] },
            Shape::UniformRingTorus { sizes: [4, 4] },
        ];
        let rules = [
            Routing::DimensionOrder,
            Routing::Fixed,
            Routing::Random,
            Routing::FewestChanges,
        ];
        let mut compared = [0, 0];
        for shape in &shapes {
            let whole = Fabric::new(shape).unwrap();
            let broken = |link: &crate::rings::Link| {
                let links = vec![(link.from, link.to)];
                let nodes = Vec::new();
                whole.with_faults(&Faults { nodes, links }).ok()
            };
            let faulty = whole.links().iter().filter_map(broken);
            for (number, fabric) in std::iter::once(whole.clone()).chain(faulty).enumerate() {
                for routing in rules {
                    let Ok(routes) = Routes::new(&fabric, routing) else {
                        continue;
                    };
                    let mut uses = LinkLoads::new(&fabric);
                    routes.visit(
                        |source, destination| f64::from(1 + source % 3 + destination % 2),
                        |flow| uses.record(flow),
                    );
                    for (mut one, mut other) in uses.into_links().into_iter().zip(counted(&routes))
                    {
                        for (one, other) in one.amounts().into_iter().zip(other.amounts()) {
                            assert!(close(*one, *other), "{shape:?} {routing:?}: {one} {other}");
                        }
                    }
                    compared[usize::from(number > 0)] += 1;
                }
            }
        }
        assert!(compared[0] >= 20 && compared[1] >= 200, "{compared:?}");
    }

    /// Return whether two numbers are equal up to rounding errors.
    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-12 * one.abs().max(1e-12)
    }

    /// Checks that the averages from the traffic to one node equal those over all pairs, on all tori and rules for
    /// which this fast computation exists. Under dimension order and fixed routes all loads are sums of powers of 1/2,
    /// so they must be equal to the bit.
    #[test]
    fn the_traffic_to_one_node_determines_all() {
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
                assert_eq!(long, routes.pairs().averages, "{shape:?} {routing:?}");
                for (mut one, mut other) in short.links.into_iter().zip(long.links) {
                    let mut pairs = one.amounts().into_iter().zip(other.amounts());
                    assert!(
                        pairs.all(|(one, other)| close(*one, *other)),
                        "{shape:?} {routing:?}"
                    );
                }
                let waiting = routes.check_waiting();
                assert_eq!(waiting, routes.pairs().waiting, "{shape:?} {routing:?}");
                cycles += u32::from(waiting.is_err());
                compared += 1;
            }
        }
        assert_eq!(compared, 7 * 4 + 2);
        assert!(cycles > 5, "{cycles} with circles");
    }

    /// Checks that averages over uniform traffic on large tori take a short time. Uses 16,384 nodes, for which a
    /// computation over all pairs would take minutes.
    #[test]
    fn the_largest_tori_are_fast() {
        for shape in [
            Shape::BidirectionalTorus {
                sizes: vec![128, 128],
            },
            Shape::UniformRingTorus { sizes: [128, 128] },
        ] {
            let fabric = Fabric::new(&shape).unwrap();
            let routes = Routes::new(&fabric, Routing::DimensionOrder).unwrap();
            // The mean distance is 32 + 32 links if a node may send to itself. Uniform traffic excludes this, so the
            // sum over 16,384 destinations is divided by 16,383.
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
