//! Shortest paths in any fabric: distances to one destination, numbers of equal paths, tables of
//! all pairs.

use super::tori::extend;
use super::{Fabric, Link, Routing, Segment};

/// Rule by which a packet selects one of the shortest paths in a table of paths. Dimension order is
/// no such rule, since a table has no dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Fixed,
    Random,
    FewestChanges,
}

impl Rule {
    /// Return the rule with which a table implements a routing. Where dimension order is impossible,
    /// packets use the paths with the fewest changes of ring.
    pub fn of(routing: Routing) -> Self {
        match routing {
            Routing::Fixed => Self::Fixed,
            Routing::Random => Self::Random,
            Routing::FewestChanges | Routing::DimensionOrder => Self::FewestChanges,
        }
    }
}

/// A type that counts paths: exact integers, to select one of the paths, or floating-point numbers,
/// to compute shares.
pub(super) trait PathCount: Copy + PartialOrd {
    /// The number of paths if no path exists: 0.
    const NONE: Self;
    /// The number of paths if exactly one path exists: 1.
    const ONE: Self;
    /// Return the sum if the type can represent it, else `None`.
    fn checked_plus(self, other: Self) -> Option<Self>;
}

impl PathCount for u64 {
    const NONE: Self = 0;
    const ONE: Self = 1;
    /// Return the sum, or `None` if it exceeds 64 bits.
    fn checked_plus(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }
}

impl PathCount for f64 {
    const NONE: Self = 0.0;
    const ONE: Self = 1.0;
    /// Return the sum; never `None`, because sums of floating-point numbers need no exact range.
    fn checked_plus(self, other: Self) -> Option<Self> {
        Some(self + other)
    }
}

/// The shortest paths from all nodes to one destination; the lists are indexed by node.
#[derive(Debug, Clone, Default)]
pub(super) struct Row<N> {
    /// Nodes that reach the destination, ordered by distance; the destination is the first.
    pub order: Vec<u32>,
    distance: Vec<u16>,
    segments: Vec<u16>,
    paths: Vec<N>,
}

/// Distance of a node without a path to the destination.
const UNREACHED: u16 = u16::MAX;

/// A view of the shortest paths to one destination.
#[derive(Clone, Copy)]
pub(super) struct Paths<'a, N> {
    pub fabric: &'a Fabric,
    rule: Rule,
    destination: u32,
    /// Number of remaining links to the destination, by node.
    distance: &'a [u16],
    /// Minimum number of remaining segments on a shortest path, by node; only with
    /// [`Rule::FewestChanges`].
    segments: &'a [u16],
    /// For each node, the number of paths to the destination among which the rule selects; empty with [`Rule::Fixed`].
    paths: &'a [N],
}

impl<N: PathCount> Row<N> {
    /// Find the shortest paths from all nodes to `destination`.
    ///
    /// # Errors
    /// A node that has more paths than the type can count.
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
            let (segments, count) = self.paths(fabric, rule).best_from(node);
            self.paths[node as usize] = count.ok_or(node)?;
            if rule == Rule::FewestChanges {
                self.segments[node as usize] = segments;
            }
        }
        Ok(())
    }

    /// Find distances by a breadth-first search, against the direction of the links.
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

    /// Return a view of the shortest paths in this row.
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

/// A possible first segment of a path: a number of links on one ring, from a first link to an end
/// node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub first: u32,
    pub hops: u32,
    /// The next link on the ring, which identifies the interface at the end of the segment.
    pub beyond: u32,
    /// Number of the node at the end of the segment.
    pub end: u32,
}

impl<'a, N: PathCount> Paths<'a, N> {
    /// Return the rule of selection among the paths.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Return the node that all paths lead to.
    pub fn destination(&self) -> u32 {
        self.destination
    }

    /// Return the number of links from a node to the destination; `None` without a path.
    pub fn distance(&self, node: u32) -> Option<u32> {
        let reached = self.distance[node as usize] != UNREACHED;
        reached.then(|| self.distance[node as usize].into())
    }

