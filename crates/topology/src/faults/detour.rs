//! Shortest detours around faults, such that all routes together are free of deadlock.

use super::CubeFaults;
use super::dependencies::Dependencies;
use crate::Hop;

/// Maximum number of hops by which a detour may exceed the distance between its ends.
const EXTRA_HOPS_MAX: u32 = 12;
/// Maximum number of orders in which the search processes the pairs of nodes.
const ORDERS_MAX: u64 = 8;
/// Maximum number of paths of one length that the search tries between two nodes.
const TRIES_MAX: u32 = 64;

/// A step of a partial path in the search: its last link, its new dependencies and its predecessor.
#[derive(Clone, Copy)]
struct Step {
    link: usize,
    /// Number of new dependencies on the path up to this step.
    new_dependencies: u32,
    /// Index of the previous step in the previous layer of the search.
    previous: usize,
}

/// A set of channel dependencies (held link, next link). For each held link it stores a bit set of the
/// dimensions of the next links.
struct DependencySet(Vec<u32>);

impl DependencySet {
    /// Return whether the set contains the dependency from link `held` to the next link along
    /// `dimension`.
    fn contains(&self, held: usize, dimension: u32) -> bool {
        self.0[held] >> dimension & 1 == 1
    }

    /// Add the dependency from link `held` to the next link along `dimension`.
    fn insert(&mut self, held: usize, dimension: u32) {
        self.0[held] |= 1 << dimension;
    }
}

/// State of the search for detours.
struct Search<'a> {
    faults: &'a CubeFaults,
    dependencies: Dependencies,
    /// The channel dependencies of the routes found so far, for fast look-up.
    known: DependencySet,
    /// Channel dependencies that would close a cycle with the routes found so far. No detour may ever
    /// use them, since routes once found are permanent.
    refused: DependencySet,
    /// Channel dependencies that the detour of the current pair of nodes must avoid, because they
    /// close a cycle together with others of that detour.
    excluded: DependencySet,
    excluded_links: Vec<usize>,
    /// For each link, its index in the layer (the steps at one number of hops) that the search is
    /// building. The entry is out of date if `layer_of` of the link is an earlier layer.
    index: Vec<u32>,
    layer_of: Vec<u64>,
    layer_count: u64,
}

impl<'a> Search<'a> {
    /// Return the initial state of a search for detours around `faults`, limited to `work_max`
    /// steps.
    fn new(faults: &'a CubeFaults, work_max: u64) -> Self {
        let cube = faults.cube();
        let links = cube.link_count();
        let dependencies = Dependencies::new(cube, work_max);
        let mut known = DependencySet(vec![0; links]);
        for node in cube.nodes() {
            for first in faults.usable_dimensions(node) {
                let held = cube.link(node, first);
                let middle = cube.hop(held).target();
                for second in faults.usable_dimensions(middle) {
                    if dependencies.contains(held, cube.link(middle, second)) {
                        known.insert(held, second);
                    }
                }
            }
        }
        Self {
            faults,
            dependencies,
            known,
            refused: DependencySet(vec![0; links]),
            excluded: DependencySet(vec![0; links]),
            excluded_links: Vec::new(),
            index: vec![0; links],
            layer_of: vec![0; links],
            layer_count: 0,
        }
    }

    /// Find a shortest path between two nodes that can be added to the routes without a risk of
    /// deadlock, and return the dimensions that it crosses; `None` if none is found.
    fn detour(&mut self, from: u32, to: u32) -> Option<Vec<u8>> {
        let distance = self.faults.cube().distance(from, to);
        (distance..=distance + EXTRA_HOPS_MAX)
            .step_by(2)
            .find_map(|hops| self.detour_of(from, to, hops))
    }

    /// Find a path of exactly `hops` hops that can be added to the routes without a risk of deadlock,
    /// and return the dimensions that it crosses, or `None` if there is none.
    fn detour_of(&mut self, from: u32, to: u32, hops: u32) -> Option<Vec<u8>> {
        let cube = self.faults.cube();
        for held in self.excluded_links.drain(..) {
            self.excluded.0[held] = 0;
        }
        for _ in 0..TRIES_MAX {
            let path = self.best_path(from, to, hops)?;
            let pairs: Vec<_> = path.windows(2).map(|pair| (pair[0], pair[1])).collect();
            let dimension = |link: usize| cube.hop(link).dimension;
            match self.dependencies.add(&pairs) {
                Ok(()) => {
                    for (held, next) in pairs {
                        self.known.insert(held, dimension(next));
                    }
                    return Some(path.iter().map(|&link| dimension(link) as u8).collect());
                }
                Err(refusal) => {
                    let (held, next) = pairs[refusal.index];
                    if refusal.permanent {
                        self.refused.insert(held, dimension(next));
                    } else {
                        // The dependency closes a cycle together with the other new ones. A path
                        // without it may be possible.
                        self.excluded.insert(held, dimension(next));
                        self.excluded_links.push(held);
                    }
                }
            }
            if self.dependencies.is_exhausted() {
                return None;
            }
        }
        None
    }

