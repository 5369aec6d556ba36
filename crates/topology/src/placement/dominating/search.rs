//! Dominating sets by greedy choice and local search.

use super::Neighborhoods;

/// Return a dominating set by greedy choice: add the node that covers the most uncovered nodes, the
/// lowest of equal ones, until all are covered. Then drop unnecessary nodes, the last added first.
pub(super) fn greedy(neighborhoods: &Neighborhoods) -> Vec<u32> {
    let count = neighborhoods.node_count() as usize;
    let mut covers = vec![0u32; count];
    let mut gain: Vec<u32> = (0..count as u32)
        .map(|node| neighborhoods.closed(node).len() as u32)
        .collect();
    // Entry g lists nodes whose gain was g when they were inserted. The loop visits the entries from
    // the highest gain down. Gains only decrease, so it never adds a node to an entry already visited.
    let mut by_gain: Vec<Vec<u32>> = Vec::new();
    for (node, &gain) in gain.iter().enumerate() {
        if by_gain.len() <= gain as usize {
            by_gain.resize(gain as usize + 1, Vec::new());
        }
        by_gain[gain as usize].push(node as u32);
    }
    let mut pes = Vec::new();
    for level in (1..by_gain.len()).rev() {
        let mut candidates = std::mem::take(&mut by_gain[level]);
        candidates.sort_unstable();
        for pe in candidates {
            let now = gain[pe as usize] as usize;
            if now < level {
                by_gain[now].push(pe);
                continue;
            }
            pes.push(pe);
            for &node in neighborhoods.closed(pe) {
                covers[node as usize] += 1;
                if covers[node as usize] == 1 {
                    for &other in neighborhoods.closed(node) {
                        gain[other as usize] -= 1;
                    }
                }
            }
        }
    }
    let mut kept = Vec::with_capacity(pes.len());
    while let Some(pe) = pes.pop() {
        let neighborhood = neighborhoods.closed(pe);
        if neighborhood.iter().all(|&node| covers[node as usize] > 1) {
            for &node in neighborhood {
                covers[node as usize] -= 1;
            }
        } else {
            kept.push(pe);
        }
    }
    kept
}

/// Search for smaller dominating sets by local search with weights on uncovered nodes. Drop a node
/// from a dominating set, then exchange nodes until all are covered again. The weights of uncovered
/// nodes increase until an exchange helps. Stop at `size_min` nodes or after `steps_max` elementary
/// steps (weight changes and comparisons).
pub(super) fn improve(
    neighborhoods: &Neighborhoods,
    pes: Vec<u32>,
    size_min: usize,
    steps_max: u64,
) -> Vec<u32> {
    let mut best = pes;
    let mut search = Search::new(neighborhoods, &best);
    while best.len() > size_min && search.steps < steps_max {
        if search.uncovered.is_empty() {
            best.clone_from(&search.chosen);
            if best.len() <= size_min {
                break;
            }
            search.drop_lightest(None);
            continue;
        }
        let added = search.cover_one();
        search.drop_lightest(Some(added));
        search.grow_weights();
    }
    best
}

/// State of the local search: the chosen nodes, the uncovered nodes, and weights and scores of all
/// nodes.
struct Search<'a> {
    neighborhoods: &'a Neighborhoods,
    chosen: Vec<u32>,
    /// Index of each node in `chosen`, or `u32::MAX` if it is not chosen.
    place: Vec<u32>,
    /// For each node the number of chosen nodes that cover it. A node covers itself and its neighbours.
    covers: Vec<u32>,
    weight: Vec<u64>,
    /// For a chosen node, the weight of the nodes that only this node covers; for other nodes, the
    /// weight of the uncovered nodes that they would cover.
    score: Vec<u64>,
    /// For each node the number of the move in which it was last added or dropped.
    last_move: Vec<u64>,
    /// For each node, whether the search may add it: whether a node up to two hops away was added or
    /// dropped since it was dropped itself. Otherwise adding it would undo that step.
    may_return: Vec<bool>,
    uncovered: Vec<u32>,
    uncovered_place: Vec<u32>,
    moves: u64,
    steps: u64,
}

