//! Shortest detours that keep the whole set of routes free of deadlock.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{CubeFaults, base};
use crate::{Hop, IncompleteHypercube};

/// Hops that a detour may be longer than the distance of its ends.
const EXTRA_HOPS_MAX: u32 = 12;
/// Paths tried for one pair before its length is given up.
const TRIES_MAX: u32 = 64;

/// Dependencies on top of those of the cube's own routing, without a cycle among them all.
///
/// The base is taken as if nothing had failed. That errs on the safe side only: every dependency
/// that is really there is counted.
struct Dependencies {
    cube: IncompleteHypercube,
    added: Vec<(usize, usize)>,
    known: BTreeSet<(usize, usize)>,
    /// Would close a cycle, and will for good: dependencies are only ever added for good.
    refused: HashSet<(usize, usize)>,
    /// Reachability questions that may still be asked.
    work_left: u64,
}

impl Dependencies {
    /// Adds the dependencies, all or none; `Err` with the place in `wanted` of the first that closes
    /// a cycle with those before it.
    fn add(&mut self, wanted: &[(usize, usize)]) -> Result<(), usize> {
        let before = self.added.len();
        for (place, &dependency) in wanted.iter().enumerate() {
            if self.closes_cycle(dependency) {
                for dependency in self.added.drain(before..) {
                    self.known.remove(&dependency);
                }
                if place == 0 || self.closes_cycle(dependency) {
                    self.refused.insert(dependency);
                }
                return Err(place);
            }
            self.added.push(dependency);
            self.known.insert(dependency);
        }
        Ok(())
    }

    fn closes_cycle(&mut self, (held, next): (usize, usize)) -> bool {
        let goal = self.cube.hop(held);
        let mut seen = vec![false; self.added.len()];
        let mut stack = vec![next];
        while let Some(link) = stack.pop() {
            let at = self.cube.hop(link);
            if at == goal || base::reaches(self.cube, at, goal) {
                return true;
            }
            self.work_left = self.work_left.saturating_sub(self.added.len() as u64);
            for (place, &(held, next)) in self.added.iter().enumerate() {
                if !seen[place]
                    && (link == held || base::reaches(self.cube, at, self.cube.hop(held)))
                {
                    seen[place] = true;
                    stack.push(next);
                }
            }
        }
        false
    }
}

/// A partial path of the search, seen from its last link.
#[derive(Clone, Copy)]
struct Step {
    link: usize,
    /// Dependencies on the way that are not known yet.
    new_dependencies: u32,
    /// Place of the step before in the layer before.
    before: usize,
}

struct Search<'a> {
    faults: &'a CubeFaults,
    dependencies: Dependencies,
}

