//! Detours stored per fault instead of per pair of nodes, for cubes with too many pairs.

use std::collections::{BTreeMap, HashMap};

use super::CubeFaults;
use super::dependencies::Dependencies;
use crate::{Hop, Hypercube};

/// Maximum number of hops by which a local detour may exceed the hops that it replaces.
const EXTRA_HOPS_MAX: usize = 4;
/// Maximum number of orders in which the search processes the broken sections of routes.
const ORDERS_MAX: u64 = 32;
/// Maximum number of paths that the search tries for one local detour.
const TRIES_MAX: usize = 256;

/// Detours around broken links of a complete cube, which are inserted into e-cube routes.
///
/// A route follows e-cube. If its next link is broken, a detour between the same two nodes replaces
/// this link and the following link, if any: usually the same two dimensions in the other order.
/// (If the detour would end at a failed node, it also replaces the following hops until it ends at
/// a working node. If the last dimension of the detour is the next dimension of the route, the
/// route omits both hops.) If only two links are left and the second is broken, the detour replaces
/// both. So a detour longer than the replaced hops is only needed for a neighbour over a broken
/// link, or between adjacent faults.
#[derive(Debug, Clone)]
pub(super) struct LocalDetours {
    /// For each first node and set of replaced dimensions, the dimensions that the detour crosses.
    paths: HashMap<(u32, u32), Vec<u8>>,
}

/// Return the set of dimensions that a detour from `node` replaces, for a route with the remaining
/// dimensions `remaining` (not empty); `None` if the route takes the next link of e-cube.
pub(super) fn replaced_dimensions(faults: &CubeFaults, node: u32, remaining: u32) -> Option<u32> {
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
    /// Find a detour for every broken section of a route, such that the whole routing is free of
    /// deadlock. If no detour is found for a section, it is moved to the front of the list and the
    /// search starts again. Return `None` if this does not help, or if the search has used up its
    /// steps.
    pub(super) fn find(faults: &CubeFaults, work_max: u64) -> Option<Self> {
        if !faults.cube().is_complete() {
            return None;
        }
        let cube = Hypercube::new(faults.cube().dimension()).ok()?;
        let mut places = detour_places(faults, cube);
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
                leaving_at: BTreeMap::new(),
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

    /// Return the dimensions that a route crosses from `node` instead of `replaced`, a set that
    /// [`replaced_dimensions`] returned. Remove from `remaining` the dimensions that the route need
    /// not cross any more.
    pub(super) fn take_detour(&self, node: u32, replaced: u32, remaining: &mut u32) -> &[u8] {
        *remaining ^= replaced;
        let path = &self.paths[&(node, replaced)];
        match path.split_last() {
            // Omit the last hop of the detour if the next hop of the route would undo it.
            Some((&last, rest)) if remaining.checked_ilog2() == Some(u32::from(last)) => {
                *remaining ^= 1 << last;
                rest
            }
            _ => path,
        }
    }

    /// Return the number of local detours.
    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }
}

/// Return all sections of routes that need a detour, as (first node, dimensions to replace), single
/// hops first.
fn detour_places(faults: &CubeFaults, cube: Hypercube) -> Vec<(u32, u32)> {
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
        let needed = replaced_dimensions(faults, node, dimensions) == Some(dimensions);
        needed && !faults.is_failed(node) && !faults.is_failed(to)
    });
    places.sort_unstable_by_key(|&(node, dimensions)| (dimensions.count_ones(), node, dimensions));
    places.dedup();
    places
}

/// A possible local detour, with the dependencies that it adds.
struct Candidate {
    dimensions: Vec<u32>,
    first: usize,
    exits: Vec<Exit>,
    /// Channel dependencies (held link, next link) that the detour would add to the routing.
    new: Vec<(usize, usize)>,
}

/// A node at which a route leaves a detour, and the dimensions that it may cross from there.
struct Exit {
    node: u32,
    /// The last link of the detour.
    last: usize,
    /// Upper bound (exclusive) of the dimensions that the route has yet to cross.
    below: u32,
    /// A dimension that the route never crosses next at this exit, since that would go back.
    never: Option<u32>,
}

/// State of the search for local detours.
struct Search<'a> {
    faults: &'a CubeFaults,
    cube: Hypercube,
    dependencies: Dependencies,
    /// For each first node, the detours found so far: highest replaced dimension and first link.
    starting_at: BTreeMap<u32, Vec<(u32, usize)>>,
    /// For each node, the exits at this node: the ends of the detours found so far.
    leaving_at: BTreeMap<u32, Vec<Exit>>,
}

