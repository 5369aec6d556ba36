//! The naive reference: all shortest paths of a small fabric, found by trying all links.

use std::collections::BTreeMap;

use isthmus_topology::rings::{Fabric, Routes, Routing, Segment, Shape};
use proptest::prelude::*;

pub type Path = Vec<Segment>;

/// A link as the rings say it: ring, from, to.
type Step = (u32, u32, u32);

/// Links between all pairs, by Floyd and Warshall's relaxation over rings in service.
pub struct Naive {
    fabric: Fabric,
    steps: Vec<Step>,
    distance: Vec<Vec<u32>>,
}

const FAR: u32 = u32::MAX / 4;

impl Naive {
    pub fn new(fabric: &Fabric) -> Self {
        let count = fabric.node_count() as usize;
        let mut steps = Vec::new();
        for (ring, nodes) in (0..).zip(fabric.rings()) {
            if fabric.is_in_service(ring) {
                for place in 0..nodes.len() {
                    steps.push((ring, nodes[place], nodes[(place + 1) % nodes.len()]));
                }
            }
        }
        let mut distance = vec![vec![FAR; count]; count];
        for (node, from) in distance.iter_mut().enumerate() {
            from[node] = 0;
        }
        for &(_, from, to) in &steps {
            distance[from as usize][to as usize] = 1;
        }
        for over in 0..count {
            for from in 0..count {
                for to in 0..count {
                    let hops = distance[from][over] + distance[over][to];
                    distance[from][to] = distance[from][to].min(hops);
                }
            }
        }
        Self {
            fabric: fabric.clone(),
            steps,
            distance,
        }
    }

    pub fn distance(&self, from: u32, to: u32) -> Option<u32> {
        let hops = self.distance[from as usize][to as usize];
        (hops < FAR).then_some(hops)
    }

    /// All shortest paths, link by link, in the order of their ring numbers.
    fn all(&self, from: u32, to: u32) -> Vec<Vec<Step>> {
        if from == to {
            return vec![Vec::new()];
        }
        let mut found = Vec::new();
        for &step in &self.steps {
            if step.1 == from
                && self.distance(step.2, to).unwrap() + 1 == self.distance(from, to).unwrap()
            {
                for mut rest in self.all(step.2, to) {
                    rest.insert(0, step);
                    found.push(rest);
                }
            }
        }
        found
    }

    /// Those of the shortest paths, all with the same probability, that a rule draws from.
    pub fn paths(&self, routing: Routing, from: u32, to: u32) -> Vec<Path> {
        let all = self.all(from, to);
        let stretches = |steps: &Vec<Step>| {
            let mut path: Path = Vec::new();
            for &(ring, ..) in steps {
                match path.last_mut() {
                    Some(last) if last.ring == ring => last.hops += 1,
                    _ => path.push(Segment { ring, hops: 1 }),
                }
            }
            path
        };
        let fewest = || {
            let paths: Vec<Path> = all.iter().map(stretches).collect();
            let fewest = paths.iter().map(Vec::len).min().unwrap();
            paths
                .into_iter()
                .filter(|path| path.len() == fewest)
                .collect()
        };
        match routing {
            Routing::Random => all.iter().map(stretches).collect(),
            Routing::Fixed => vec![stretches(&all[0])],
            Routing::FewestChanges => fewest(),
            Routing::DimensionOrder => {
                // A path of the fabric without faults that is still there is one of the shortest.
                let whole = self.fabric.sizes().map(|_| self.in_order(&all));
                match whole {
                    Some(paths) if !paths.is_empty() && self.is_whole_distance(from, to) => {
                        paths.iter().map(stretches).collect()
                    }
                    _ => fewest(),
                }
            }
        }
    }

