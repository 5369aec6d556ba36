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
