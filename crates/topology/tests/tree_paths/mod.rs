//! The naive reference: trees built by their recursive definition, all routes by search.

use std::collections::BTreeMap;
use std::ops::Range;

use isthmus_topology::trees::{Ascent, Shape, Tree, Vertex};
use proptest::prelude::*;

/// Levels of switches: children, parents, parallel links.
pub type Levels = Vec<(u32, u32, u32)>;

pub fn shape(levels: &Levels) -> Shape {
    Shape::Generalised {
        down: levels.iter().map(|level| level.0).collect(),
        up: levels.iter().map(|level| level.1).collect(),
        parallel: levels.iter().map(|level| level.2).collect(),
    }
}

pub fn levels() -> impl Strategy<Value = Levels> {
    let level = (1u32..5, 1u32..4, 1u32..3);
    prop::collection::vec(level, 1..5).prop_filter("between 2 and 48 nodes", |levels| {
        let nodes: u32 = levels.iter().map(|level| level.0).product();
        let tops: u32 = levels.iter().map(|level| level.1).product();
        (2..=48).contains(&nodes) && tops <= 24
    })
}

/// A vertex: level, and position within the level.
type Place = (usize, u32);

/// A tree as lists of neighbours, port by port.
pub struct Naive {
    pub up: BTreeMap<Place, Vec<Place>>,
    pub down: BTreeMap<Place, Vec<Place>>,
    pub nodes: u32,
}

impl Naive {
    /// A tree of height h is so many trees of height h - 1 as the top has children, with one switch
    /// for each parent that each of the switches at their tops is to have.
    pub fn new(levels: &Levels) -> Self {
        let mut tree = Self {
            up: BTreeMap::new(),
            down: BTreeMap::new(),
            nodes: 0,
        };
        let mut next = vec![0; levels.len() + 1];
        tree.build(levels, levels.len(), &mut next);
        tree.nodes = next[0];
        tree
    }

    /// Its topmost vertices, in their order.
    fn build(&mut self, levels: &Levels, height: usize, next: &mut [u32]) -> Vec<Place> {
        let take = |level: usize, next: &mut [u32]| {
            next[level] += 1;
            (level, next[level] - 1)
        };
        if height == 0 {
            return vec![take(0, next)];
        }
        let (children, parents, parallel) = levels[height - 1];
        let parts: Vec<Vec<Place>> = (0..children)
            .map(|_| self.build(levels, height - 1, next))
            .collect();
        let mut tops = Vec::new();
        for lane in 0..parts[0].len() {
            let above: Vec<Place> = (0..parents).map(|_| take(height, next)).collect();
            for part in &parts {
                let ports = (0..parallel).flat_map(|_| above.iter().copied());
                self.up.insert(part[lane], ports.collect());
            }
            for &switch in &above {
                let ports = parts
                    .iter()
                    .flat_map(|part| vec![part[lane]; parallel as usize]);
                self.down.insert(switch, ports.collect());
            }
            tops.extend(above);
        }
        tops
    }

    pub fn is_above(&self, place: Place, node: u32) -> bool {
        match self.down.get(&place) {
            None => place == (0, node),
            Some(children) => children.iter().any(|&child| self.is_above(child, node)),
        }
    }

