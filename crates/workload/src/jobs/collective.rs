//! Steps of collective operations: the messages that each rank sends, and the number of messages that the rank waits
//! for.

use crate::jobs::spec::{AllReduce, ListedTo, MessageRun};

/// The steps of one round of a collective operation, the same for all members of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// In step s each rank sends to the rank that is s + 1 higher, modulo the number of ranks.
    AllToAll { ranks: u32, bytes: u64 },
    /// In each step each rank sends to the next rank.
    Ring { ranks: u32, bytes: u64 },
    /// In each step ranks below `core`, a power of two, exchange vectors with ranks that differ in one bit. In an extra
    /// first step each rank of `core` or higher sends its vector to rank - core. In an extra last step it receives the
    /// result from that rank.
    RecursiveDoubling { ranks: u32, core: u32, bytes: u64 },
    /// A round of one step: each rank sends to its neighbours, which `of` lists by rank.
    Neighbours { of: Vec<Vec<u32>>, bytes: u64 },
    /// A round of one step with listed messages: for each rank, the messages that the rank sends and the number of
    /// messages that it waits for.
    Listed {
        sends: Vec<Vec<Sends>>,
        awaited: Vec<u32>,
        /// Whether messages go to servers. Servers are numbered after the ranks.
        to_servers: bool,
    },
}

/// Messages from one rank to one receiver: number of the receiver, length and number of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sends {
    to: u32,
    bytes: u64,
    times: u32,
}

impl Plan {
    /// Return the steps of an all-reduce of a vector of `vector` bytes.
    pub(super) fn all_reduce(algorithm: AllReduce, ranks: u32, vector: u64) -> Self {
        match algorithm {
            AllReduce::Ring => Self::Ring {
                ranks,
                bytes: vector.div_ceil(u64::from(ranks)),
            },
            AllReduce::RecursiveDoubling => Self::RecursiveDoubling {
                ranks,
                core: 1 << ranks.ilog2(),
                bytes: vector,
            },
        }
    }

    /// Return the steps of an exchange of `bytes` bytes with each neighbour in a grid.
    pub(super) fn neighbours(grid: &[u32], wrap: bool, bytes: u64) -> Self {
        let ranks: u32 = grid.iter().product();
        Self::Neighbours {
            of: (0..ranks)
                .map(|rank| neighbours(grid, wrap, rank))
                .collect(),
            bytes,
        }
    }

    /// Return the steps of a round in which each rank sends its listed messages.
    pub(super) fn listed(messages: &[MessageRun], ranks: u32) -> Self {
        let mut sends = vec![Vec::new(); ranks as usize];
        let mut awaited = vec![0; ranks as usize];
        let mut to_servers = false;
        for message in messages {
            let to = match message.to {
                ListedTo::Rank(rank) => {
                    awaited[rank as usize] += message.times;
                    rank
                }
                ListedTo::Server(server) => {
                    to_servers = true;
                    ranks + server
                }
            };
            sends[message.from as usize].push(Sends {
                to,
                bytes: message.bytes.get(),
                times: message.times,
            });
        }
        Self::Listed {
            sends,
            awaited,
            to_servers,
        }
    }

    /// Return whether messages go to servers, so that no rank waits for messages.
    pub(super) fn to_servers(&self) -> bool {
        matches!(
            self,
            Self::Listed {
                to_servers: true,
                ..
            }
        )
    }

    /// Return whether all ranks start a round together, when all ranks have ended the previous round.
    pub(super) fn together(&self) -> bool {
        matches!(self, Self::Listed { .. })
    }

    /// Return the number of steps of a round.
    pub(super) fn steps(&self) -> u64 {
        match self {
            Self::AllToAll { ranks, .. } => u64::from(ranks - 1),
            Self::Ring { ranks, .. } => 2 * u64::from(ranks - 1),
            Self::RecursiveDoubling { ranks, core, .. } => {
                u64::from(core.ilog2()) + if ranks > core { 2 } else { 0 }
            }
            Self::Neighbours { .. } | Self::Listed { .. } => 1,
        }
    }

    /// Return the largest number of messages that a rank can send without waiting for another rank: the messages of all
    /// steps of a round if no step needs the data of an earlier step, else those of one step.
    pub(super) fn at_once(&self) -> u64 {
        match self {
            Self::AllToAll { .. } => self.steps(),
            Self::Ring { .. } | Self::RecursiveDoubling { .. } => 1,
            Self::Neighbours { of, .. } => of.iter().map(|of| of.len() as u64).max().unwrap_or(0),
            Self::Listed { sends, .. } => {
                let each = sends.iter();
                let counts = each.map(|sends| sends.iter().map(|to| u64::from(to.times)).sum());
                counts.max().unwrap_or(0)
            }
        }
    }

