//! Detours kept per place of a fault instead of per pair, for cubes with too many pairs.

use std::collections::{BTreeMap, HashMap};

use super::CubeFaults;
use super::dependencies::Dependencies;
use crate::{Hop, Hypercube};

/// Hops that a local detour may be longer than the hops it replaces.
const EXTRA_HOPS_MAX: usize = 4;
/// Orders of the places tried.
const ORDERS_MAX: u64 = 32;
/// Paths tried for one local detour.
const TRIES_MAX: usize = 256;

/// Detours around broken links of a complete cube, to be put into e-cube routes.
///
/// A route is walked as e-cube would. Where the next link is broken, it and the one after it, if
/// there is one, are replaced by a detour between the same two nodes: usually the same two
/// dimensions in the other order. (If the detour would end at a failed node, the hops after it are
/// replaced too, until it does not.) Where only two links are left and the second is broken, both are
/// replaced. So a detour longer than the hops it replaces is needed only for a neighbour over a
/// broken link, or where faults lie side by side.
#[derive(Debug, Clone)]
pub(super) struct LocalDetours {
    /// The dimensions to cross, by first node and set of dimensions replaced.
    paths: HashMap<(u32, u32), Vec<u8>>,
}

/// The set of dimensions that a detour from `node` replaces, for a route that has still to cross
/// the dimensions `remaining` (not empty); `None` if the next link is taken as it is.
pub(super) fn replaced(faults: &CubeFaults, node: u32, remaining: u32) -> Option<u32> {
    let first = 1 << remaining.ilog2();
    let mut rest = remaining ^ first;
    if faults.is_usable(node, remaining.ilog2()) {
        let breaks_last = rest.is_power_of_two() && !faults.is_usable(node ^ first, rest.ilog2());
        return breaks_last.then_some(remaining);
    }
    let mut replaced = first;
    while let Some(dimension) = rest.checked_ilog2() {
        rest ^= 1 << dimension;
        replaced |= 1 << dimension;
        if !faults.is_failed(node ^ replaced) {
            break;
        }
    }
    Some(replaced)
}

impl LocalDetours {
    /// Finds a detour for every place where one is needed, such that the whole routing is free of
    /// deadlock. A place that ends without one is moved to the front, and all begins anew; `None`
    /// when this does not help, or the work is used up.
    pub(super) fn find(faults: &CubeFaults, work_max: u64) -> Option<Self> {
        if !faults.cube().is_complete() {
            return None;
        }
        let cube = Hypercube::new(faults.cube().dimension()).ok()?;
        let mut places = places(faults, cube);
        if places
            .iter()
            .any(|&(node, dimensions)| !faults.is_reachable(node, node ^ dimensions))
        {
            return None;
        }
        for _ in 0..ORDERS_MAX {
            let mut search = Search {
                faults,
                cube,
                dependencies: Dependencies::new(cube.into(), work_max / ORDERS_MAX),
                starting_at: BTreeMap::new(),
                ending_at: BTreeMap::new(),
            };
            let mut paths = HashMap::new();
            let stuck = places.iter().position(|&(node, dimensions)| {
                let path = search.detour(node, dimensions);
                let path = path.map(|path| path.into_iter().map(|along| along as u8).collect());
                path.map(|path| paths.insert((node, dimensions), path))
                    .is_none()
            });
            match stuck {
                None => return Some(Self { paths }),
                Some(0) => return None,
                Some(place) => places[..=place].rotate_right(1),
            }
            if search.dependencies.is_exhausted() {
                return None;
            }
        }
        None
    }

    pub(super) fn get(&self, node: u32, dimensions: u32) -> &[u8] {
        &self.paths[&(node, dimensions)]
    }

    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }
}

/// All places where a detour is needed, single hops first: (first node, dimensions replaced).
fn places(faults: &CubeFaults, cube: Hypercube) -> Vec<(u32, u32)> {
    let mut places = Vec::new();
    for (node, dimension) in faults.unusable_links() {
        let broken = 1 << dimension;
        let above = dimension + 1..cube.dimension();
        places.extend(above.map(|higher| (node ^ (1 << higher), broken | 1 << higher)));
        places.push((node, broken));
        let mut sets: Vec<u32> = (0..dimension).map(|lower| broken | 1 << lower).collect();
        while let Some(set) = sets.pop() {
            places.push((node, set));
            if faults.is_failed(node ^ set) {
                sets.extend((0..set.trailing_zeros()).map(|lower| set | 1 << lower));
            }
        }
    }
    places.retain(|&(node, dimensions)| {
        let to = node ^ dimensions;
        let needed = replaced(faults, node, dimensions) == Some(dimensions);
        needed && !faults.is_failed(node) && !faults.is_failed(to)
    });
    places.sort_unstable_by_key(|&(node, dimensions)| (dimensions.count_ones(), node, dimensions));
    places.dedup();
    places
}