    /// Return the link with this number if it is on a shortest path, else `None`.
    pub fn step(&self, link: u32) -> Option<&'a Link> {
        let link = &self.fabric.links()[link as usize];
        let (from, to) = (link.from as usize, link.to as usize);
        // On a ring in service either all nodes reach the destination or none does. If none does, the comparison below
        // is false, as it must be: UNREACHED is not UNREACHED + 1.
        (self.fabric.is_in_service(link.ring)
            && self.distance[from] == self.distance[to].wrapping_add(1))
        .then_some(link)
    }

    /// Return the segments (stretches of a path on one ring) with which a shortest path can start, if its first link is
    /// `first`: one hop, two hops and so on along the ring of that link.
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

    /// Return the segments (stretches of a path on one ring) that start at `node` with link `first` and begin a path
    /// with as few segments as possible.
    pub fn best_stretches(self, node: u32, first: u32) -> impl Iterator<Item = Stretch> + 'a {
        let left = self.segments[node as usize];
        self.stretches(first)
            .filter(move |stretch| self.segments[stretch.end as usize] + 1 == left)
    }

    /// Return the number of ring segments (one per ring crossed) of the shortest paths from a node to
    /// the destination, and the number of these paths; `None` if it is too large. Computed from the
    /// values of the nodes nearer to the destination.
    fn best_from(&self, node: u32) -> (u16, Option<N>) {
        let mut fewest = u16::MAX;
        let mut count = Some(N::NONE);
        for first in self.fabric.links_from(node) {
            match self.rule {
                Rule::Fixed => {}
                Rule::Random => {
                    if let Some(link) = self.step(first) {
                        count = count.and_then(|count| count.checked_plus(self.count(link.to)));
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
                            count = count.and_then(|count| count.checked_plus(more));
                        }
                    }
                }
            }
        }
        (fewest, count)
    }

    /// Return the number of paths from a node to the destination among which the rule selects.
    pub fn count(&self, node: u32) -> N {
        self.paths[node as usize]
    }

    /// Return the link by which [`Rule::Fixed`] leaves a node other than the destination.
    pub fn lowest_link(&self, node: u32) -> u32 {
        let mut links = self.fabric.links_from(node);
        links
            .find(|&link| self.step(link).is_some())
            .expect("the destination can be reached")
    }
}

impl Paths<'_, f64> {
    /// Return the number of paths from a node that do not begin with this link; only for
    /// [`Rule::Random`].
    pub fn count_without(&self, node: u32, link: Option<u32>) -> f64 {
        let links = self.fabric.links_from(node);
        let others = links.filter(|&other| Some(other) != link);
        let steps = others.filter_map(|link| self.step(link));
        steps.map(|link| self.count(link.to)).sum()
    }
}

impl Paths<'_, u64> {
    /// Choose a path from `source` to the destination at random, with equal probabilities, and append its segments to
    /// `out`. `choose(n)` returns a random number below n.
    pub fn sample(&self, source: u32, choose: &mut impl FnMut(u32) -> u32, out: &mut Vec<Segment>) {
        let mut node = source;
        if self.rule == Rule::Fixed {
            while node != self.destination {
                let link = &self.fabric.links()[self.lowest_link(node) as usize];
                extend(out, link.ring, 1);
                node = link.to;
            }
            return;
        }
        // The paths are numbered link by link: those over the first link have the lowest numbers.
        let mut number = uniform(self.count(source), choose);
        while node != self.destination {
            let (segment, end) = match self.rule {
                Rule::Random => self.numbered_link(node, &mut number),
                _ => self.numbered_stretch(node, &mut number),
            }
            .expect("as many paths were counted as are found again");
            extend(out, segment.ring, segment.hops);
            node = end;
        }
    }

    /// Return the first link of the path with number `number` as a segment, and the node after it.
    /// Change `number` to that of the rest of the path.
    fn numbered_link(&self, node: u32, number: &mut u64) -> Option<(Segment, u32)> {
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

    /// Return the first segment of the path with number `number`, and the node after it. Change
    /// `number` to that of the rest of the path.
    fn numbered_stretch(&self, node: u32, number: &mut u64) -> Option<(Segment, u32)> {
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

/// Return a number below `limit`, uniformly distributed. `choose(n)` returns such a number below n.
fn uniform(limit: u64, choose: &mut impl FnMut(u32) -> u32) -> u64 {
    if limit == 1 {
        return 0;
    }
    if let Ok(limit) = u32::try_from(limit) {
        return choose(limit).into();
    }
    // Combine four random numbers of 16 bits, cut them to the bits of the limit, and repeat until
    // the result is below it.
    let mask = u64::MAX >> (limit - 1).leading_zeros();
    loop {
        let bits = (0..4).fold(0, |bits, _| bits << 16 | u64::from(choose(1 << 16)));
        if bits & mask < limit {
            return bits & mask;
        }
    }
}

/// The shortest paths to all destinations.
#[derive(Debug, Clone)]
pub(super) struct Table {
    rule: Rule,
    node_count: usize,
    distance: Vec<u16>,
    segments: Vec<u16>,
    paths: Vec<u64>,
}

impl Table {
    /// Find the shortest paths between all live nodes.
    ///
    /// # Errors
    /// A pair of nodes that has 2^64 or more equal paths.
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
            let place = table.row_range(destination);
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

    /// Return the range of entries for a destination in each list of the table.
    fn row_range(&self, destination: u32) -> std::ops::Range<usize> {
        let first = destination as usize * self.node_count;
        first..first + self.node_count
    }

    /// Return a view of the paths to a destination.
    pub fn paths<'a>(&'a self, fabric: &'a Fabric, destination: u32) -> Paths<'a, u64> {
        let place = self.row_range(destination);
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