    /// Return the length of each message in bytes, or the mean length if the lengths differ.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::AllToAll { bytes, .. }
            | Self::Ring { bytes, .. }
            | Self::RecursiveDoubling { bytes, .. }
            | Self::Neighbours { bytes, .. } => *bytes,
            Self::Listed { sends, .. } => {
                let (mut bytes, mut count) = (0_u128, 0_u128);
                for to in sends.iter().flatten() {
                    bytes += u128::from(to.bytes) * u128::from(to.times);
                    count += u128::from(to.times);
                }
                bytes.div_ceil(count.max(1)) as u64
            }
        }
    }

    /// Call `emit` with the receiver and the length of each message that `rank` sends in `step`. Return the number of
    /// messages that `rank` waits for in this step.
    pub(super) fn step(&self, rank: u32, step: u64, emit: &mut impl FnMut(u32, u64)) -> u32 {
        if let Self::Listed { sends, awaited, .. } = self {
            for to in &sends[rank as usize] {
                (0..to.times).for_each(|_| emit(to.to, to.bytes));
            }
            return awaited[rank as usize];
        }
        let bytes = self.bytes();
        let mut send = |to| emit(to, bytes);
        // A round has fewer than 2^33 steps. Where `step` is cast to u32, it is less than `ranks`.
        match self {
            Self::AllToAll { ranks, .. } => {
                send((rank + 1 + step as u32) % ranks);
                1
            }
            Self::Ring { ranks, .. } => {
                send((rank + 1) % ranks);
                1
            }
            Self::RecursiveDoubling { ranks, core, .. } => {
                let extra = ranks - core;
                let bits = u64::from(core.ilog2());
                let before = u64::from(extra > 0);
                if step < before {
                    if rank >= *core {
                        send(rank - core);
                    }
                    return u32::from(rank < extra);
                }
                if step - before < bits {
                    if rank >= *core {
                        return 0;
                    }
                    send(rank ^ (1 << (step - before)));
                    return 1;
                }
                if rank < extra {
                    send(rank + core);
                }
                u32::from(rank >= *core)
            }
            Self::Neighbours { of, .. } => {
                let neighbours = &of[rank as usize];
                neighbours.iter().copied().for_each(send);
                neighbours.len() as u32
            }
            Self::Listed { .. } => unreachable!("handled above"),
        }
    }
}

/// Return the neighbours of `rank` in all dimensions, without duplicates.
fn neighbours(grid: &[u32], wrap: bool, rank: u32) -> Vec<u32> {
    let mut found = Vec::with_capacity(2 * grid.len());
    let mut stride = 1;
    for &size in grid {
        let place = rank / stride % size;
        let line = rank - place * stride;
        let back = match place {
            0 => wrap.then_some(size - 1),
            _ => Some(place - 1),
        };
        let ahead = match place + 1 == size {
            true => wrap.then_some(0),
            false => Some(place + 1),
        };
        for other in [back, ahead].into_iter().flatten() {
            let neighbour = line + other * stride;
            if neighbour != rank && !found.contains(&neighbour) {
                found.push(neighbour);
            }
        }
        stride *= size;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Return plans of all kinds for several numbers of ranks.
    fn plans() -> Vec<(u32, Plan)> {
        let mut plans = Vec::new();
        for ranks in 2..=17 {
            plans.push((ranks, Plan::AllToAll { ranks, bytes: 8 }));
            for algorithm in [AllReduce::Ring, AllReduce::RecursiveDoubling] {
                plans.push((ranks, Plan::all_reduce(algorithm, ranks, 64)));
            }
        }
        for grid in [
            vec![2],
            vec![7],
            vec![2, 2],
            vec![3, 4],
            vec![4, 1, 3],
            vec![2, 3, 4],
        ] {
            let ranks = grid.iter().product();
            for wrap in [false, true] {
                plans.push((ranks, Plan::neighbours(&grid, wrap, 8)));
            }
        }
        plans
    }

    /// Checks that in each step of every plan, each rank waits for as many messages as the other ranks send to it.
    #[test]
    fn each_rank_waits_for_its_messages() {
        for (ranks, plan) in plans() {
            for step in 0..plan.steps() {
                let mut sent: BTreeMap<u32, u32> = BTreeMap::new();
                let mut expected = BTreeMap::new();
                for rank in 0..ranks {
                    let awaited = plan.step(rank, step, &mut |to, _| {
                        assert!(to < ranks && to != rank);
                        *sent.entry(to).or_default() += 1;
                    });
                    if awaited > 0 {
                        expected.insert(rank, awaited);
                    }
                }
                assert_eq!(sent, expected, "{plan:?} step {step}");
            }
        }
    }

    /// Return for each rank a bit mask of the ranks whose data it has, directly or not, after a round.
    fn reached(ranks: u32, plan: &Plan) -> Vec<u128> {
        let mut known: Vec<u128> = (0..ranks).map(|rank| 1 << rank).collect();
        for step in 0..plan.steps() {
            let before = known.clone();
            for rank in 0..ranks {
                plan.step(rank, step, &mut |to, _| {
                    known[to as usize] |= before[rank as usize];
                });
            }
        }
        known
    }

    /// Checks that after an all-reduce, every rank has the data of all ranks.
    #[test]
    fn an_all_reduce_brings_the_data_of_each_rank_to_all() {
        for ranks in 2..=40 {
            for algorithm in [AllReduce::Ring, AllReduce::RecursiveDoubling] {
                let plan = Plan::all_reduce(algorithm, ranks, 64);
                let all = (1u128 << ranks) - 1;
                assert!(
                    reached(ranks, &plan).iter().all(|&known| known == all),
                    "{plan:?}"
                );
            }
        }
    }

    /// Checks that in an all-to-all, a rank sends one message to each other rank, in the order of the ranks after it.
    #[test]
    fn an_all_to_all_goes_to_each_other_rank_once() {
        let plan = Plan::AllToAll { ranks: 5, bytes: 8 };
        let mut to = Vec::new();
        for step in 0..plan.steps() {
            plan.step(3, step, &mut |rank, _| to.push(rank));
        }
        assert_eq!(to, [4, 0, 1, 2]);
    }

    /// Checks that the neighbours of a rank are those of a grid with or without wraparound.
    #[test]
    fn neighbours_are_those_of_the_grid() {
        assert_eq!(neighbours(&[4, 3], false, 0), [1, 4]);
        assert_eq!(neighbours(&[4, 3], true, 0), [3, 1, 8, 4]);
        assert_eq!(neighbours(&[4, 3], false, 5), [4, 6, 1, 9]);
        // Both ways round a ring of two lead to the same node.
        assert_eq!(neighbours(&[2, 2], true, 3), [2, 1]);
    }
}