impl Search<'_> {
    /// Find a shortest path of working links that can be added to the routes without a risk of
    /// deadlock, and return the dimensions that it crosses; `None` if none is found. Of several such
    /// paths, choose the one with the fewest new channel dependencies.
    fn detour(&mut self, node: u32, replaced: u32) -> Option<Vec<u32>> {
        let hops = replaced.count_ones() as usize;
        for hops in (hops..=hops + EXTRA_HOPS_MAX).step_by(2) {
            let mut paths = Vec::new();
            self.paths(node, node ^ replaced, hops, &mut Vec::new(), &mut paths);
            let mut candidates: Vec<_> = paths
                .into_iter()
                .map(|path| self.candidate(node, replaced, path))
                .collect();
            candidates.sort_by_key(|candidate| candidate.new.len());
            for candidate in candidates {
                if self.dependencies.is_exhausted() {
                    return None;
                }
                if self.dependencies.add(&candidate.new).is_ok() {
                    let start = (replaced.ilog2(), candidate.first);
                    self.starting_at.entry(node).or_default().push(start);
                    for exit in candidate.exits {
                        self.leaving_at.entry(exit.node).or_default().push(exit);
                    }
                    return Some(candidate.dimensions);
                }
            }
        }
        None
    }

    /// Find paths of exactly `hops` hops that never turn back, lowest dimensions first, at most
    /// [`TRIES_MAX`].
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

    /// Return the detour along `dimensions`, with the dependencies that it adds.
    fn candidate(&self, node: u32, replaced: u32, dimensions: Vec<u32>) -> Candidate {
        let mut at = node;
        let links: Vec<usize> = dimensions
            .iter()
            .map(|&dimension| {
                let link = self.cube.link(at, dimension);
                at = self.cube.neighbor(at, dimension);
                link
            })
            .collect();
        let (first, last) = (links[0], links[links.len() - 1]);
        let (highest, lowest) = (replaced.ilog2(), replaced.trailing_zeros());
        let mut wanted: Vec<_> = links.windows(2).map(|pair| (pair[0], pair[1])).collect();
        // Add dependencies on this detour. Case 1: a route enters it from the last link of another
        // detour, which replaced higher dimensions.
        let before = self.leaving_at.get(&node).into_iter().flatten();
        let before = before.filter(|exit| exit.leads_to(highest));
        wanted.extend(before.map(|exit| (exit.last, first)));
        let mut exits = Vec::new();
        // Case 2: a route enters this detour from an ordinary link of a higher dimension. This does
        // not happen if the detour replaces only one hop, since both hops are then replaced
        // together. After such a detour the route has no further hop.
        if highest != lowest {
            for dimension in highest + 1..self.cube.dimension() {
                if self.faults.is_usable(node, dimension) {
                    let hop = Hop { node, dimension };
                    wanted.push((self.cube.link(hop.target(), dimension), first));
                }
            }
            let dimension = dimensions[dimensions.len() - 1];
            exits.push(Exit {
                node: at,
                last,
                below: lowest,
                never: Some(dimension),
            });
            if dimension < lowest {
                exits.push(Exit {
                    node: self.cube.neighbor(at, dimension),
                    last: links[links.len() - 2],
                    below: dimension,
                    never: None,
                });
            }
        }
        for exit in &exits {
            let lower = (0..exit.below).filter(|&dimension| {
                exit.leads_to(dimension) && self.faults.is_usable(exit.node, dimension)
            });
            wanted.extend(lower.map(|along| (exit.last, self.cube.link(exit.node, along))));
            let after = self.starting_at.get(&exit.node).into_iter().flatten();
            let after = after.filter(|&&(highest, _)| exit.leads_to(highest));
            wanted.extend(after.map(|&(_, first)| (exit.last, first)));
        }
        wanted.retain(|&(held, next)| !self.dependencies.contains(held, next));
        Candidate {
            dimensions,
            first,
            exits,
            new: wanted,
        }
    }
}

impl Exit {
    /// Return whether `dimension` can be the highest dimension that a route still has to cross when it
    /// leaves the detour at this exit.
    fn leads_to(&self, dimension: u32) -> bool {
        dimension < self.below && self.never != Some(dimension)
    }
}
