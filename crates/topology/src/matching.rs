//! Maximum bipartite matching, grown from a given one.

use std::collections::VecDeque;

const FREE: u32 = u32::MAX;

/// A matching of senders, by their place in a list, with target nodes.
pub(crate) struct Matching<'a> {
    senders: &'a [u32],
    target_of: Vec<u32>,
    /// Per node the place of the sender it is matched with.
    sender_of: Vec<u32>,
}

impl<'a> Matching<'a> {
    /// The empty matching of `senders` with nodes `0..node_count`.
    pub fn new(senders: &'a [u32], node_count: usize) -> Self {
        Self {
            senders,
            target_of: vec![FREE; senders.len()],
            sender_of: vec![FREE; node_count],
        }
    }

    /// Matches the sender at `place` with `target`, both of them free.
    pub fn join(&mut self, place: usize, target: u32) {
        debug_assert!(self.target_of[place] == FREE && self.sender_of[target as usize] == FREE);
        self.target_of[place] = target;
        self.sender_of[target as usize] = place as u32;
    }

    /// The matched pairs (sender, target), in the order of the senders.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.senders
            .iter()
            .zip(&self.target_of)
            .filter(|&(_, &target)| target != FREE)
            .map(|(&sender, &target)| (sender, target))
    }

    /// Augments until no larger matching exists; `targets(s)` lists what sender `s` may be matched
    /// with. Targets that are matched stay so.
    pub fn maximize<I: Iterator<Item = u32>>(&mut self, targets: impl Fn(u32) -> I) {
        loop {
            // Within a pass no target is visited twice: a search that fails shows that what it saw
            // leads nowhere, until the next pass looks again.
            let mut via = vec![FREE; self.sender_of.len()];
            let mut grown = false;
            for place in 0..self.senders.len() {
                if self.target_of[place] == FREE {
                    grown |= self.augment(place, &mut via, &targets);
                }
            }
            if !grown {
                return;
            }
        }
    }

    /// Looks for an alternating path from the free sender at `start` to a free target.
    fn augment<I: Iterator<Item = u32>>(
        &mut self,
        start: usize,
        via: &mut [u32],
        targets: impl Fn(u32) -> I,
    ) -> bool {
        let mut queue = VecDeque::from([start as u32]);
        while let Some(place) = queue.pop_front() {
            for target in targets(self.senders[place as usize]) {
                if via[target as usize] != FREE {
                    continue;
                }
                via[target as usize] = place;
                match self.sender_of[target as usize] {
                    FREE => {
                        self.flip(target, via);
                        return true;
                    }
                    next => queue.push_back(next),
                }
            }
        }
        false
    }

    fn flip(&mut self, mut target: u32, via: &[u32]) {
        loop {
            let place = via[target as usize];
            let before = std::mem::replace(&mut self.target_of[place as usize], target);
            self.sender_of[target as usize] = place;
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

    /// Size of the largest matching by trying everything.
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
        #[test]
        fn it_is_as_large_as_any(
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
