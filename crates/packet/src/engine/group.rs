//! Headers that wait for the same outputs.

use super::packets::PacketId;
use crate::readings::{AgeTie, lot};
use isthmus_kernel::Cycles;

/// A header that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    /// From when its age counts.
    pub since: Cycles,
    /// The input of the switch that it waits in: port times channels plus channel.
    pub input: u32,
    pub packet: PacketId,
}

/// Outputs of a switch that the same headers wait for: a run of links.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub waiting: Vec<Waiter>,
    /// Links, from that with the number of the group.
    pub links: u32,
    /// Inputs of the switch.
    pub inputs: u32,
}

/// What decides among headers that are equally old: see [`AgeTie`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub tie: AgeTie,
    /// The input served last.
    pub served: u32,
    /// What lots depend on.
    pub seed: u64,
    pub now: Cycles,
    pub group: u32,
}

impl Group {
    pub const NONE: Self = Self {
        waiting: Vec::new(),
        links: 0,
        inputs: 0,
    };

    /// The input after which the turn is that of the first.
    pub fn last_input(&self) -> u32 {
        self.inputs.saturating_sub(1)
    }

    /// The oldest of the waiting headers that fit; of those equally old the one whose turn it is.
    /// Those older than `horizon` are equally old.
    #[inline]
    pub fn oldest(
        &self,
        horizon: Cycles,
        turn: Turn,
        fits: impl Fn(PacketId) -> bool,
    ) -> Option<usize> {
        match turn.tie {
            AgeTie::RoundRobin => {
                let first = turn.served + 1;
                let around = |input: u32| match input >= first {
                    true => input - first,
                    false => input + self.inputs - first,
                };
                self.first(horizon, |input| around(input).into(), fits)
            }
            AgeTie::Random => {
                let lot = |input| lot(turn.seed, turn.now, turn.group, input);
                self.first(horizon, lot, fits)
            }
            AgeTie::Lowest => self.first(horizon, u64::from, fits),
        }
    }

    /// The oldest of the waiting headers that fit, of those equally old the one with the lowest
    /// number by its input.
    #[inline]
    fn first(
        &self,
        horizon: Cycles,
        number: impl Fn(u32) -> u64,
        fits: impl Fn(PacketId) -> bool,
    ) -> Option<usize> {
        let mut best = None;
        let mut best_key = (Cycles::MAX, u64::MAX);
        for (index, waiter) in self.waiting.iter().enumerate() {
            let key = (waiter.since.max(horizon), number(waiter.input));
            if key < best_key && fits(waiter.packet) {
                best = Some(index);
                best_key = key;
            }
        }
        best
    }
}
