//! Shortest paths in any fabric: distances to one destination, counts of equal paths, tables.

use super::tori::extend;
use super::{Fabric, Link, Routing, Segment};

/// Which of the shortest paths, where no dimensions help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Fixed,
    Random,
    FewestChanges,
}

impl Rule {
    /// The rule of a routing; dimension order has fewest changes where it cannot be kept.
    pub fn of(routing: Routing) -> Self {
        match routing {
            Routing::Fixed => Self::Fixed,
            Routing::Random => Self::Random,
            Routing::FewestChanges | Routing::DimensionOrder => Self::FewestChanges,
        }
    }
}

/// How many paths: exactly, to draw from them, or as a floating-point number, for shares of them.
pub(super) trait Count: Copy + PartialOrd {
    const NONE: Self;
    const ONE: Self;
    /// Their sum if the type holds it.
    fn plus(self, other: Self) -> Option<Self>;
}

impl Count for u64 {
    const NONE: Self = 0;
    const ONE: Self = 1;
    fn plus(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }
}

impl Count for f64 {
    const NONE: Self = 0.0;
    const ONE: Self = 1.0;
    fn plus(self, other: Self) -> Option<Self> {
        Some(self + other)
    }
}

/// What is known of the shortest paths from all nodes to one destination, by node.
#[derive(Debug, Clone, Default)]
pub(super) struct Row<N> {
    /// The nodes that reach the destination, by distance; the destination is the first.
    pub order: Vec<u32>,
    distance: Vec<u16>,
    segments: Vec<u16>,
    paths: Vec<N>,
}

const UNREACHED: u16 = u16::MAX;

/// The shortest paths to one destination.
#[derive(Clone, Copy)]
pub(super) struct Paths<'a, N> {
    pub fabric: &'a Fabric,
    rule: Rule,
    destination: u32,
    /// Links to go, by node.
    distance: &'a [u16],
    /// Fewest stretches to go on a shortest path, by node; with [`Rule::FewestChanges`] only.
    segments: &'a [u16],
    /// Number of paths that the rule draws from, by node; not with [`Rule::Fixed`].
    paths: &'a [N],
}

impl<N: Count> Row<N> {
    /// Finds the shortest paths to `destination`.
    ///
    /// # Errors
    /// A node with more paths than can be counted.
    pub fn fill(&mut self, fabric: &Fabric, rule: Rule, destination: u32) -> Result<(), u32> {
        let node_count = fabric.node_count() as usize;
        self.search(fabric, destination);
        self.segments.clear();
        self.paths.clear();
        if rule == Rule::Fixed {
            return Ok(());
        }
        self.paths.resize(node_count, N::NONE);
        self.paths[destination as usize] = N::ONE;
        if rule == Rule::FewestChanges {
            self.segments.resize(node_count, u16::MAX);
            self.segments[destination as usize] = 0;
        }
        for &node in &self.order[1..] {
            let (segments, count) = self.paths(fabric, rule).best_of(node);
            self.paths[node as usize] = count.ok_or(node)?;
            if rule == Rule::FewestChanges {
                self.segments[node as usize] = segments;
            }
        }
        Ok(())
    }

    /// Breadth first, against the links.
    fn search(&mut self, fabric: &Fabric, destination: u32) {
        self.distance.clear();
        self.distance
            .resize(fabric.node_count() as usize, UNREACHED);
        self.distance[destination as usize] = 0;
        self.order.clear();
        self.order.push(destination);
        let mut next = 0;
        while let Some(&node) = self.order.get(next) {
            next += 1;
            for link in fabric.links_from(node) {
                let before = fabric.links()[fabric.link_before(link) as usize];
                if fabric.is_in_service(before.ring)
                    && self.distance[before.from as usize] == UNREACHED
                    && before.from != destination
                {
                    self.distance[before.from as usize] = self.distance[node as usize] + 1;
                    self.order.push(before.from);
                }
            }
        }
    }

    pub fn paths<'a>(&'a self, fabric: &'a Fabric, rule: Rule) -> Paths<'a, N> {
        Paths {
            fabric,
            rule,
            destination: self.order[0],
            distance: &self.distance,
            segments: &self.segments,
            paths: &self.paths,
        }
    }
}

