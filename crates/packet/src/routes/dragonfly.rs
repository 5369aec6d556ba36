//! Routes of packets through a network with dragonfly topology.

use super::{End, Header, LocalView, Routes, Run, pick};
use isthmus_kernel::Cycles;
use isthmus_topology::{self as topology, Wiring};
use std::sync::Arc;
use strum::{EnumString, VariantNames};

/// Routing of packets through a dragonfly (Kim, Dally, Scott and Abts, ISCA 2008, section 4).
/// Packets within a group always take the one link between their routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Routing {
    /// A packet takes one of the links between the source group and the destination group.
    #[default]
    Minimal,
    /// A packet passes through a random third group. With two groups only, it takes a minimal
    /// route.
    Valiant,
    /// A packet passes through a random third group if that seems faster at injection (UGAL-L of
    /// the paper). The criterion is the queue of the first link of a route, times the number of
    /// links of the route: the third group is chosen if this product is smaller than for the
    /// minimal route. The queue of a link is its occupied and waiting bytes. If several links join
    /// two groups, the link with the smallest product counts, even if the packet then takes another
    /// one.
    Ugal,
}

/// Network with dragonfly topology, and the routing method of its packets.
///
/// A packet leaves its group over a link of its current router to the next group, if there is one;
/// otherwise over such a link of another router of the group. The class of channels is the number of groups that the
/// packet has left. It rises along every route, within a group after the global link to it, so that
/// no cycle of waiting can close (section 4.2). The state of a header is the group to pass through.
#[derive(Debug, Clone)]
pub struct Dragonfly {
    shape: topology::Dragonfly,
    wiring: Arc<Wiring>,
    routing: Routing,
    /// For each pair of groups, the links from routers of the first to routers of the second.
    global: Vec<GlobalLink>,
    /// Propagation delay of a link within a group and of a link between groups, in ticks.
    lengths: [Cycles; 2],
    routers: Vec<Router>,
    /// For each node, the router to which it is attached.
    node_routers: Vec<u32>,
}

/// A router: its group, and its first outgoing link.
#[derive(Debug, Clone, Copy)]
struct Router {
    group: u32,
    /// The first link out of the router.
    first: u32,
}

/// A link between two groups, and the routers at its ends.
#[derive(Debug, Clone, Copy, Default)]
struct GlobalLink {
    link: u32,
    /// Router at which the link starts.
    from: u32,
    /// Router at which the link ends.
    to: u32,
}

/// Route state of a packet that passes through no third group; the numbers of groups are smaller.
const NONE: u16 = u16::MAX;

impl Dragonfly {
    /// Build a dragonfly of this shape. The propagation delay of a link is `local` ticks within a
    /// group and `global` ticks between groups.
    pub fn new(
        shape: &topology::Dragonfly,
        routing: Routing,
        local: Cycles,
        global: Cycles,
    ) -> Self {
        let (groups, links) = (shape.groups(), shape.links());
        let wiring = shape.wiring();
        let nodes = shape.node_count();
        let mut table = vec![GlobalLink::default(); (groups * groups * links) as usize];
        let index = |a: u32, b: u32, link: u32| ((a * groups + b) * links + link) as usize;
        // Find the cables between groups, which have the highest numbers of all cables.
        let cables = wiring.link_count() / 2;
        let mut cable = (cables - groups * (groups - 1) / 2 * links) as usize;
        for a in 0..groups {
            for b in a + 1..groups {
                for number in 0..links {
                    let link = wiring.forward(cable);
                    let back = wiring.reverse(link);
                    let (from, to) = (wiring.target(back) - nodes, wiring.target(link) - nodes);
                    table[index(a, b, number)] = GlobalLink { link, from, to };
                    table[index(b, a, number)] = GlobalLink {
                        link: back,
                        from: to,
                        to: from,
                    };
                    cable += 1;
                }
            }
        }
        let routers = (0..shape.router_count()).map(|router| Router {
            group: router / shape.routers(),
            first: wiring.out_of(nodes + router).start,
        });
        Self {
            shape: *shape,
            routing,
            global: table,
            lengths: [local, global],
            routers: routers.collect(),
            node_routers: (0..nodes).map(|node| node / shape.nodes()).collect(),
            wiring: Arc::new(wiring),
        }
    }

