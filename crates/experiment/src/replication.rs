//! One replication of one point.

use crate::progress::Progress;
use crate::recorders::Recorders;
use isthmus_kernel::Cycles;
use isthmus_machine::hypercube::{Machine, Simulation};
use isthmus_workload::spec::TrafficSpec;
use std::sync::Arc;

/// Messages between two looks at the clock and at whether the run was cancelled.
const CHUNK: u64 = 2_000;

/// Why a replication cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The run was cancelled.
    Cancelled,
    /// Messages block one another for ever, or nothing is left to do.
    Stuck { under_way: u64 },
}

/// A simulation and what it has seen so far.
#[derive(Debug, Clone)]
pub(crate) struct Replication {
    simulation: Simulation,
    recorders: Recorders,
    /// When channels began to be counted.
    counting_from: Option<Cycles>,
}

/// What is left of a replication that will not go on: the state of a large machine is let go.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub recorders: Recorders,
    /// Cycles simulated.
    pub cycles: Cycles,
    /// Flits per channel, and the cycles over which they were counted.
    pub channels: Option<(Vec<u64>, Cycles)>,
}

impl Replication {
    pub fn new(machine: Arc<Machine>, traffic: &TrafficSpec, seed: u64, number: u64) -> Self {
        let mut recorders = Recorders::default();
        recorders.checkpoint(0);
        Self {
            simulation: Simulation::new(machine, traffic, seed, number),
            recorders,
            counting_from: None,
        }
    }

    /// Goes on until `messages` have been delivered in all and `cycles` have passed.
    pub fn run_to(
        &mut self,
        messages: u64,
        cycles: Cycles,
        progress: &Progress,
    ) -> Result<(), Halt> {
        while self.recorders.delivered < messages || self.simulation.now() < cycles {
            if progress.is_cancelled() {
                return Err(Halt::Cancelled);
            }
            let before = self.recorders.delivered;
            let missing = messages.saturating_sub(before);
            self.recorders.limit = before
                + if missing == 0 {
                    CHUNK
                } else {
                    missing.min(CHUNK)
                };
            if !self.simulation.run(&mut self.recorders) {
                return Err(Halt::Stuck {
                    under_way: self.simulation.under_way(),
                });
            }
            progress.add_messages(self.recorders.delivered - before);
            self.recorders.checkpoint(self.simulation.now());
        }
        Ok(())
    }

    /// Ends the warm-up here.
    pub fn mark(&mut self) {
        self.recorders.mark(self.simulation.now());
    }

    /// Counts what channels carry from here on.
    pub fn count_channels(&mut self) {
        if self.counting_from.is_none() {
            self.simulation.count_flits();
            self.counting_from = Some(self.simulation.now());
        }
    }

    pub fn recorders(&self) -> &Recorders {
        &self.recorders
    }

    pub fn has_begun(&self) -> bool {
        self.simulation.now() > 0
    }

    /// Ends the replication.
    pub fn finish(self) -> Finished {
        let cycles = self.simulation.now();
        let counted = self.counting_from.map(|from| cycles - from);
        Finished {
            channels: counted
                .filter(|&cycles| cycles > 0)
                .map(|cycles| (self.simulation.flits().to_vec(), cycles)),
            recorders: self.recorders,
            cycles,
        }
    }
}