/// A stretch that a path may begin with: it starts with a link and ends at a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub first: u32,
    pub hops: u32,
    /// The link that would go on: it stands for the interface at which the stretch ends.
    pub beyond: u32,
    /// The node at which it ends.
    pub end: u32,
}

impl<'a, N: Count> Paths<'a, N> {
    pub fn rule(&self) -> Rule {
        self.rule
    }

    pub fn destination(&self) -> u32 {
        self.destination
    }

    /// Links to go; `None` where no path leads.
    pub fn distance(&self, node: u32) -> Option<u32> {
        let reached = self.distance[node as usize] != UNREACHED;
        reached.then(|| self.distance[node as usize].into())
    }

    /// The link if it is on a shortest path.
    pub fn step(&self, link: u32) -> Option<&'a Link> {
        let link = &self.fabric.links()[link as usize];
        let (from, to) = (link.from as usize, link.to as usize);
        // A ring in service leads from nodes that reach the destination to nodes that do, so that
        // no "unreached" is ever counted up.
        (self.fabric.is_in_service(link.ring)
            && self.distance[from] == self.distance[to].wrapping_add(1))
        .then_some(link)
    }

    /// All beginnings of shortest paths that start with this link and stay on its ring.
    pub fn stretches(self, first: u32) -> impl Iterator<Item = Stretch> + 'a {
        let mut link = Some(first);
        let mut hops = 0;
        std::iter::from_fn(move || {
            let step = self.step(link?)?;
            hops += 1;
            link = (step.to != self.destination).then_some(step.next);
            Some(Stretch {
                first,
                hops,
                beyond: step.next,
                end: step.to,
            })
        })
    }

    /// Those of them after which the number of stretches to go is the lowest possible.
    pub fn best_stretches(self, node: u32, first: u32) -> impl Iterator<Item = Stretch> + 'a {
        let left = self.segments[node as usize];
        self.stretches(first)
            .filter(move |stretch| self.segments[stretch.end as usize] + 1 == left)
    }

    /// Fewest stretches and number of paths from a node, from those of the nodes nearer to the
    /// destination; no number when it is too large.
    fn best_of(&self, node: u32) -> (u16, Option<N>) {
        let mut fewest = u16::MAX;
        let mut count = Some(N::NONE);
        for first in self.fabric.links_from(node) {
            match self.rule {
                Rule::Fixed => {}
                Rule::Random => {
                    if let Some(link) = self.step(first) {
                        count = count.and_then(|count| count.plus(self.count(link.to)));
                    }
                }
                Rule::FewestChanges => {
                    for stretch in self.stretches(first) {
                        let segments = self.segments[stretch.end as usize] + 1;
                        if segments < fewest {
                            (fewest, count) = (segments, Some(N::NONE));
                        }
                        if segments == fewest {
                            let more = self.count(stretch.end);
                            count = count.and_then(|count| count.plus(more));
                        }
                    }
                }
            }
        }
        (fewest, count)
    }

    /// Number of paths that the rule draws from.
    pub fn count(&self, node: u32) -> N {
        self.paths[node as usize]
    }

    /// The link that [`Rule::Fixed`] takes from a node other than the destination.
    pub fn lowest(&self, node: u32) -> u32 {
        let mut links = self.fabric.links_from(node);
        links
            .find(|&link| self.step(link).is_some())
            .expect("the destination can be reached")
    }
}

impl Paths<'_, f64> {
    /// Number of paths that do not begin with this link; with [`Rule::Random`] only.
    pub fn count_without(&self, node: u32, link: Option<u32>) -> f64 {
        let links = self.fabric.links_from(node);
        let others = links.filter(|&other| Some(other) != link);
        let steps = others.filter_map(|link| self.step(link));
        steps.map(|link| self.count(link.to)).sum()
    }
}

