//! Exact minimum of a dominating set, by a 0-1 program for the solver library.

use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOptions, SolveOutcome, Variable};

use super::Neighborhoods;

/// Result of the exact solver for dominating sets.
pub(super) struct Solved {
    /// Best dominating set that the solver found, if any. The caller must check the set.
    pub pes: Option<Vec<u32>>,
    /// Lower bound that the solver proved, 0 if it proved none.
    pub lower_bound: u32,
}

/// Search for a smallest set of nodes such that each of `neighborhoods` (a node with its
/// neighbours) contains a node of the set. Start with the set `start`, and open at most `nodes_max`
/// nodes of the search tree.
pub(super) fn solve(neighborhoods: &Neighborhoods, start: &[u32], nodes_max: u64) -> Solved {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let chosen: Vec<Variable> = (0..neighborhoods.node_count())
        .map(|_| problem.add_binary_var(1.0))
        .collect();
    for node in 0..neighborhoods.node_count() {
        let members = neighborhoods.closed(node).iter();
        let terms: Vec<_> = members
            .map(|&member| (chosen[member as usize], 1.0))
            .collect();
        problem.add_constraint(terms.as_slice(), ComparisonOp::Ge, 1.0);
    }
    let mut options = SolveOptions::default();
    options.node_limit = Some(nodes_max);
    let mut hint = vec![0.0; chosen.len()];
    for &pe in start {
        hint[pe as usize] = 1.0;
    }
    options.warm_start = Some(chosen.iter().copied().zip(hint).collect());
    // The set of all nodes is feasible, so an error can only be a numerical problem: nothing is
    // proven.
    let Ok(outcome) = problem.solve_with(options) else {
        return Solved {
            pes: None,
            lower_bound: 0,
        };
    };
    // Round the bound up, since the optimum is an integer. With far fewer than 10^6 nodes, rounding
    // errors of the solver stay below the margin of 1e-6.
    let bound = outcome.stats().best_bound.unwrap_or(0.0);
    let lower_bound = (bound - 1e-6).ceil().max(0.0) as u32;
    let pes = match outcome {
        SolveOutcome::Interrupted(_) => None,
        SolveOutcome::Solution(solution) => Some(
            (0..neighborhoods.node_count())
                .filter(|&node| solution.var_value(chosen[node as usize]) > 0.5)
                .collect(),
        ),
    };
    Solved { pes, lower_bound }
}
