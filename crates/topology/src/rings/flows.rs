//! Distribution of traffic over the paths that a routing rule permits.

use super::routes::Method;
use super::table::{Paths, Row, Rule, Stretch};
use super::{Fabric, Routes, Segment};

/// One segment of a path, with the amount of traffic on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub stretch: Stretch,
    /// Interface through which the packets left the previous ring, as the number of its link; `None` if they come
    /// from the client of the node.
    pub from: Option<u32>,
    /// Amount of traffic on the segment.
    pub amount: f64,
}

impl Routes {
    /// Call `visit` with all segments of all paths that the rule permits between live nodes. The
    /// traffic on each segment is the weight of its pair of nodes times the probability of its
    /// path. A segment may be visited more than once.
    pub(super) fn visit(
        &self,
        mut weight: impl FnMut(u32, u32) -> f64,
        mut visit: impl FnMut(Flow),
    ) {
        let mut work = Buffers::new(self.fabric());
        for &destination in self.fabric().live_nodes() {
            self.visit_with(&mut work, destination, &mut weight, &mut visit);
        }
    }

    /// Call `visit` with all segments of the paths to the live node `destination`.
    pub(super) fn visit_to(
        &self,
        destination: u32,
        mut weight: impl FnMut(u32, u32) -> f64,
        mut visit: impl FnMut(Flow),
    ) {
        let mut work = Buffers::new(self.fabric());
        self.visit_with(&mut work, destination, &mut weight, &mut visit);
    }

    /// Call `visit` with all segments of the paths to `destination`, with existing buffers.
    fn visit_with(
        &self,
        work: &mut Buffers,
        destination: u32,
        weight: &mut impl FnMut(u32, u32) -> f64,
        visit: &mut impl FnMut(Flow),
    ) {
        let fabric = self.fabric();
        let Buffers { row, traffic, path } = work;
        let mut any = false;
        for &source in fabric.live_nodes() {
            if source == destination {
                continue;
            }
            let weight = weight(source, destination);
            if weight > 0.0 && !self.visit_dimensions(source, destination, weight, path, visit) {
                traffic.starting[source as usize] = weight;
                any = true;
            }
        }
        if any {
            let rule = Rule::of(self.routing());
            row.fill(fabric, rule, destination)
                .expect("floating-point numbers count all paths that tori and tables have");
            traffic.route_all(&row.order, row.paths(fabric, rule), visit);
        }
    }

    /// Return whether the pair is routed dimension by dimension. If it is, call `visit` with the
    /// segments of its paths.
    fn visit_dimensions(
        &self,
        source: u32,
        destination: u32,
        weight: f64,
        path: &mut Vec<Segment>,
        visit: &mut impl FnMut(Flow),
    ) -> bool {
        let grid = match self.method() {
            Method::Arithmetic(grid) if self.dimension_order() => grid,
            Method::Mixed(grid, _) => grid,
            _ => return false,
        };
        // Visit all outcomes of the random choices, encoded as bits: each choice has two options, and
        // earlier choices do not affect which choices follow.
        let mut choices = 0;
        let mut outcome: u32 = 0;
        loop {
            let mut asked = 0;
            let mut choose = |_| {
                asked += 1;
                outcome >> (asked - 1) & 1
            };
            let works = |ring| self.fabric().is_in_service(ring);
            path.clear();
            let whole = grid.dimension_order(source, destination, works, &mut choose, path);
            if whole.is_none() {
                return false;
            }
            choices = choices.max(asked);
            let amount = weight / f64::from(1u32 << choices);
            visit_path(self.fabric(), source, path, amount, visit);
            outcome += 1;
            if outcome == 1 << choices {
                return true;
            }
        }
    }
}

