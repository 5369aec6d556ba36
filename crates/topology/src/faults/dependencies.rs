//! Channel dependencies of detours, added to those of a cube's own routing without closing a cycle.

use std::collections::HashSet;

use super::base;
use crate::IncompleteHypercube;

/// Channel dependencies (held link, next link) that detours add to those of the cube's own routing.
/// All of them together have no cycle.
///
/// The dependencies of the cube's own routing are computed as if it had no faults, so they need no
/// memory, whatever the size of the cube. This is a safe approximation: every actual dependency is
/// counted.
pub(super) struct Dependencies {
    cube: IncompleteHypercube,
    added: Vec<(usize, usize)>,
    known: HashSet<(usize, usize)>,
    /// Number of steps that all further reachability tests together may still take.
    work_left: u64,
}

/// The reason why a list of dependencies was not added: one of them would close a cycle.
pub(super) struct Refusal {
    /// Index of the dependency that closes a cycle, in the list that was passed to [`Dependencies::add`].
    pub index: usize,
    /// Whether the dependency closes a cycle with the permanent dependencies, so that later
    /// attempts will fail, too.
    pub permanent: bool,
}

impl Dependencies {
    /// Return a set without additional dependencies. All its tests of reachability together may take `work_max` steps.
    pub(super) fn new(cube: IncompleteHypercube, work_max: u64) -> Self {
        Self {
            cube,
            added: Vec::new(),
            known: HashSet::new(),
            work_left: work_max,
        }
    }

    /// Return whether the reachability tests have used up their steps. If so, the search should stop.
    pub(super) fn is_exhausted(&self) -> bool {
        self.work_left == 0
    }

    /// Return whether the dependency of link `next` on link `held` is already known: it belongs to the cube's own
    /// routing or was added.
    pub(super) fn contains(&self, held: usize, next: usize) -> bool {
        self.known.contains(&(held, next))
            || base::depends(self.cube, self.cube.hop(held), self.cube.hop(next))
    }

    /// Add all dependencies in `wanted`. If one of them would close a cycle, add none and return the refusal.
    pub(super) fn add(&mut self, wanted: &[(usize, usize)]) -> Result<(), Refusal> {
        let before = self.added.len();
        for (index, &dependency) in wanted.iter().enumerate() {
            if self.contains(dependency.0, dependency.1) {
                continue;
            }
            if self.closes_cycle(dependency) {
                let alone = self.added.len() == before;
                for dependency in self.added.drain(before..) {
                    self.known.remove(&dependency);
                }
                return Err(Refusal {
                    index,
                    permanent: alone || self.closes_cycle(dependency),
                });
            }
            self.added.push(dependency);
            self.known.insert(dependency);
        }
        Ok(())
    }

    /// Return whether the dependency (`held`, `next`) would close a cycle: whether a chain of
    /// dependencies already leads from link `next` to link `held`.
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
            for (index, &(held, next)) in self.added.iter().enumerate() {
                if !seen[index]
                    && (link == held || base::reaches(self.cube, at, self.cube.hop(held)))
                {
                    seen[index] = true;
                    stack.push(next);
                }
            }
        }
        false
    }
}
