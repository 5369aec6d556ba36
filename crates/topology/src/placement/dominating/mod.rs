//! Minimum dominating sets: the smallest number of I/O nodes with every PE within one hop of one.
//!
//! The problem is NP-complete (section 3.2 of the hypercube paper), so the work has a limit. Small
//! networks are solved exactly; for larger ones the result is a small set and a lower bound.

mod bound;
mod exact;
mod search;

use crate::Adjacency;

/// Limits of the work in the search for a dominating set. They count steps, not time, so the result
/// is the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Largest number of PEs for which the exact solver is used; 0 disables the solver.
    pub solver_pes_max: u32,
    /// Maximum number of branch-and-bound nodes that the solver may open.
    pub solver_nodes_max: u64,
    /// Maximum number of steps of the local search.
    pub search_steps_max: u64,
}

impl Default for Budget {
    /// Return limits for a search of a few seconds at most.
    fn default() -> Self {
        Self {
            solver_pes_max: 128,
            solver_nodes_max: 2_000,
            search_steps_max: 1 << 26,
        }
    }
}

/// A dominating set of PEs, and a lower bound on the size of any such set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DominatingSet {
    pes: Vec<u32>,
    lower_bound: u32,
}

impl DominatingSet {
    /// Search for a smallest dominating set of `network`: by greedy choice, then by local search,
    /// then, if the budget permits, by an exact solver that starts from the best set found.
    ///
    /// `start` may provide an initial set. The search uses it if it dominates the network and is
    /// smaller than the greedy set.
    pub fn find(network: &impl Adjacency, start: Option<&[u32]>, budget: Budget) -> Self {
        let neighborhoods = Neighborhoods::new(network);
        let mut lower_bound = bound::lower(&neighborhoods);
        let mut pes = search::greedy(&neighborhoods);
        if let Some(start) = start
            && start.len() < pes.len()
            && neighborhoods.are_dominated_by(start)
        {
            pes = start.to_vec();
        }
        if pes.len() as u32 > lower_bound {
            pes = search::improve(
                &neighborhoods,
                pes,
                lower_bound as usize,
                budget.search_steps_max,
            );
        }
        if pes.len() as u32 > lower_bound && neighborhoods.node_count() <= budget.solver_pes_max {
            let solved = exact::solve(&neighborhoods, &pes, budget.solver_nodes_max);
            lower_bound = lower_bound.max(solved.lower_bound);
            if let Some(better) = solved.pes
                && better.len() < pes.len()
                && neighborhoods.are_dominated_by(&better)
            {
                pes = better;
            }
        }
        pes.sort_unstable();
        Self { pes, lower_bound }
    }

    /// Return the PEs of the set, ascending.
    pub fn pes(&self) -> &[u32] {
        &self.pes
    }

    /// Return the lower bound: no dominating set is smaller.
    pub fn lower_bound(&self) -> u32 {
        self.lower_bound
    }

    /// Return whether the set is proven to be a smallest one.
    pub fn is_optimal(&self) -> bool {
        self.pes.len() as u32 <= self.lower_bound
    }
}

/// The closed neighbourhood of every node (the node and its neighbours), in one block of memory.
struct Neighborhoods {
    members: Vec<u32>,
    /// For each node, the index of its first entry in `members`; at the end, the length of
    /// `members`.
    start: Vec<usize>,
}

impl Neighborhoods {
    /// Return the closed neighbourhood (the node itself and its neighbours) of each node of a
    /// network.
    fn new(network: &impl Adjacency) -> Self {
        let mut members = Vec::new();
        let mut start = vec![0];
        for node in 0..network.node_count() {
            members.push(node);
            members.extend(network.neighbors(node));
            start.push(members.len());
        }
        Self { members, start }
    }

    /// Return the number of nodes of the network.
    fn node_count(&self) -> u32 {
        self.start.len() as u32 - 1
    }

    /// Return the closed neighbourhood of `node`: the node and its neighbours.
    fn closed(&self, node: u32) -> &[u32] {
        &self.members[self.start[node as usize]..self.start[node as usize + 1]]
    }

    /// Return whether each closed neighbourhood contains one of `pes`.
    fn are_dominated_by(&self, pes: &[u32]) -> bool {
        let mut covered = vec![false; self.node_count() as usize];
        for &pe in pes {
            if pe >= self.node_count() {
                return false;
            }
            for &node in self.closed(pe) {
                covered[node as usize] = true;
            }
        }
        !covered.contains(&false)
    }
}