    /// All routes of a packet with their probabilities, as steps (from, to, parallel link), by a rule
    /// of ascent that splits evenly where it does not say.
    pub fn routes(&self, ascent: Ascent, source: u32, destination: u32) -> Vec<(f64, Vec<Step>)> {
        let key = match ascent {
            Ascent::Adaptive | Ascent::Random => None,
            Ascent::Source => Some(source),
            Ascent::Destination => Some(destination),
        };
        let mut done = Vec::new();
        let mut open = vec![(1.0, Vec::new(), (0, source), key)];
        while let Some((probability, path, at, rest)) = open.pop() {
            if at == (0, destination) {
                done.push((probability, path));
                continue;
            }
            let descends = self.is_above(at, destination);
            let ports = if descends {
                &self.down[&at]
            } else {
                &self.up[&at]
            };
            let mut candidates: Vec<Step> = Vec::new();
            for (port, &to) in ports.iter().enumerate() {
                let earlier = ports[..port].iter().filter(|&&other| other == to).count();
                if !descends || self.is_above(to, destination) {
                    candidates.push((at, to, earlier as u32));
                }
            }
            let mut left = rest;
            if let Some(rest) = rest {
                if descends {
                    // The parallel link that the key gives on the level below.
                    let wanted = self.descent(key.unwrap(), at, candidates[0].1);
                    candidates.retain(|step| step.2 == wanted);
                } else {
                    // Digits of the key, each a number of parents; ports turn round and round.
                    let ports = candidates.len() as u32;
                    let parents = candidates.iter().filter(|step| step.2 == 0).count() as u32;
                    candidates = vec![candidates[(rest % ports) as usize]];
                    left = Some(rest / parents);
                }
            }
            let share = probability / candidates.len() as f64;
            for step in candidates {
                let mut path = path.clone();
                path.push(step);
                open.push((share, path, step.1, left));
            }
        }
        done
    }

    /// Which of the parallel links between two vertices has the port that the key gives.
    fn descent(&self, key: u32, from: Place, to: Place) -> u32 {
        let mut rest = key;
        let mut node = to;
        // Any node below, from which to count parents.
        while let Some(children) = self.down.get(&node) {
            node = children[0];
        }
        while node.0 < to.0 {
            let ports = &self.up[&node];
            let mut distinct = ports.clone();
            distinct.sort_unstable();
            distinct.dedup();
            rest /= distinct.len() as u32;
            node = ports[0];
        }
        let ports = &self.up[&to];
        let parents = ports.len() / ports.iter().filter(|&&other| other == from).count();
        (rest as usize % ports.len() / parents) as u32
    }
}

/// From, to, number of the parallel link.
pub type Step = (Place, Place, u32);

pub fn place(tree: &Tree, vertex: Vertex) -> Place {
    match vertex {
        Vertex::Node(node) => (0, node),
        Vertex::Switch(switch) => {
            let level = (1..=tree.level_count())
                .find(|&level| tree.switches_of(level).contains(&switch))
                .unwrap();
            (level as usize, switch - tree.switches_of(level).start)
        }
    }
}

/// The links of one route between two nodes, in place of what is in `out`; none from a node to
/// itself. `choose` is asked for one of a run of links wherever there are several and the rule
/// does not say which.
pub fn find_route(
    tree: &Tree,
    ascent: Ascent,
    source: u32,
    destination: u32,
    choose: &mut impl FnMut(Range<u32>) -> u32,
    out: &mut Vec<u32>,
) {
    out.clear();
    let highest = tree.level_between(source, destination);
    let mut choose = |links: Range<u32>| match links.len() {
        1 => links.start,
        _ => choose(links),
    };
    let mut at = Vertex::Node(source);
    for _ in 0..highest {
        let link = match tree.chosen(ascent, source, destination, at) {
            Some(link) => link,
            None => choose(tree.ascents(at)),
        };
        out.push(link);
        at = tree.target(link);
    }
    while let Vertex::Switch(switch) = at {
        let link = match tree.chosen_descent(ascent, source, destination, switch) {
            Some(link) => link,
            None => choose(tree.descents(switch, destination).unwrap()),
        };
        out.push(link);
        at = tree.target(link);
    }
}

/// The links of a tree by their steps.
pub fn steps(tree: &Tree) -> BTreeMap<Step, u32> {
    let mut steps = BTreeMap::new();
    for number in 0..tree.link_count() {
        let link = tree.link(number);
        let (from, to) = (place(tree, link.from), place(tree, link.to));
        let mut parallel = 0;
        while steps
            .insert((from, to, parallel), number)
            .is_some_and(|earlier| {
                steps.insert((from, to, parallel), earlier);
                true
            })
        {
            parallel += 1;
        }
    }
    steps
}
