//! What the traffic asks of each link, computed from the routing rule: probabilities over ties, no
//! sampling and no closed forms.

use super::flows::Flow;
use super::grid::Grid;
use super::results::{Averages, LinkUse};
use super::table::Stretch;
use super::{Fabric, Routes};

impl Routes {
    /// Averages over traffic in which `weight(source, destination)` is in proportion to the number
    /// of packets between two live nodes; it is asked once for every ordered pair of different ones
    /// and must give a finite number, 0 or more. All averages are 0 when all weights are.
    ///
    /// Takes time in the number of pairs; for rules that draw among many paths, times the interfaces
    /// of a node as well.
    pub fn averages(&self, mut weight: impl FnMut(u32, u32) -> f64) -> Averages {
        let mut sums = Sums::default();
        let mut uses = Uses::new(self.fabric());
        self.visit(
            |source, destination| {
                let weight = weight(source, destination);
                let distance = self.distance(source, destination) as usize;
                sums.add(distance, weight);
                weight
            },
            |flow| uses.count(flow),
        );
        sums.averages(uses.of_links())
    }

    /// Averages over traffic from every live node to every other one alike.
    ///
    /// On a torus without faults all nodes are alike, and it takes time in the number of nodes; else that
    /// of [`averages`](Self::averages), once.
    pub fn uniform_averages(&self) -> Averages {
        match self.symmetric() {
            Some(grid) => self.symmetric_averages(grid),
            None => self.pairs().averages.clone(),
        }
    }

    /// What a link carries in all is what all links of its class carry of the traffic to one node.
    fn symmetric_averages(&self, grid: &Grid) -> Averages {
        let mut sums = Sums::default();
        let nodes = f64::from(self.fabric().node_count());
        for source in 1..self.fabric().node_count() {
            let distance = self.distance(source, 0) as usize;
            sums.add(distance, nodes);
        }
        let mut uses = Uses::new(self.fabric());
        self.visit_to(0, |_, _| 1.0, |flow| uses.count(flow));
        let mut links = uses.of_links();
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

/// What flows ask of the links. A flow is noted at both ends of its stretch; what crosses the links in
/// between follows when all are known, so that the length of a ring costs nothing.
pub(super) struct Uses<'a> {
    fabric: &'a Fabric,
    links: Vec<LinkUse>,
    rings: Vec<RingUse>,
}

/// What flows ask of a ring.
#[derive(Clone, Copy, Default)]
struct RingUse {
    /// All stretches on it.
    stretches: f64,
    /// Those that cross its last link.
    around: f64,
}

impl<'a> Uses<'a> {
    pub fn new(fabric: &'a Fabric) -> Self {
        Self {
            fabric,
            links: vec![LinkUse::default(); fabric.links().len()],
            rings: vec![RingUse::default(); fabric.ring_count() as usize],
        }
    }

    pub fn count(&mut self, flow: Flow) {
        let Stretch { first, beyond, .. } = flow.stretch;
        let start = &mut self.links[first as usize];
        start.starts += flow.amount;
        if flow.from.is_none() {
            start.entries += flow.amount;
        }
        self.links[beyond as usize].ends += flow.amount;
        let ring = &mut self.rings[self.fabric.links()[first as usize].ring as usize];
        ring.stretches += flow.amount;
        // Links of a ring are numbered in its order.
        if beyond <= first {
            ring.around += flow.amount;
        }
    }

    /// Each link carries what the link before it carries, less what ends and with what starts between
    /// the two. What does not go over a link as a send packet goes over it as an echo.
    pub fn of_links(mut self) -> Vec<LinkUse> {
        for (ring, (nodes, all)) in (0..).zip(self.fabric.rings().iter().zip(&self.rings)) {
            let first = self.fabric.link(ring, 0) as usize;
            // What rounding leaves where nothing goes.
            let nothing = all.stretches * 1e-12;
            let mut sends = all.around;
            for link in &mut self.links[first..first + nodes.len()] {
                sends += link.starts - link.ends;
                let some = |amount: f64| if amount > nothing { amount } else { 0.0 };
                (link.sends, link.echoes) = (some(sends), some(all.stretches - sends));
            }
        }
        self.links
    }
}

/// Sums over traffic before they are shares of it.
#[derive(Default)]
pub(super) struct Sums {
    distances: Vec<f64>,
    total: f64,
}

impl Sums {
    /// Adds traffic over so many links.
    pub fn add(&mut self, distance: usize, amount: f64) {
        if self.distances.len() <= distance {
            self.distances.resize(distance + 1, 0.0);
        }
        self.distances[distance] += amount;
        self.total += amount;
    }

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
    use super::super::{Fabric, Faults, Routing, Shape};
    use super::*;

    /// What flows ask of the links, link by link along every stretch.
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

    /// Uneven traffic over every shape and rule, whole and with what has failed, against the count along
    /// the links.
    #[test]
    fn ends_of_stretches_tell_what_crosses_each_link() {
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
                    let mut uses = Uses::new(&fabric);
                    routes.visit(
                        |source, destination| f64::from(1 + source % 3 + destination % 2),
                        |flow| uses.count(flow),
                    );
                    for (mut one, mut other) in uses.of_links().into_iter().zip(counted(&routes)) {
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

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-12 * one.abs().max(1e-12)
    }

    /// The short way over all tori and rules where it is taken against all pairs one by one. Amounts of
    /// dimension order and of fixed routes are halves of halves, so their sums are the same to the bit.
    #[test]
    fn the_traffic_to_one_node_gives_that_to_all() {
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