    /// Return the nodes, routers and links of the network.
    pub fn wiring(&self) -> &Arc<Wiring> {
        &self.wiring
    }

    /// Return the group of a router.
    #[inline]
    fn group(&self, router: u32) -> u32 {
        self.routers[router as usize].group
    }

    /// Return the router to which a node is attached.
    #[inline]
    fn router(&self, node: u32) -> u32 {
        self.node_routers[node as usize]
    }

    /// Return the number of the link from a router to another router of its group.
    #[inline]
    fn local(&self, from: u32, to: u32) -> u32 {
        let Router { group, first } = self.routers[from as usize];
        let index = to - group * self.shape.routers() - u32::from(to > from);
        first + self.shape.nodes() + index
    }

    /// Return the links between routers of two groups that lead from the first group to the second.
    #[inline]
    fn global(&self, from: u32, to: u32) -> &[GlobalLink] {
        let (groups, links) = (self.shape.groups(), self.shape.links());
        let begin = ((from * groups + to) * links) as usize;
        &self.global[begin..begin + links as usize]
    }

    /// Return the link from a router towards another group.
    #[inline]
    fn link_towards(&self, router: u32, group: u32, random: u64) -> u32 {
        let all = self.global(self.group(router), group);
        let own = || all.iter().filter(|global| global.from == router);
        match own().count() {
            0 => self.local(router, all[pick(all.len() as u32, random) as usize].from),
            count => {
                let global = own().nth(pick(count as u32, random) as usize);
                global.map_or(0, |global| global.link)
            }
        }
    }

    /// Return a random group that is neither `a` nor `b`; `None` if there are only two groups.
    fn third_group(&self, [a, b]: [u32; 2], random: u64) -> Option<u32> {
        let others = self.shape.groups().checked_sub(2).filter(|&n| n > 0)?;
        let third = pick(others, random);
        let third = third + u32::from(third >= a.min(b));
        Some(third + u32::from(third >= a.max(b)))
    }

    /// Return the lowest cost of the routes from a router to another via the given groups. The cost
    /// of a route is the queue of its first link times its number of links.
    fn cost(&self, from: u32, to: u32, groups: &[u32], view: &impl LocalView) -> u64 {
        let Some((&group, rest)) = groups.split_first() else {
            return 0;
        };
        let costs = self.global(self.group(from), group).iter().map(|global| {
            let first = match global.from == from {
                true => global.link,
                false => self.local(from, global.from),
            };
            let links = u64::from(global.from != from) + 1 + self.hops(global.to, to, rest);
            (view.occupied(first) + view.waiting(first)) * links
        });
        costs.min().unwrap_or(0)
    }

    /// Return the number of links of the shortest route from a router to another via the given
    /// groups.
    fn hops(&self, from: u32, to: u32, groups: &[u32]) -> u64 {
        let Some((&group, rest)) = groups.split_first() else {
            return u64::from(from != to);
        };
        let routes = self
            .global(self.group(from), group)
            .iter()
            .map(|global| u64::from(global.from != from) + 1 + self.hops(global.to, to, rest));
        routes.min().unwrap_or(0)
    }
}

impl Routes for Dragonfly {
    /// Return the number of nodes.
    fn node_count(&self) -> u32 {
        self.wiring.node_count()
    }

    /// Return the number of links.
    fn link_count(&self) -> u32 {
        self.wiring.link_count()
    }

    /// Return the number of links of the longest route from node to node.
    fn longest_route(&self) -> u32 {
        match self.routing {
            Routing::Minimal => 5,
            Routing::Valiant | Routing::Ugal => 7,
        }
    }