/// Marks a node that is not in a list, in place of its position.
const ABSENT: u32 = u32::MAX;

impl<'a> Search<'a> {
    /// Return the state of a search in which exactly the PEs (processing elements) `pes` are chosen.
    fn new(neighborhoods: &'a Neighborhoods, pes: &[u32]) -> Self {
        let count = neighborhoods.node_count() as usize;
        let mut search = Self {
            neighborhoods,
            chosen: Vec::new(),
            place: vec![ABSENT; count],
            covers: vec![0; count],
            weight: vec![1; count],
            score: (0..count as u32)
                .map(|node| neighborhoods.closed(node).len() as u64)
                .collect(),
            last_move: vec![0; count],
            may_return: vec![true; count],
            uncovered: (0..count as u32).collect(),
            uncovered_place: (0..count as u32).collect(),
            moves: 0,
            steps: 0,
        };
        for &pe in pes {
            search.add(pe);
        }
        search
    }

    /// Add node `pe` to the chosen nodes.
    fn add(&mut self, pe: u32) {
        self.place[pe as usize] = self.chosen.len() as u32;
        self.chosen.push(pe);
        // The weight that the node would newly cover becomes the weight that only this node covers,
        // so its score does not change.
        for &node in self.neighborhoods.closed(pe) {
            let weight = self.weight[node as usize];
            let covers = &mut self.covers[node as usize];
            *covers += 1;
            match *covers {
                1 => {
                    remove(&mut self.uncovered, &mut self.uncovered_place, node);
                    self.shift_scores(node, pe, |score| score - weight);
                }
                2 => {
                    let sole = self.chosen_neighbor(node, pe);
                    self.score[sole as usize] -= weight;
                }
                _ => {}
            }
        }
        self.touch(pe);
    }

    /// Drop node `pe` from the chosen nodes.
    fn drop(&mut self, pe: u32) {
        remove(&mut self.chosen, &mut self.place, pe);
        for &node in self.neighborhoods.closed(pe) {
            let weight = self.weight[node as usize];
            let covers = &mut self.covers[node as usize];
            *covers -= 1;
            match *covers {
                0 => {
                    self.uncovered_place[node as usize] = self.uncovered.len() as u32;
                    self.uncovered.push(node);
                    self.shift_scores(node, pe, |score| score + weight);
                }
                1 => {
                    let sole = self.chosen_neighbor(node, pe);
                    self.score[sole as usize] += weight;
                }
                _ => {}
            }
        }
        self.touch(pe);
        self.may_return[pe as usize] = false;
    }

    /// Apply `change` to the scores of all nodes that could cover `node` (itself and its neighbours), except the node
    /// `except`.
    fn shift_scores(&mut self, node: u32, except: u32, change: impl Fn(u64) -> u64) {
        let around = self.neighborhoods.closed(node);
        self.steps += around.len() as u64;
        for &other in around {
            if other != except {
                self.score[other as usize] = change(self.score[other as usize]);
            }
        }
    }

    /// Return the only chosen node other than `except` that covers `node`.
    fn chosen_neighbor(&mut self, node: u32, except: u32) -> u32 {
        let around = self.neighborhoods.closed(node);
        self.steps += around.len() as u64;
        around
            .iter()
            .copied()
            .find(|&other| other != except && self.place[other as usize] != ABSENT)
            .expect("the count of covering nodes says that there is one")
    }

    /// Record that `pe` was just added or dropped, and permit all nodes up to two hops away to be
    /// added again.
    fn touch(&mut self, pe: u32) {
        self.moves += 1;
        self.last_move[pe as usize] = self.moves;
        for &node in self.neighborhoods.closed(pe) {
            let around = self.neighborhoods.closed(node);
            self.steps += around.len() as u64;
            for &other in around {
                self.may_return[other as usize] = true;
            }
        }
    }

