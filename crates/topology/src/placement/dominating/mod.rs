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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, Hypercube, IncompleteHypercube, Placement};
    use proptest::prelude::*;

    /// Return the dominating set found with the default budget.
    fn find(network: &impl Adjacency) -> DominatingSet {
        DominatingSet::find(network, None, Budget::default())
    }

    /// Return the size of the smallest dominating set by trying all sets.
    fn smallest(network: &impl Adjacency) -> u32 {
        let count = network.node_count();
        let masks: Vec<u32> = (0..count)
            .map(|node| {
                network
                    .neighbors(node)
                    .fold(1 << node, |mask, neighbor| mask | 1 << neighbor)
            })
            .collect();
        (0u32..1 << count)
            .filter(|set| masks.iter().all(|mask| mask & set != 0))
            .map(u32::count_ones)
            .min()
            .unwrap()
    }

    /// Checks the sizes of the smallest covering codes of radius 1, K(n, 1), from the literature
    /// (Cohen et al., "Covering Codes", table 6.1): 1, 2, 2, 4, 7, 12, 16.
    #[test]
    fn hypercubes_up_to_5_dimensions_are_solved() {
        for (dimension, size) in [(1, 1), (2, 2), (3, 2), (4, 4), (5, 7)] {
            let set = find(&Hypercube::new(dimension).unwrap());
            assert_eq!(set.pes().len(), size, "{dimension} dimensions");
            assert!(set.is_optimal(), "{dimension}: {}", set.lower_bound());
        }
    }

    /// Checks that without the solver, the set for the 6-cube has 12 PEs, and the set for the
    /// 7-cube is proven to be smallest.
    #[test]
    fn six_dimensions_reach_12_and_seven_are_proven_by_the_code() {
        let budget = Budget {
            solver_pes_max: 0,
            ..Budget::default()
        };
        let six = Placement::dominating(Hypercube::new(6).unwrap(), budget);
        assert_eq!(six.1.pes().len(), 12);
        assert!(six.1.lower_bound() >= 10);
        let (placement, set) = Placement::dominating(Hypercube::new(7).unwrap(), budget);
        assert!(set.is_optimal() && placement.coverage().is_perfect());
    }

    /// Checks that the smallest dominating sets of stars, rings and networks with isolated nodes
    /// are found.
    #[test]
    fn stars_rings_and_isolated_nodes_are_solved() {
        let star = Graph::from_edge_list("hub a\nhub b\nhub c\nhub d").unwrap();
        let set = find(&star);
        assert_eq!((set.pes(), set.is_optimal()), (&[0][..], true));
        // The smallest dominating set of a ring of n nodes has ceil(n / 3) nodes.
        for count in 3..20 {
            let text: String = (0..count)
                .map(|node| format!("{node} {}\n", (node + 1) % count))
                .collect();
            let set = find(&Graph::from_edge_list(&text).unwrap());
            assert_eq!(set.pes().len(), usize::div_ceil(count, 3));
            assert!(set.is_optimal());
        }
        let loose = Graph::from_edge_list("a\nb\nc d").unwrap();
        assert_eq!(find(&loose).pes().len(), 3);
    }

    /// Checks that the initial set is ignored if it does not dominate the network.
    #[test]
    fn an_initial_set_is_used_only_if_it_dominates() {
        let cube = Hypercube::new(4).unwrap();
        let budget = Budget {
            solver_pes_max: 0,
            search_steps_max: 0,
            ..Budget::default()
        };
        let useless = DominatingSet::find(&cube, Some(&[0]), budget);
        assert!(useless.pes().len() >= 4);
        let missing = DominatingSet::find(&cube, Some(&[99]), budget);
        assert_eq!(missing, useless);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Checks that the dominating sets found for random graphs are as small as those of an
        /// exhaustive search.
        #[test]
        fn random_graphs_are_solved_exactly(
            node_count in 2u32..13,
            links in prop::collection::vec((any::<u32>(), any::<u32>()), 0..24),
        ) {
            let mut text: String = (0..node_count).map(|node| format!("{node}\n")).collect();
            for (from, to) in links {
                if from % node_count != to % node_count {
                    text += &format!("{} {}\n", from % node_count, to % node_count);
                }
            }
            let graph = Graph::from_edge_list(&text).unwrap();
            let set = find(&graph);
            prop_assert!(set.is_optimal());
            prop_assert_eq!(set.pes().len() as u32, smallest(&graph));
            let placement = Placement::nearest(&graph, set.pes().to_vec()).unwrap();
            prop_assert!(placement.coverage().is_dominating());
        }

        /// Checks that without the solver, the lower bound does not exceed the size of the smallest
        /// set.
        #[test]
        fn bounds_hold_without_the_solver(node_count in 1u32..17) {
            let cube = IncompleteHypercube::new(node_count).unwrap();
            let budget = Budget { solver_pes_max: 0, ..Budget::default() };
            let set = DominatingSet::find(&cube, None, budget);
            let smallest = smallest(&cube);
            prop_assert!(set.lower_bound() <= smallest);
            prop_assert_eq!(set.pes().len() as u32, smallest);
        }
    }
}