    /// Paths whose links lie along dimensions that do not fall.
    fn in_order(&self, all: &[Vec<Step>]) -> Vec<Vec<Step>> {
        let dimension = |&(_, from, to): &Step| {
            let (from, to) = (self.fabric.coordinates(from), self.fabric.coordinates(to));
            let mut pairs = from.unwrap().into_iter().zip(to.unwrap());
            pairs.position(|(from, to)| from != to).unwrap()
        };
        let rises = |steps: &&Vec<Step>| steps.iter().map(dimension).is_sorted();
        all.iter().filter(rises).cloned().collect()
    }

    /// Whether faults have made the distance no longer than that of the sum over the dimensions.
    fn is_whole_distance(&self, from: u32, to: u32) -> bool {
        let one_way = self.fabric.rings().len() == {
            let sizes = self.fabric.sizes().unwrap();
            let count: u32 = sizes.iter().product();
            sizes
                .iter()
                .map(|size| (count / size) as usize)
                .sum::<usize>()
        } && !self.fabric.name().contains("uniform");
        let (a, b) = (
            self.fabric.coordinates(from).unwrap(),
            self.fabric.coordinates(to).unwrap(),
        );
        let sizes = self.fabric.sizes().unwrap();
        let whole: u32 = (0..sizes.len())
            .map(|dimension| {
                let up = (b[dimension] + sizes[dimension] - a[dimension]) % sizes[dimension];
                match one_way {
                    true => up,
                    false => up.min(sizes[dimension] - up),
                }
            })
            .sum();
        self.distance(from, to) == Some(whole)
    }
}

/// The distribution of what `route` gives: every outcome of every choice is tried.
pub fn distribution(routes: &Routes, from: u32, to: u32) -> BTreeMap<Path, f64> {
    let mut found = BTreeMap::new();
    let mut script: Vec<(u32, u32)> = Vec::new();
    loop {
        let mut asked = 0;
        let mut path = vec![Segment { ring: 99, hops: 99 }];
        routes.route(
            from,
            to,
            &mut |limit| {
                assert!(limit >= 2);
                if asked == script.len() {
                    script.push((0, limit));
                }
                assert_eq!(script[asked].1, limit);
                asked += 1;
                script[asked - 1].0
            },
            &mut path,
        );
        let probability: f64 = script
            .iter()
            .map(|&(_, limit)| 1.0 / f64::from(limit))
            .product();
        *found.entry(path).or_insert(0.0) += probability;
        while let Some((outcome, limit)) = script.last_mut() {
            *outcome += 1;
            if outcome < limit {
                break;
            }
            script.pop();
        }
        if script.is_empty() {
            return found;
        }
    }
}

/// Up to seven nodes on up to five rings that hang together.
pub fn rings() -> impl Strategy<Value = Shape> {
    let ring = prop::collection::vec(0u32..7, 2..6);
    prop::collection::vec(ring, 1..6).prop_map(|drawn| {
        let mut rings: Vec<Vec<u32>> = Vec::new();
        let mut names: Vec<u32> = Vec::new();
        for nodes in drawn {
            let mut ring: Vec<u32> = Vec::new();
            let shared = rings.last().map(|ring| names[ring[0] as usize]);
            for node in shared.into_iter().chain(nodes) {
                let name = names
                    .iter()
                    .position(|&name| name == node)
                    .unwrap_or_else(|| {
                        names.push(node);
                        names.len() - 1
                    });
                if !ring.contains(&(name as u32)) {
                    ring.push(name as u32);
                }
            }
            if ring.len() > 1 {
                rings.push(ring);
            }
        }
        match rings.is_empty() {
            true => Shape::Ring { nodes: 2 },
            false => {
                // A ring of one node may have been left out: name only what is there.
                let mut present: Vec<u32> = rings.iter().flatten().copied().collect();
                present.sort_unstable();
                present.dedup();
                for node in rings.iter_mut().flatten() {
                    *node = present.binary_search(node).unwrap() as u32;
                }
                Shape::Rings(rings)
            }
        }
    })
}
