//! Maximum bipartite matching, found by extension of an existing matching.

use std::collections::VecDeque;

/// Index of the partner of a sender or node that is not matched.
const FREE: u32 = u32::MAX;

/// A matching of senders with target nodes. Each sender is identified by its index in a list.
pub(crate) struct Matching<'a> {
    senders: &'a [u32],
    target_of: Vec<u32>,
    /// For each node the index of its matched sender, or [`FREE`].
    sender_of: Vec<u32>,
}

impl<'a> Matching<'a> {
    /// Return the empty matching of `senders` with nodes `0..node_count`.
    pub fn new(senders: &'a [u32], node_count: usize) -> Self {
        Self {
            senders,
            target_of: vec![FREE; senders.len()],
            sender_of: vec![FREE; node_count],
        }
    }

    /// Match the sender with index `index` with the node `target`; both must be free.
    pub fn match_pair(&mut self, index: usize, target: u32) {
        debug_assert!(self.target_of[index] == FREE && self.sender_of[target as usize] == FREE);
        self.target_of[index] = target;
        self.sender_of[target as usize] = index as u32;
    }

    /// Return the matched pairs (sender, target), in the order of the senders.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.senders
            .iter()
            .zip(&self.target_of)
            .filter(|&(_, &target)| target != FREE)
            .map(|(&sender, &target)| (sender, target))
    }

    /// Extend the matching until no larger one exists. `targets(s)` lists the possible targets of
    /// sender `s`. Matched targets remain matched.
    pub fn maximize<I: Iterator<Item = u32>>(&mut self, targets: impl Fn(u32) -> I) {
        loop {
            // Visit no target twice within a pass: a failed search proves that its targets lead to no
            // free target until the next pass.
            let mut reached_from = vec![FREE; self.sender_of.len()];
            let mut grown = false;
            for index in 0..self.senders.len() {
                if self.target_of[index] == FREE {
                    grown |= self.augment(index, &mut reached_from, &targets);
                }
            }
            if !grown {
                return;
            }
        }
    }

    /// Search for an alternating path from the free sender with index `start` to a free target.
    fn augment<I: Iterator<Item = u32>>(
        &mut self,
        start: usize,
        reached_from: &mut [u32],
        targets: impl Fn(u32) -> I,
    ) -> bool {
        let mut queue = VecDeque::from([start as u32]);
        while let Some(index) = queue.pop_front() {
            for target in targets(self.senders[index as usize]) {
                if reached_from[target as usize] != FREE {
                    continue;
                }
                reached_from[target as usize] = index;
                match self.sender_of[target as usize] {
                    FREE => {
                        self.flip(target, reached_from);
                        return true;
                    }
                    next => queue.push_back(next),
                }
            }
        }
        false
    }

    /// Match all senders on the alternating path that ends at `target`.
    fn flip(&mut self, mut target: u32, reached_from: &[u32]) {
        loop {
            let index = reached_from[target as usize];
            let before = std::mem::replace(&mut self.target_of[index as usize], target);
            self.sender_of[target as usize] = index;
            if before == FREE {
                return;
            }
            target = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Return the size of the largest matching by trying all matchings.
    fn largest(edges: &[Vec<u32>], used: u32) -> usize {
        let Some((first, rest)) = edges.split_first() else {
            return 0;
        };
        let joined = first
            .iter()
            .filter(|&&target| used >> target & 1 == 0)
            .map(|&target| 1 + largest(rest, used | 1 << target));
        joined.chain([largest(rest, used)]).max().unwrap_or(0)
    }

    proptest! {
        /// Checks that a matching has as many pairs as the largest matching that an exhaustive search finds.
        #[test]
        fn matchings_are_maximum(
            edges in prop::collection::vec(prop::collection::btree_set(0u32..7, 0..4), 1..7),
        ) {
            let edges: Vec<Vec<u32>> = edges.into_iter().map(|set| set.into_iter().collect()).collect();
            let senders: Vec<u32> = (0..edges.len() as u32).collect();
            let mut matching = Matching::new(&senders, 7);
            matching.maximize(|sender| edges[sender as usize].iter().copied());
            let pairs: Vec<_> = matching.pairs().collect();
            let mut targets: Vec<_> = pairs.iter().map(|&(_, target)| target).collect();
            targets.sort_unstable();
            targets.dedup();
            prop_assert_eq!(targets.len(), pairs.len());
            prop_assert!(pairs.iter().all(|&(sender, target)| edges[sender as usize].contains(&target)));
            prop_assert_eq!(pairs.len(), largest(&edges, 0));
        }
    }
}
