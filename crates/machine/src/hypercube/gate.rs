//! Demands that wait at their PE while as many as may be are under way.

use isthmus_kernel::Cycles;
use isthmus_workload::{Demand, Outstanding};
use std::collections::VecDeque;

/// The demands of one PE.
#[derive(Debug, Clone, Default)]
struct Door {
    under_way: u32,
    /// When each was there, and what.
    waiting: VecDeque<(Cycles, Demand)>,
}

/// What stands between what PEs ask for and the network.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    outstanding: Outstanding,
    /// By PE; empty without a limit.
    doors: Vec<Door>,
}

impl Gate {
    pub fn new(outstanding: Outstanding, pes: u32) -> Self {
        let doors = match outstanding {
            Outstanding::AtMost(_) => pes as usize,
            Outstanding::Unlimited => 0,
        };
        Self {
            outstanding,
            doors: vec![Door::default(); doors],
        }
    }

    /// Return whether the gate needs a call of [`end`](Self::end) for every demand that ends.
    #[inline]
    pub fn counts(&self) -> bool {
        !self.doors.is_empty()
    }

    /// Whether a demand that is there `now` may go at once; else it waits for its turn.
    #[inline]
    pub fn admits(&mut self, pe: u32, now: Cycles, demand: Demand) -> bool {
        let Some(door) = self.doors.get_mut(pe as usize) else {
            return true;
        };
        let goes = self.outstanding.admits(door.under_way);
        if goes {
            door.under_way += 1;
        } else {
            door.waiting.push_back((now, demand));
        }
        goes
    }

    /// A demand of a PE has ended: the one that goes now, and when it was there.
    pub fn end(&mut self, pe: u32) -> Option<(Cycles, Demand)> {
        let door = &mut self.doors[pe as usize];
        let next = door.waiting.pop_front();
        door.under_way -= u32::from(next.is_none());
        next
    }
}
