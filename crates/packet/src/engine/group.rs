//! Groups of packet headers that wait for the same outputs of a switch.

use super::packets::PacketId;
use crate::readings::{AgeTie, random_rank};
use isthmus_kernel::Cycles;

/// A packet header that waits at a switch for an output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    /// Time from which the age of the header counts.
    pub since: Cycles,
    /// Number of the switch input by which the packet came: the number of its port times the number
    /// of channels per link, plus the number of its channel.
    pub input: u32,
    /// The packet to which the header belongs.
    pub packet: PacketId,
}

/// Outputs (links) of a switch for which the same packet headers wait, and these headers. The links
/// have consecutive numbers.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub waiting: Vec<Waiter>,
    /// Number of links of the group. The number of the first link is the number of the group.
    pub links: u32,
    /// Number of inputs of the switch.
    pub inputs: u32,
}

/// Rule and data that decide which of several equally old headers is served: see [`AgeTie`].
#[derive(Debug, Clone, Copy)]
pub(super) struct TieBreak {
    pub tie: AgeTie,
    /// Number of the switch input from which the group last served a packet.
    pub served: u32,
    /// `seed`, `now` (the time) and `group` determine the random ranks of the inputs.
    pub seed: u64,
    pub now: Cycles,
    pub group: u32,
}

impl Group {
    /// A group without links. Tables of groups by link have it at each link that is not the first
    /// link of its group.
    pub const NONE: Self = Self {
        waiting: Vec::new(),
        links: 0,
        inputs: 0,
    };

    /// Return the highest input number of the switch. If it counts as the input served last, round
    /// robin continues with input 0.
    pub fn last_input(&self) -> u32 {
        self.inputs.saturating_sub(1)
    }

    /// Return the index of the oldest waiting header for which `fits` is true; `tie_break` decides
    /// among equally old ones. Headers from before the time `horizon` count as equally old.
    #[inline]
    pub fn oldest(
        &self,
        horizon: Cycles,
        tie_break: TieBreak,
        fits: impl Fn(PacketId) -> bool,
    ) -> Option<usize> {
        match tie_break.tie {
            AgeTie::RoundRobin => {
                let first = tie_break.served + 1;
                let around = |input: u32| match input >= first {
                    true => input - first,
                    false => input + self.inputs - first,
                };
                self.oldest_by(horizon, |input| around(input).into(), fits)
            }
            AgeTie::Random => {
                let rank =
                    |input| random_rank(tie_break.seed, tie_break.now, tie_break.group, input);
                self.oldest_by(horizon, rank, fits)
            }
            AgeTie::Lowest => self.oldest_by(horizon, u64::from, fits),
        }
    }

    /// Return the index of the oldest waiting header that fits; among equally old ones, of the
    /// header whose input has the lowest rank.
    #[inline]
    fn oldest_by(
        &self,
        horizon: Cycles,
        rank: impl Fn(u32) -> u64,
        fits: impl Fn(PacketId) -> bool,
    ) -> Option<usize> {
        let mut best = None;
        let mut best_key = (Cycles::MAX, u64::MAX);
        for (index, waiter) in self.waiting.iter().enumerate() {
            let key = (waiter.since.max(horizon), rank(waiter.input));
            if key < best_key && fits(waiter.packet) {
                best = Some(index);
                best_key = key;
            }
        }
        best
    }
}