/// A detour as its neighbours on a route see it.
#[derive(Clone, Copy)]
struct Ends {
    first: usize,
    last: usize,
    highest: u32,
    lowest: u32,
}

struct Search<'a> {
    faults: &'a CubeFaults,
    cube: Hypercube,
    dependencies: Dependencies,
    /// Detours by first node and, for those that a route may go on after, by last node. Those that
    /// replace one hop end their route, and begin it unless they follow another detour.
    starting_at: BTreeMap<u32, Vec<Ends>>,
    ending_at: BTreeMap<u32, Vec<Ends>>,
}

impl Search<'_> {
    /// A shortest path of working links that can be added to the routes, as dimensions; of these,
    /// one that brings the fewest new dependencies.
    fn detour(&mut self, node: u32, dimensions: u32) -> Option<Vec<u32>> {
        let hops = dimensions.count_ones() as usize;
        for hops in (hops..=hops + EXTRA_HOPS_MAX).step_by(2) {
            let mut paths = Vec::new();
            self.paths(node, node ^ dimensions, hops, &mut Vec::new(), &mut paths);
            let mut candidates: Vec<_> = paths
                .into_iter()
                .filter_map(|path| {
                    let (ends, wanted) = self.wanted(node, dimensions, &path)?;
                    Some((path, ends, wanted))
                })
                .collect();
            candidates.sort_by_key(|(_, _, wanted)| wanted.len());
            for (path, ends, wanted) in candidates {
                if self.dependencies.is_exhausted() {
                    return None;
                }
                if self.dependencies.add(&wanted).is_ok() {
                    self.starting_at.entry(node).or_default().push(ends);
                    if ends.highest != ends.lowest {
                        let to = node ^ dimensions;
                        self.ending_at.entry(to).or_default().push(ends);
                    }
                    return Some(path);
                }
            }
        }
        None
    }

    /// All paths of exactly `hops` hops that visit no node twice, lowest dimensions first, as many
    /// as will be tried.
    fn paths(
        &self,
        node: u32,
        to: u32,
        hops: usize,
        taken: &mut Vec<u32>,
        found: &mut Vec<Vec<u32>>,
    ) {
        if hops == 0 {
            found.push(taken.clone());
            return;
        }
        for dimension in 0..self.cube.dimension() {
            let next = node ^ (1 << dimension);
            if found.len() >= TRIES_MAX
                || !self.faults.is_usable(node, dimension)
                || self.cube.distance(next, to) as usize >= hops
                || (next == to && hops > 1)
                || taken.last() == Some(&dimension)
            {
                continue;
            }
            taken.push(dimension);
            self.paths(next, to, hops - 1, taken, found);
            taken.pop();
        }
    }

    /// The ends of a detour and the new dependencies that it brings.
    fn wanted(
        &self,
        node: u32,
        dimensions: u32,
        path: &[u32],
    ) -> Option<(Ends, Vec<(usize, usize)>)> {
        let to = node ^ dimensions;
        let mut at = node;
        let links: Vec<usize> = path
            .iter()
            .map(|&dimension| {
                let link = self.cube.link(at, dimension);
                at = self.cube.neighbor(at, dimension);
                link
            })
            .collect();
        let (&first, &last) = (links.first()?, links.last()?);
        let ends = Ends {
            first,
            last,
            highest: dimensions.ilog2(),
            lowest: dimensions.trailing_zeros(),
        };
        let mut wanted: Vec<_> = links.windows(2).map(|pair| (pair[0], pair[1])).collect();
        // A route comes from a higher dimension, or from a detour of higher ones.
        let before = self.ending_at.get(&node).into_iter().flatten();
        wanted.extend(
            before
                .filter(|other| other.lowest > ends.highest)
                .map(|other| (other.last, first)),
        );
        if ends.highest != ends.lowest {
            for dimension in ends.highest + 1..self.cube.dimension() {
                if self.faults.is_usable(node, dimension) {
                    let hop = Hop { node, dimension };
                    wanted.push((self.cube.link(hop.target(), dimension), first));
                }
            }
            // It goes on in a lower dimension, or by a detour of lower ones.
            for dimension in 0..ends.lowest {
                if self.faults.is_usable(to, dimension) {
                    wanted.push((last, self.cube.link(to, dimension)));
                }
            }
            let after = self.starting_at.get(&to).into_iter().flatten();
            wanted.extend(
                after
                    .filter(|other| other.highest < ends.lowest)
                    .map(|other| (last, other.first)),
            );
        }
        wanted.retain(|&(held, next)| !self.dependencies.contains(held, next));
        Some((ends, wanted))
    }
}
