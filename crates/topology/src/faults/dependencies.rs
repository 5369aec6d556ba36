//! Channel dependencies added to those of a cube's own routing, kept free of cycles.

use std::collections::HashSet;

use super::base;
use crate::IncompleteHypercube;

/// Dependencies (held link, next link) on top of those of the cube's own routing, without a cycle
/// among them all.
///
/// The base is taken as if nothing had failed, so it needs no memory, whatever the size of the cube.
/// That errs on the safe side only: every dependency that is really there is counted.
pub(super) struct Dependencies {
    cube: IncompleteHypercube,
    added: Vec<(usize, usize)>,
    known: HashSet<(usize, usize)>,
    /// Reachability questions that may still be asked.
    work_left: u64,
}

/// The first dependency of a list that closes a cycle with those before it.
pub(super) struct Refusal {
    /// Its place in the list.
    pub place: usize,
    /// Whether it closes one with those added for good, so that it will always be refused.
    pub for_good: bool,
}

impl Dependencies {
    pub(super) fn new(cube: IncompleteHypercube, work_max: u64) -> Self {
        Self {
            cube,
            added: Vec::new(),
            known: HashSet::new(),
            work_left: work_max,
        }
    }

    /// Whether so many questions were asked that the answer should be given up.
    pub(super) fn is_exhausted(&self) -> bool {
        self.work_left == 0
    }

    /// Whether the dependency is one of the cube's own routing or has been added.
    pub(super) fn contains(&self, held: usize, next: usize) -> bool {
        self.known.contains(&(held, next))
            || base::depends(self.cube, self.cube.hop(held), self.cube.hop(next))
    }

    /// Adds the dependencies, all or none.
    pub(super) fn add(&mut self, wanted: &[(usize, usize)]) -> Result<(), Refusal> {
        let before = self.added.len();
        for (place, &dependency) in wanted.iter().enumerate() {
            if self.contains(dependency.0, dependency.1) {
                continue;
            }
            if self.closes_cycle(dependency) {
                let alone = self.added.len() == before;
                for dependency in self.added.drain(before..) {
                    self.known.remove(&dependency);
                }
                return Err(Refusal {
                    place,
                    for_good: alone || self.closes_cycle(dependency),
                });
            }
            self.added.push(dependency);
            self.known.insert(dependency);
        }
        Ok(())
    }

    /// Whether a chain of dependencies leads from `next` to `held`.
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