    /// Return the vertex and port to which a link leads.
    fn end(&self, link: u32) -> End {
        End::of(&self.wiring, link)
    }

    /// Return the propagation delay of a link in ticks: 0 for a link of a node.
    fn length(&self, link: u32) -> Cycles {
        let nodes = self.node_count();
        let ends = [link, self.wiring.reverse(link)];
        let [a, b] = ends.map(|link| self.wiring.target(link).checked_sub(nodes));
        match (a, b) {
            (Some(a), Some(b)) => self.lengths[usize::from(self.group(a) != self.group(b))],
            _ => 0,
        }
    }

    /// Return the number of classes of virtual channels: one for each group that a route can visit.
    fn classes(&self) -> u32 {
        let most = match self.routing {
            Routing::Minimal => 2,
            Routing::Valiant | Routing::Ugal => 3,
        };
        // A packet has another class in each group that it visits, so there are no more classes
        // than groups.
        most.min(self.shape.groups())
    }

    /// Return the runs (sets of equivalent links) out of routers, each with the number of ports of
    /// its router. In a dragonfly each link is a run by itself.
    fn runs(&self) -> impl Iterator<Item = (Run, u32)> {
        let nodes = self.node_count();
        let switches = nodes..nodes + self.wiring.switch_count();
        switches.flat_map(|switch| {
            let out = self.wiring.out_of(switch);
            let ports = out.end - out.start;
            out.map(move |link| (Run::one(link), ports))
        })
    }

    /// Return the single link out of a node.
    fn node_links(&self, node: u32) -> Run {
        Run::one(node)
    }

    /// Return the route state of a packet that passes through no third group.
    fn initial_state(&self, _from: u32, _to: u32) -> u16 {
        NONE
    }

    /// Return the link over which a packet leaves its source node.
    #[inline]
    fn first_links(&self, header: &mut Header, _random: impl FnOnce() -> u64) -> Run {
        self.node_links(header.from)
    }

    /// Return the third group that a packet passes through, or `NONE` for a minimal route.
    fn choose_route(
        &self,
        header: &Header,
        view: &impl LocalView,
        random: impl FnOnce() -> u64,
    ) -> u16 {
        let [from, to] = [header.from, header.to].map(|node| self.router(node));
        let ends = [self.group(from), self.group(to)];
        if self.routing == Routing::Minimal || ends[0] == ends[1] {
            return NONE;
        }
        let Some(third) = self.third_group(ends, random()) else {
            return NONE;
        };
        let cost = |groups: &[u32]| self.cost(from, to, groups, view);
        if self.routing == Routing::Valiant || cost(&[ends[1]]) > cost(&[third, ends[1]]) {
            return third as u16;
        }
        NONE
    }