    /// Return the path of exactly `hops` hops over working links that has the fewest new
    /// dependencies and none that is refused or excluded; `None` if there is no such path. Of equal
    /// paths the first found is used, higher dimensions before lower ones.
    fn best_path(&mut self, from: u32, to: u32, hops: u32) -> Option<Vec<usize>> {
        let cube = self.faults.cube();
        let mut layers: Vec<Vec<Step>> = Vec::with_capacity(hops as usize);
        for taken in 1..=hops {
            let mut layer = Vec::new();
            self.layer_count += 1;
            let left = hops - taken;
            match layers.last() {
                None => self.extend(from, None, to, left, &mut layer),
                Some(previous) => {
                    for (at, step) in previous.iter().enumerate() {
                        let node = cube.hop(step.link).target();
                        self.extend(node, Some((at, *step)), to, left, &mut layer);
                    }
                }
            }
            layers.push(layer);
        }
        let ends = layers.last()?.iter();
        let mut step = *ends.min_by_key(|step| step.new_dependencies)?;
        let mut path = vec![step.link];
        for layer in layers.iter().rev().skip(1) {
            step = layer[step.previous];
            path.push(step.link);
        }
        path.reverse();
        Some(path)
    }

    /// Extend a partial path by one hop: add to `layer` each permitted link from `node` after which
    /// `left` hops suffice to reach `to`. `last` is the previous step of the path, with its index in
    /// the previous layer.
    fn extend(
        &mut self,
        node: u32,
        last: Option<(usize, Step)>,
        to: u32,
        left: u32,
        layer: &mut Vec<Step>,
    ) {
        let cube = self.faults.cube();
        for dimension in self.faults.usable_dimensions(node) {
            let hop = Hop { node, dimension };
            if cube.distance(hop.target(), to) > left {
                continue;
            }
            let mut step = Step {
                link: cube.link(node, dimension),
                new_dependencies: 0,
                previous: 0,
            };
            if let Some((previous, last)) = last {
                if cube.hop(last.link).dimension == dimension
                    || self.refused.contains(last.link, dimension)
                    || self.excluded.contains(last.link, dimension)
                {
                    continue;
                }
                let new = !self.known.contains(last.link, dimension);
                step.new_dependencies = last.new_dependencies + u32::from(new);
                step.previous = previous;
            }
            if self.layer_of[step.link] != self.layer_count {
                self.layer_of[step.link] = self.layer_count;
                self.index[step.link] = layer.len() as u32;
                layer.push(step);
            } else {
                let other = &mut layer[self.index[step.link] as usize];
                if step.new_dependencies < other.new_dependencies {
                    *other = step;
                }
            }
        }
    }
}

/// The detours of all pairs of nodes whose route is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Detours {
    /// Pairs of nodes in ascending order, each with the end of its detour in the list of
    /// dimensions. A detour starts at the end of the previous one.
    pairs: Vec<((u32, u32), usize)>,
    dimensions: Vec<u8>,
}

impl Detours {
    /// Find a detour for each pair of nodes, in the given order. If no detour is found for a pair,
    /// it is moved to the front of the list and the search starts again. Return `None` if this does
    /// not help, or if the search has used up its steps.
    pub(super) fn find(
        faults: &CubeFaults,
        mut pairs: Vec<(u32, u32)>,
        work_max: u64,
    ) -> Option<Self> {
        for _ in 0..ORDERS_MAX {
            let mut search = Search::new(faults, work_max / ORDERS_MAX);
            let mut found = Vec::with_capacity(pairs.len());
            let stuck = pairs.iter().position(|&(from, to)| {
                let detour = search.detour(from, to);
                detour
                    .map(|dimensions| found.push(((from, to), dimensions)))
                    .is_none()
            });
            match stuck {
                None => return Some(Self::new(found)),
                Some(0) => return None,
                Some(index) => pairs[..=index].rotate_right(1),
            }
            if search.dependencies.is_exhausted() {
                return None;
            }
        }
        None
    }

    /// Return a table of these detours, sorted by their pairs of nodes.
    fn new(mut found: Vec<((u32, u32), Vec<u8>)>) -> Self {
        found.sort_unstable_by_key(|&(pair, _)| pair);
        let mut detours = Self {
            pairs: Vec::with_capacity(found.len()),
            dimensions: Vec::new(),
        };
        for (pair, dimensions) in found {
            detours.dimensions.extend(dimensions);
            detours.pairs.push((pair, detours.dimensions.len()));
        }
        detours
    }

    /// Return the dimensions that the detour of a pair crosses, or `None` for a pair without a
    /// detour.
    pub(super) fn get(&self, from: u32, to: u32) -> Option<&[u8]> {
        let index = self
            .pairs
            .binary_search_by_key(&(from, to), |&(pair, _)| pair)
            .ok()?;
        let start = if index == 0 {
            0
        } else {
            self.pairs[index - 1].1
        };
        Some(&self.dimensions[start..self.pairs[index].1])
    }

    /// Return the number of pairs with a detour.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }
}
