//! A dragonfly, which looks up every link again at each step.

use crate::engine::reference::{Flight, Network, Seen, drawn};
use isthmus_kernel::Cycles;
use isthmus_packet::routes::Routing;
use isthmus_topology::{Dragonfly, Wiring};
use std::ops::Range;

pub struct Groups {
    pub shape: Dragonfly,
    pub wiring: Wiring,
    pub routing: Routing,
    pub lengths: [Cycles; 2],
}

impl Groups {
    /// The router of a vertex; that of a node is the one that it is joined to.
    fn router(&self, vertex: u32) -> u32 {
        match vertex < self.nodes() {
            true => vertex / self.shape.nodes(),
            false => vertex - self.nodes(),
        }
    }

    fn group(&self, router: u32) -> u32 {
        router / self.shape.routers()
    }

    fn is_global(&self, link: u32) -> bool {
        let ends = [link, self.wiring.reverse(link)];
        let [a, b] = ends.map(|link| self.group(self.router(self.wiring.target(link))));
        a != b
    }

    /// The routers at the ends of the links between two groups.
    fn pairs(&self, from: u32, to: u32) -> Vec<(u32, u32)> {
        let links = 0..self.shape.links();
        links.map(|link| self.shape.ends(from, to, link)).collect()
    }

    /// The links from a router to another.
    fn between(&self, from: u32, to: u32) -> Vec<u32> {
        let nodes = self.nodes();
        let out = self.wiring.out_of(nodes + from);
        out.filter(|&link| self.wiring.target(link) == nodes + to)
            .collect()
    }

    /// The links out of a router that may be the first of a way to a group.
    fn towards(&self, router: u32, group: u32) -> Vec<u32> {
        let pairs = self.pairs(self.group(router), group);
        let own: Vec<u32> = pairs
            .iter()
            .filter(|pair| pair.0 == router)
            .map(|pair| pair.1)
            .collect();
        if own.is_empty() {
            return pairs
                .iter()
                .map(|pair| self.between(router, pair.0)[0])
                .collect();
        }
        // Parallel links are taken in their order.
        let mut seen = vec![0; self.shape.router_count() as usize];
        let mut links = Vec::new();
        for to in own {
            links.push(self.between(router, to)[seen[to as usize]]);
            seen[to as usize] += 1;
        }
        links
    }

    /// What the quickest way by these groups costs, and its links.
    fn cost(&self, from: u32, to: u32, groups: &[u32], seen: Option<&Seen<'_>>) -> u64 {
        let Some((&group, rest)) = groups.split_first() else {
            return u64::from(from != to);
        };
        let here = self.group(from);
        let mut met = vec![0; self.shape.router_count() as usize];
        let routes = self.pairs(here, group).into_iter().map(|(gate, landing)| {
            let before = u64::from(gate != from);
            let links = before + 1 + self.cost(landing, to, rest, None);
            let Some(seen) = seen else {
                return links;
            };
            let first = match before {
                0 => {
                    met[landing as usize] += 1;
                    self.between(from, landing)[met[landing as usize] - 1]
                }
                _ => self.between(from, gate)[0],
            };
            links * ((seen.taken)(first) + (seen.waiting)(first))
        });
        routes.min().unwrap()
    }
}

impl Network for Groups {
    fn nodes(&self) -> u32 {
        self.shape.node_count()
    }

    fn links(&self) -> u32 {
        self.wiring.link_count()
    }

    fn target(&self, link: u32) -> u32 {
        self.wiring.target(link)
    }

    fn port(&self, link: u32) -> (u32, u32) {
        let out = self.wiring.out_of(self.wiring.target(link));
        (self.wiring.reverse(link) - out.start, out.len() as u32)
    }

    fn of_node(&self, node: u32) -> Range<u32> {
        self.wiring.out_of(node)
    }

    fn classes(&self) -> u32 {
        let most = 2 + u32::from(self.routing != Routing::Minimal);
        most.min(self.shape.groups())
    }

    fn length(&self, link: u32) -> Cycles {
        let ends = [link, self.wiring.reverse(link)].map(|link| self.wiring.target(link));
        match ends.iter().any(|&vertex| vertex < self.nodes()) {
            true => 0,
            false => self.lengths[usize::from(self.is_global(link))],
        }
    }

    fn set_out(&self, flight: &Flight, seen: &Seen<'_>, lot: u64) -> Option<u32> {
        let [from, to] = [flight.from, flight.to].map(|node| self.router(node));
        let ends = [self.group(from), self.group(to)];
        let mut others: Vec<u32> = (0..self.shape.groups()).collect();
        others.retain(|group| !ends.contains(group));
        if self.routing == Routing::Minimal || ends[0] == ends[1] || others.is_empty() {
            return None;
        }
        let third = others[drawn(others.len(), lot)];
        let cost = |groups: &[u32]| self.cost(from, to, groups, Some(seen));
        let direct = self.routing == Routing::Ugal && cost(&[ends[1]]) <= cost(&[third, ends[1]]);
        (!direct).then_some(third)
    }

    fn wanted(&self, at: u32, flight: &Flight, lot: u64) -> (Range<u32>, u32) {
        let one = |link: u32, class: usize| (link..link + 1, class as u32);
        if at < self.nodes() {
            return one(self.wiring.out_of(at).start, 0);
        }
        let (router, last) = (self.router(at), self.router(flight.to));
        let left = flight
            .path
            .iter()
            .filter(|lane| self.is_global(lane.link))
            .count();
        let groups = flight
            .path
            .iter()
            .map(|lane| self.router(self.target(lane.link)));
        let mut groups = groups.map(|router| self.group(router));
        let via = flight.via.filter(|&via| !groups.any(|group| group == via));
        let next = via.unwrap_or(self.group(last));
        if next != self.group(router) {
            let links = self.towards(router, next);
            return one(links[drawn(links.len(), lot)], left);
        }
        if router != last {
            return one(self.between(router, last)[0], left);
        }
        let out = self.wiring.out_of(at);
        let link = out.clone().find(|&link| self.target(link) == flight.to);
        one(link.unwrap(), 0)
    }
}