/// Call `visit` with all segments of one path.
fn visit_path(
    fabric: &Fabric,
    source: u32,
    path: &[Segment],
    amount: f64,
    visit: &mut impl FnMut(Flow),
) {
    let mut node = source;
    let mut from = None;
    for segment in path {
        let first = fabric
            .link_on(node, segment.ring)
            .expect("a path enters a ring at one of its nodes");
        let beyond = fabric.link_after(first, segment.hops);
        node = fabric.links()[beyond as usize].from;
        let stretch = Stretch {
            first,
            hops: segment.hops,
            beyond,
            end: node,
        };
        visit(Flow {
            stretch,
            from,
            amount,
        });
        from = Some(beyond);
    }
}

/// Buffers that the visits to all destinations share.
struct Buffers {
    row: Row<f64>,
    traffic: Traffic,
    path: Vec<Segment>,
}

impl Buffers {
    /// Return buffers of the right size for a fabric, all zero.
    fn new(fabric: &Fabric) -> Self {
        Self {
            row: Row::default(),
            traffic: Traffic {
                starting: vec![0.0; fabric.node_count() as usize],
                arrived: vec![0.0; fabric.links().len()],
            },
            path: Vec::new(),
        }
    }
}

/// Traffic on its way to one destination, by the node or interface that it has reached.
struct Traffic {
    /// For each node, the traffic that starts there. All entries are 0 before and after the traffic to one destination
    /// is routed.
    starting: Vec<f64>,
    /// For each ring interface, by the number of its link: traffic that leaves its ring there for another ring. All
    /// entries are 0 before and after the traffic to one destination is routed.
    arrived: Vec<f64>,
}

impl Traffic {
    /// Route the traffic from the farthest nodes to the destination, which is the first node in
    /// `order`.
    fn route_all(&mut self, order: &[u32], paths: Paths<'_, f64>, visit: &mut impl FnMut(Flow)) {
        let fabric = paths.fabric;
        for &node in order[1..].iter().rev() {
            let amount = std::mem::take(&mut self.starting[node as usize]);
            if amount > 0.0 {
                self.divide(&paths, node, None, amount, visit);
            }
            for interface in fabric.links_from(node) {
                let amount = std::mem::take(&mut self.arrived[interface as usize]);
                if amount > 0.0 {
                    self.divide(&paths, node, Some(interface), amount, visit);
                }
            }
        }
        for interface in fabric.links_from(order[0]) {
            self.arrived[interface as usize] = 0.0;
        }
    }

    /// Divide the traffic at a node among the first segments of its remaining paths.
    fn divide(
        &mut self,
        paths: &Paths<'_, f64>,
        node: u32,
        from: Option<u32>,
        amount: f64,
        visit: &mut impl FnMut(Flow),
    ) {
        let mut go = |stretch: Stretch, amount| {
            self.arrived[stretch.beyond as usize] += amount;
            visit(Flow {
                stretch,
                from,
                amount,
            });
        };
        let fabric = paths.fabric;
        match paths.rule() {
            Rule::Fixed => {
                let first = paths.lowest_link(node);
                let mut stretches = paths.stretches(first).peekable();
                while let Some(stretch) = stretches.next() {
                    let on = stretches.peek().is_some();
                    if !on || paths.lowest_link(stretch.end) != stretch.beyond {
                        return go(stretch, amount);
                    }
                }
            }
            Rule::FewestChanges => {
                for first in fabric.links_from(node) {
                    for stretch in paths.best_stretches(node, first) {
                        let share = paths.count(stretch.end) / paths.count(node);
                        go(stretch, amount * share);
                    }
                }
            }
            Rule::Random => {
                let others = paths.count_without(node, from);
                for first in fabric.links_from(node) {
                    if Some(first) == from {
                        continue;
                    }
                    let mut carried = amount;
                    let mut among = others;
                    for stretch in paths.stretches(first) {
                        let here = paths.count(stretch.end);
                        carried *= here / among;
                        among = here;
                        let leaving = match stretch.end == paths.destination() {
                            true => here,
                            false => paths.count_without(stretch.end, Some(stretch.beyond)),
                        };
                        if leaving > 0.0 {
                            go(stretch, carried * (leaving / here));
                        }
                    }
                }
            }
        }
    }
}
