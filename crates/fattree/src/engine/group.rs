//! Headers that wait for the same outputs.

use isthmus_kernel::Cycles;

/// A header that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    /// From when its age counts.
    pub since: Cycles,
    /// The input of the switch that it waits in: port times channels plus channel.
    pub input: u32,
    pub packet: u32,
}

/// Outputs of a switch that the same headers wait for: one link, or with adaptive ascent all its
/// links up and parallel links down.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub waiting: Vec<Waiter>,
    /// Links, from that with the number of the group.
    pub links: u32,
    /// Inputs of the switch.
    pub inputs: u32,
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

    /// The oldest of the waiting headers that fit; of those equally old the one whose turn it is,
    /// which is first that of the input after the one `served` last. Those older than `horizon`
    /// are equally old.
    #[inline]
    pub fn oldest(
        &self,
        horizon: Cycles,
        served: u32,
        fits: impl Fn(u32) -> bool,
    ) -> Option<usize> {
        let first = served + 1;
        let mut best = None;
        let mut best_key = (Cycles::MAX, u32::MAX);
        for (index, waiter) in self.waiting.iter().enumerate() {
            let turn = if waiter.input >= first {
                waiter.input - first
            } else {
                waiter.input + self.inputs - first
            };
            let key = (waiter.since.max(horizon), turn);
            if key < best_key && fits(waiter.packet) {
                best = Some(index);
                best_key = key;
            }
        }
        best
    }
}