    /// Return the link that a packet takes from the router at `at`.
    #[inline]
    fn next_links(&self, header: &mut Header, at: End, random: impl FnOnce() -> u64) -> Run {
        let router = at.vertex - self.node_count();
        let group = self.group(router);
        // At a router, ports to nodes come first, then ports within the group, then global ports. A
        // packet that arrives by a global port gets the next class.
        header.class += u16::from(at.port >= self.shape.nodes() + self.shape.routers() - 1);
        if u32::from(header.state) == group {
            header.state = NONE;
        }
        let last = self.router(header.to);
        let next = match header.state {
            NONE => self.group(last),
            third => third.into(),
        };
        Run::one(if next != group {
            self.link_towards(router, next, random())
        } else if router != last {
            self.local(router, last)
        } else {
            header.class = 0;
            self.routers[router as usize].first + header.to - last * self.shape.nodes()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_topology::deadlock::Dependencies;

    /// Load of links for tests: every third link is occupied, from an offset that this number sets.
    struct SomeFull(u32);

    impl LocalView for SomeFull {
        /// Return a load of 100 for every third link, and 0 for the other links.
        fn occupied(&self, link: u32) -> u64 {
            u64::from((link + self.0).is_multiple_of(3)) * 100
        }

        /// Return the same load of waiting packets, 1, for every link.
        fn waiting(&self, _: u32) -> u64 {
            1
        }
    }

    /// Follow a packet through all outcomes of its random choices, and report each route as a list
    /// of links with their classes.
    fn walk(
        routes: &Dragonfly,
        header: Header,
        link: u32,
        so_far: &mut Vec<(u32, u16)>,
        seen: &mut impl FnMut(&[(u32, u16)]),
    ) {
        so_far.push((link, header.class));
        let at = routes.end(link);
        if at.vertex < routes.node_count() {
            assert_eq!(at.vertex, header.to);
            seen(so_far);
        } else {
            // Try evenly spaced random numbers, which together select each of up to four parallel
            // links.
            let mut tried = Vec::new();
            for random in (0..4).map(|part| part << 62) {
                let mut header = header;
                let run = routes.next_links(&mut header, at, || random);
                assert_eq!(run.links, 1);
                if !tried.contains(&run.first) {
                    tried.push(run.first);
                    walk(routes, header, run.first, so_far, seen);
                }
            }
        }
        so_far.pop();
    }

    /// Checks that routes have few links, and that packets on them cannot wait for one another in a
    /// cycle.
    #[test]
    fn routes_are_short_and_free_of_cyclic_waits() {
        for (shape, routing, longest) in [
            ((2, 4, 9, 1), Routing::Minimal, 5),
            ((1, 4, 9, 1), Routing::Ugal, 7),
            ((1, 3, 5, 2), Routing::Minimal, 5),
            ((1, 3, 5, 2), Routing::Valiant, 7),
            ((1, 3, 5, 2), Routing::Ugal, 7),
            ((1, 3, 2, 2), Routing::Ugal, 5),
            ((2, 3, 1, 1), Routing::Ugal, 3),
            // In this shape each router has links to every other group.
            ((1, 2, 4, 4), Routing::Valiant, 5),
        ] {
            let (nodes, routers, groups, links) = shape;
            let shape = topology::Dragonfly::new(nodes, routers, groups, links).unwrap();
            let routes = Dragonfly::new(&shape, routing, 0, 0);
            let classes = routes.classes();
            let channel = |&(link, class): &(u32, u16)| link * classes + u32::from(class);
            let count = (routes.link_count() * classes) as usize;
            let mut dependencies = Dependencies::new(count);
            let (mut most, mut by_third) = (0, [0; 2]);
            let pairs = (0..routes.node_count()).flat_map(|from| {
                let to = 0..routes.node_count();
                to.filter(move |&to| to != from).map(move |to| (from, to))
            });
            for (from, to) in pairs {
                for case in 0..3 * groups {
                    let random = u64::MAX / u64::from(groups) * u64::from(case % groups);
                    let mut header = Header {
                        from,
                        to,
                        links: 0,
                        state: routes.initial_state(from, to),
                        class: 0,
                    };
                    let run = routes.first_links(&mut header, || random);
                    header.state =
                        routes.choose_route(&header, &SomeFull(case / groups), || random);
                    by_third[usize::from(header.state != NONE)] += 1;
                    walk(&routes, header, run.first, &mut Vec::new(), &mut |way| {
                        most = most.max(way.len());
                        assert!(way.iter().all(|&(_, class)| u32::from(class) < classes));
                        dependencies.add_path(way.iter().map(|step| channel(step) as usize));
                    });
                }
            }
            assert_eq!(most, longest, "{shape:?}");
            assert!(dependencies.check().is_ok(), "{routing:?}");
            if routing == Routing::Ugal && groups > 2 {
                assert!(by_third.iter().all(|&count| count > 100), "{by_third:?}");
            }
        }
    }
}
