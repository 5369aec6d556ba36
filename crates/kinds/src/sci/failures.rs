//! What can fail in a fabric: the cases of a dependability study.

use isthmus_kernel::{Streams, draw_below};
use isthmus_machine::sci::Machine;
use isthmus_topology::rings::{Failure, pair_count, sample_pairs};

/// All single failures and a sample of the double ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Failures {
    /// Single failures that differ in what they stop.
    pub single: Vec<Failure>,
    /// Number of pairs of them.
    pub pairs: u64,
    /// Pairs of positions in `single`.
    pub double: Vec<(u32, u32)>,
}

impl Failures {
    /// What can fail of `machine` beyond its own faults. Of the double failures `doubles` are drawn
    /// under `seed`, each set of them as likely as any other; all if there are no more.
    pub fn new(machine: &Machine, doubles: u64, seed: u64) -> Self {
        let single = machine.fabric().single_failures();
        let count = single.len() as u32;
        let mut stream = Streams::new(seed, 0).stream("double failure", 0);
        let below = |limit: u64| draw_below(limit, &mut stream);
        Self {
            pairs: pair_count(count),
            double: sample_pairs(count, doubles, below),
            single,
        }
    }
}
