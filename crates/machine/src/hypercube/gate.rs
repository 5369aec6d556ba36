//! Limit on the demands of each PE that are under way; further demands wait at their PE.

use isthmus_kernel::Cycles;
use isthmus_workload::{Demand, Outstanding};
use std::collections::VecDeque;

/// Demands (messages or I/O operations) of one PE: the number under way, and the queue of waiting ones.
#[derive(Debug, Clone, Default)]
struct PeGate {
    under_way: u32,
    /// Queue of waiting demands, each with its arrival time.
    waiting: VecDeque<(Cycles, Demand)>,
}

/// Gate that lets demands of PEs into the network, up to the limit for each PE.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    outstanding: Outstanding,
    /// For each PE, the waiting demands and the number under way; empty without a limit.
    pe_gates: Vec<PeGate>,
}

impl Gate {
    /// Create the gate for `pes` PEs that have no demands yet.
    pub fn new(outstanding: Outstanding, pes: u32) -> Self {
        let pe_gates = match outstanding {
            Outstanding::AtMost(_) => pes as usize,
            Outstanding::Unlimited => 0,
        };
        Self {
            outstanding,
            pe_gates: vec![PeGate::default(); pe_gates],
        }
    }

    /// Return whether the gate limits the demands under way, and so needs a call of [`end`](Self::end) for
    /// each that ends.
    #[inline]
    pub fn counts(&self) -> bool {
        !self.pe_gates.is_empty()
    }

    /// Return whether a demand that arrives at `now` may start at once. If not, the demand joins the queue of
    /// its PE.
    #[inline]
    pub fn admits(&mut self, pe: u32, now: Cycles, demand: Demand) -> bool {
        let Some(pe_gate) = self.pe_gates.get_mut(pe as usize) else {
            return true;
        };
        let admitted = self.outstanding.admits(pe_gate.under_way);
        if admitted {
            pe_gate.under_way += 1;
        } else {
            pe_gate.waiting.push_back((now, demand));
        }
        admitted
    }

    /// Record that a demand of a PE has ended. Return the waiting demand that starts in its place,
    /// with its arrival time; `None` if no demand waits.
    pub fn end(&mut self, pe: u32) -> Option<(Cycles, Demand)> {
        let pe_gate = &mut self.pe_gates[pe as usize];
        let next = pe_gate.waiting.pop_front();
        pe_gate.under_way -= u32::from(next.is_none());
        next
    }
}
