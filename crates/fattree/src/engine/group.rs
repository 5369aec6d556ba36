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
    /// The input whose turn it is among the equally old.
    pub turn: u32,
    /// Inputs of the switch.
    pub inputs: u32,
    /// Whether it is to be looked at at the end of this tick.
    pub dirty: bool,
}

impl Group {
    pub const NONE: Self = Self {
        waiting: Vec::new(),
        links: 0,
        turn: 0,
        inputs: 0,
        dirty: false,
    };

    /// The oldest of the waiting headers that fit; of those equally old the one whose turn it is.
    /// Those older than `horizon` are equally old.
    #[inline]
    pub fn oldest(&self, horizon: Cycles, fits: impl Fn(u32) -> bool) -> Option<usize> {
        let mut best = None;
        let mut best_key = (Cycles::MAX, u32::MAX);
        for (index, waiter) in self.waiting.iter().enumerate() {
            let turn = if waiter.input >= self.turn {
                waiter.input - self.turn
            } else {
                waiter.input + self.inputs - self.turn
            };
            let key = (waiter.since.max(horizon), turn);
            if key < best_key && fits(waiter.packet) {
                best = Some(index);
                best_key = key;
            }
        }
        best
    }

    /// Takes a header out and serves it.
    #[inline]
    pub fn take(&mut self, index: usize) -> u32 {
        let waiter = self.waiting.swap_remove(index);
        self.serve(waiter.input);
        waiter.packet
    }

    /// A header of this input is served: the turn goes to the input after it.
    #[inline]
    pub fn serve(&mut self, input: u32) {
        self.turn = input + 1;
        if self.turn == self.inputs {
            self.turn = 0;
        }
    }
}
