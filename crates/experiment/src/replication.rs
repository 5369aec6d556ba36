//! One replication of one point.

use crate::progress::Progress;
use crate::recorders::Recorders;
use crate::result::Collapse;
use crate::subject::{Counted, Simulated, Subject};
use isthmus_kernel::Cycles;

/// Messages between two looks at the clock and at whether the run was cancelled.
const CHUNK: u64 = 2_000;

/// Why a replication cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The run was cancelled.
    Cancelled,
    /// Nothing is left to do, which no machine should ever come to.
    Stuck { under_way: u64 },
    /// The run was over before its warm-up.
    AllWarmUp { messages: u64 },
}

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// Until so many messages have been delivered in all and so many cycles have passed.
    AtLeast { messages: u64, cycles: Cycles },
    /// Until this cycle, exactly.
    Until(Cycles),
}

/// A simulation and what it has seen so far.
pub(crate) struct Replication {
    simulation: Box<dyn Simulated>,
    recorders: Recorders,
    /// When channels began to be counted.
    counting_from: Option<Cycles>,
    /// Set once no message arrives any more.
    collapse: Option<Collapse>,
}

/// What is left of a replication that will not go on: the state of a large machine is let go.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub recorders: Recorders,
    /// Cycles simulated.
    pub cycles: Cycles,
    pub counted: Option<Counted>,
    pub collapse: Option<Collapse>,
}

impl Replication {
    pub fn new(subject: &dyn Subject, seed: u64, number: u64) -> Self {
        Self {
            simulation: subject.begin(seed, number),
            recorders: Recorders::new(subject.measures().len(), subject.flows()),
            counting_from: None,
            collapse: None,
        }
    }

    /// Goes on until `length`, or until the machine has collapsed.
    pub fn run_to(&mut self, length: Length, progress: &Progress) -> Result<(), Halt> {
        while let (None, Some((chunk, until))) = (&self.collapse, self.next_chunk(length)) {
            if progress.is_cancelled() {
                return Err(Halt::Cancelled);
            }
            let before = self.recorders.delivered;
            self.recorders.limit = before + chunk;
            if !self.simulation.run(&mut self.recorders, until) {
                return Err(Halt::Stuck {
                    under_way: self.simulation.under_way(),
                });
            }
            progress.add_messages(self.recorders.delivered - before);
            self.recorders.checkpoint(self.simulation.now());
            self.collapse = self.simulation.collapse();
        }
        Ok(())
    }

    /// Messages to deliver next and the cycle at which to stop even so; `None` at the end.
    fn next_chunk(&self, length: Length) -> Option<(u64, Cycles)> {
        let (delivered, now) = (self.recorders.delivered, self.simulation.now());
        match length {
            Length::AtLeast { messages, cycles } => {
                let missing = messages.saturating_sub(delivered);
                let chunk = if missing == 0 {
                    CHUNK
                } else {
                    missing.min(CHUNK)
                };
                (missing > 0 || now < cycles).then_some((chunk, Cycles::MAX))
            }
            Length::Until(cycles) => (now < cycles).then_some((CHUNK, cycles)),
        }
    }

    /// Ends the warm-up here.
    pub fn mark(&mut self) {
        self.recorders.mark(self.simulation.now());
    }

    /// Counts what channels carry from here on.
    pub fn count_channels(&mut self) {
        if self.counting_from.is_none() {
            self.simulation.count_channels();
            self.counting_from = Some(self.simulation.now());
        }
    }

    pub fn recorders(&self) -> &Recorders {
        &self.recorders
    }

    pub fn now(&self) -> Cycles {
        self.simulation.now()
    }

    pub fn has_begun(&self) -> bool {
        self.simulation.now() > 0
    }

    pub fn has_collapsed(&self) -> bool {
        self.collapse.is_some()
    }

    /// Ends the replication.
    pub fn finish(self) -> Finished {
        let cycles = self.simulation.now();
        let counted = self.counting_from.map(|from| cycles - from);
        Finished {
            counted: counted.filter(|&cycles| cycles > 0).map(|cycles| Counted {
                counts: self.simulation.counts(),
                cycles,
            }),
            recorders: self.recorders,
            cycles,
            collapse: self.collapse,
        }
    }
}