impl Paths<'_, u64> {
    /// Draws a path.
    pub fn draw(&self, source: u32, choose: &mut impl FnMut(u32) -> u32, out: &mut Vec<Segment>) {
        let mut node = source;
        if self.rule == Rule::Fixed {
            while node != self.destination {
                let link = &self.fabric.links()[self.lowest(node) as usize];
                extend(out, link.ring, 1);
                node = link.to;
            }
            return;
        }
        // The paths are numbered link by link: those over the first link come first.
        let mut number = uniform(self.count(source), choose);
        while node != self.destination {
            let (segment, end) = match self.rule {
                Rule::Random => self.link_of(node, &mut number),
                _ => self.stretch_of(node, &mut number),
            }
            .expect("as many paths were counted as are found again");
            extend(out, segment.ring, segment.hops);
            node = end;
        }
    }

    /// The first link of the path with this number, and what is its number from there on.
    fn link_of(&self, node: u32, number: &mut u64) -> Option<(Segment, u32)> {
        for link in self.fabric.links_from(node) {
            if let Some(link) = self.step(link) {
                let count = self.count(link.to);
                if *number < count {
                    let ring = link.ring;
                    return Some((Segment { ring, hops: 1 }, link.to));
                }
                *number -= count;
            }
        }
        None
    }

    /// The first stretch of the path with this number, and what is its number from there on.
    fn stretch_of(&self, node: u32, number: &mut u64) -> Option<(Segment, u32)> {
        for first in self.fabric.links_from(node) {
            for stretch in self.best_stretches(node, first) {
                let count = self.count(stretch.end);
                if *number < count {
                    let ring = self.fabric.links()[first as usize].ring;
                    let hops = stretch.hops;
                    return Some((Segment { ring, hops }, stretch.end));
                }
                *number -= count;
            }
        }
        None
    }
}

/// A number below `limit`, uniformly distributed.
fn uniform(limit: u64, choose: &mut impl FnMut(u32) -> u32) -> u64 {
    if limit == 1 {
        return 0;
    }
    if let Ok(limit) = u32::try_from(limit) {
        return choose(limit).into();
    }
    // Four draws of 16 bits, as many of them as the limit has, until they are below it.
    let mask = u64::MAX >> (limit - 1).leading_zeros();
    loop {
        let bits = (0..4).fold(0, |bits, _| bits << 16 | u64::from(choose(1 << 16)));
        if bits & mask < limit {
            return bits & mask;
        }
    }
}

/// The rows of all destinations.
#[derive(Debug, Clone)]
pub(super) struct Table {
    rule: Rule,
    node_count: usize,
    distance: Vec<u16>,
    segments: Vec<u16>,
    paths: Vec<u64>,
}

impl Table {
    /// Finds the shortest paths between all live nodes.
    ///
    /// # Errors
    /// A pair of nodes with 2^64 or more equal paths.
    pub fn new(fabric: &Fabric, rule: Rule) -> Result<Self, (u32, u32)> {
        let node_count = fabric.node_count() as usize;
        let all = node_count * node_count;
        let mut table = Self {
            rule,
            node_count,
            distance: vec![UNREACHED; all],
            segments: vec![u16::MAX; if rule == Rule::FewestChanges { all } else { 0 }],
            paths: vec![0; if rule == Rule::Fixed { 0 } else { all }],
        };
        let mut row = Row::default();
        for &destination in fabric.live_nodes() {
            row.fill(fabric, rule, destination)
                .map_err(|source| (source, destination))?;
            let place = table.place(destination);
            table.distance[place.clone()].copy_from_slice(&row.distance);
            if !row.segments.is_empty() {
                table.segments[place.clone()].copy_from_slice(&row.segments);
            }
            if !row.paths.is_empty() {
                table.paths[place].copy_from_slice(&row.paths);
            }
        }
        Ok(table)
    }

    fn place(&self, destination: u32) -> std::ops::Range<usize> {
        let first = destination as usize * self.node_count;
        first..first + self.node_count
    }

    pub fn paths<'a>(&'a self, fabric: &'a Fabric, destination: u32) -> Paths<'a, u64> {
        let place = self.place(destination);
        Paths {
            fabric,
            rule: self.rule,
            destination,
            distance: &self.distance[place.clone()],
            segments: self.segments.get(place.clone()).unwrap_or_default(),
            paths: self.paths.get(place).unwrap_or_default(),
        }
    }
}