impl Search<'_> {
    /// The dimensions of a shortest path between the two nodes that can be added to the routes.
    fn detour(&mut self, from: u32, to: u32) -> Option<Vec<u8>> {
        let distance = self.faults.cube().distance(from, to);
        (distance..=distance + EXTRA_HOPS_MAX)
            .step_by(2)
            .find_map(|hops| self.detour_of(from, to, hops))
    }

    fn detour_of(&mut self, from: u32, to: u32, hops: u32) -> Option<Vec<u8>> {
        let mut excluded = HashSet::new();
        for _ in 0..TRIES_MAX {
            let path = self.best_path(from, to, hops, &excluded)?;
            let new: Vec<_> = path
                .windows(2)
                .map(|pair| (pair[0], pair[1]))
                .filter(|&(held, next)| !self.is_known(held, next))
                .collect();
            match self.dependencies.add(&new) {
                Ok(()) => {
                    let cube = self.faults.cube();
                    let dimensions = path.iter().map(|&link| cube.hop(link).dimension as u8);
                    return Some(dimensions.collect());
                }
                // Together with the others it closes a cycle; without it they may not.
                Err(place) => excluded.insert(new[place]),
            };
            if self.dependencies.work_left == 0 {
                return None;
            }
        }
        None
    }

    /// Of the paths of exactly `hops` hops over working links and without refused or excluded
    /// dependencies, one with the fewest new dependencies; ties go to the higher dimension, late
    /// hops first.
    fn best_path(
        &self,
        from: u32,
        to: u32,
        hops: u32,
        excluded: &HashSet<(usize, usize)>,
    ) -> Option<Vec<usize>> {
        let cube = self.faults.cube();
        let mut layers: Vec<Vec<Step>> = Vec::with_capacity(hops as usize);
        for taken in 1..=hops {
            let mut layer: Vec<Step> = Vec::new();
            let mut place: HashMap<usize, usize> = HashMap::new();
            let mut extend = |node: u32, last: Option<(usize, Step)>| {
                for dimension in self.faults.usable_dimensions(node) {
                    let hop = Hop { node, dimension };
                    if taken + cube.distance(hop.target(), to) > hops {
                        continue;
                    }
                    let link = cube.link(node, dimension);
                    let mut step = Step {
                        link,
                        new_dependencies: 0,
                        before: 0,
                    };
                    if let Some((before, last)) = last {
                        let dependency = (last.link, link);
                        if cube.hop(last.link).dimension == dimension
                            || excluded.contains(&dependency)
                            || self.dependencies.refused.contains(&dependency)
                        {
                            continue;
                        }
                        let new = !self.is_known(last.link, link);
                        step.new_dependencies = last.new_dependencies + u32::from(new);
                        step.before = before;
                    }
                    match place.get(&link) {
                        None => {
                            place.insert(link, layer.len());
                            layer.push(step);
                        }
                        Some(&at) if step.new_dependencies < layer[at].new_dependencies => {
                            layer[at] = step;
                        }
                        Some(_) => {}
                    }
                }
            };
            match layers.last() {
                None => extend(from, None),
                Some(previous) => {
                    for (before, &last) in previous.iter().enumerate() {
                        extend(cube.hop(last.link).target(), Some((before, last)));
                    }
                }
            }
            layers.push(layer);
        }
        let ends = layers.last()?.iter();
        let mut step = *ends.min_by_key(|step| step.new_dependencies)?;
        let mut path = vec![step.link];
        for layer in layers.iter().rev().skip(1) {
            step = layer[step.before];
            path.push(step.link);
        }
        path.reverse();
        Some(path)
    }

    fn is_known(&self, held: usize, next: usize) -> bool {
        let cube = self.faults.cube();
        base::depends(cube, cube.hop(held), cube.hop(next))
            || self.dependencies.known.contains(&(held, next))
    }
}

/// Routes for the given pairs, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Detours {
    /// Sorted by pair, with the end of its dimensions; they start where those before end.
    pairs: Vec<((u32, u32), usize)>,
    dimensions: Vec<u8>,
}

impl Detours {
    /// Finds a detour for each pair, shorter pairs first to leave the longer ones, which have more
    /// choice, to adapt; `None` when some pair has none or the work is used up.
    pub(super) fn find(faults: &CubeFaults, pairs: &[(u32, u32)], work_max: u64) -> Option<Self> {
        let mut search = Search {
            faults,
            dependencies: Dependencies {
                cube: faults.cube(),
                added: Vec::new(),
                known: BTreeSet::new(),
                refused: HashSet::new(),
                work_left: work_max,
            },
        };
        let mut found = Vec::with_capacity(pairs.len());
        for &(from, to) in pairs {
            found.push(((from, to), search.detour(from, to)?));
        }
        found.sort_unstable_by_key(|&(pair, _)| pair);
        let mut detours = Self {
            pairs: Vec::with_capacity(found.len()),
            dimensions: Vec::new(),
        };
        for (pair, dimensions) in found {
            detours.dimensions.extend(dimensions);
            detours.pairs.push((pair, detours.dimensions.len()));
        }
        Some(detours)
    }

    /// The dimensions to cross; `None` for a pair without a detour.
    pub(super) fn get(&self, from: u32, to: u32) -> Option<&[u8]> {
        let place = self
            .pairs
            .binary_search_by_key(&(from, to), |&(pair, _)| pair)
            .ok()?;
        let start = if place == 0 {
            0
        } else {
            self.pairs[place - 1].1
        };
        Some(&self.dimensions[start..self.pairs[place].1])
    }

    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }
}