    /// Choose the best node that covers an uncovered node, which is selected at random. Return the chosen node.
    fn cover_one(&mut self) -> u32 {
        // The uncovered node is selected pseudo-randomly from the number of moves.
        let turn = splitmix(self.moves) % self.uncovered.len() as u64;
        let node = self.uncovered[turn as usize];
        let around = self.neighborhoods.closed(node);
        self.steps += around.len() as u64;
        let best = around.iter().copied().max_by_key(|&other| {
            let untouched = u64::MAX - self.last_move[other as usize];
            let may_return = self.may_return[other as usize];
            (
                may_return,
                self.score[other as usize],
                untouched,
                ABSENT - other,
            )
        });
        let best = best.expect("a closed neighbourhood has its node");
        self.add(best);
        best
    }

    /// Drop the chosen node, other than `except`, whose removal leaves the least weight uncovered.
    /// Of equal nodes, drop the one that has not moved for the longest time.
    fn drop_lightest(&mut self, except: Option<u32>) {
        self.steps += self.chosen.len() as u64;
        let lightest = self
            .chosen
            .iter()
            .copied()
            .filter(|&pe| Some(pe) != except)
            .min_by_key(|&pe| (self.score[pe as usize], self.last_move[pe as usize], pe));
        if let Some(pe) = lightest {
            self.drop(pe);
        }
    }

    /// Increase the weights of all uncovered nodes.
    fn grow_weights(&mut self) {
        for index in 0..self.uncovered.len() {
            let node = self.uncovered[index];
            self.weight[node as usize] += 1;
            self.shift_scores(node, ABSENT, |score| score + 1);
        }
    }
}

/// Remove `node` from `list` in constant time; `place` contains the position of each node in `list`.
fn remove(list: &mut Vec<u32>, place: &mut [u32], node: u32) {
    let at = std::mem::replace(&mut place[node as usize], ABSENT);
    list.swap_remove(at as usize);
    if let Some(&moved) = list.get(at as usize) {
        place[moved as usize] = at;
    }
}

/// Return output `index` of SplitMix64 from seed 0 (Steele, Lea and Flood, OOPSLA 2014).
fn splitmix(index: u64) -> u64 {
    let mut mixed = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hypercube;

    /// Checks that the greedy set dominates the cube, and no PE can be removed from it.
    #[test]
    fn greedy_sets_dominate_and_have_no_idle_node() {
        for dimension in 1..=10 {
            let cube = Hypercube::new(dimension).unwrap();
            let neighborhoods = Neighborhoods::new(&cube);
            let set = greedy(&neighborhoods);
            assert!(neighborhoods.are_dominated_by(&set));
            for index in 0..set.len() {
                let mut fewer = set.clone();
                fewer.remove(index);
                assert!(!neighborhoods.are_dominated_by(&fewer));
            }
        }
    }

    /// Checks that the scores that the search updates step by step equal newly computed scores.
    #[test]
    fn scores_stay_consistent() {
        let cube = Hypercube::new(5).unwrap();
        let neighborhoods = Neighborhoods::new(&cube);
        let mut search = Search::new(&neighborhoods, &greedy(&neighborhoods));
        for _ in 0..200 {
            if search.uncovered.is_empty() {
                search.drop_lightest(None);
            } else {
                let added = search.cover_one();
                search.drop_lightest(Some(added));
                search.grow_weights();
            }
            for pe in cube.nodes() {
                let alone = u32::from(search.chosen.contains(&pe));
                let expected: u64 = neighborhoods
                    .closed(pe)
                    .iter()
                    .filter(|&&node| search.covers[node as usize] == alone)
                    .map(|&node| search.weight[node as usize])
                    .sum();
                assert_eq!(search.score[pe as usize], expected);
            }
        }
    }

    /// Checks that the search stops when the set is as small as the lower bound, or when no steps
    /// are left.
    #[test]
    fn the_search_stops_at_the_bound_and_at_the_budget() {
        let cube = Hypercube::new(7).unwrap();
        let neighborhoods = Neighborhoods::new(&cube);
        let everything: Vec<u32> = cube.nodes().collect();
        let stopped = improve(&neighborhoods, everything.clone(), 100, u64::MAX);
        assert_eq!(stopped.len(), 100);
        assert_eq!(improve(&neighborhoods, everything, 16, 0).len(), 128);
    }
}
