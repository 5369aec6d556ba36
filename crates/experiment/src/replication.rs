//! One replication of one point.

use crate::kept::Kept;
use crate::limits::{BacklogLimit, CYCLES_MAX, Memory};
use crate::progress::Progress;
use crate::recorders::Recorders;
use crate::result::Collapse;
use crate::subject::{Counted, Figure, Simulated, Subject, Unended};
use crate::unended;
use isthmus_kernel::Cycles;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Messages, or packets of long ones, between two looks at the clock and at whether the run was cancelled.
const CHUNK: u64 = 2_000;

/// Parts of the first chunks, each with a checkpoint: rates leave out the first quarter of a run.
const PARTS: u64 = 4;

/// Why a replication cannot go on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Halt {
    /// The run was cancelled.
    Cancelled,
    /// Nothing is left to do, which no machine should ever come to.
    Stuck { under_way: u64 },
    /// The run was over before its warm-up.
    AllWarmUp { messages: u64 },
    /// It would last longer than times can be counted.
    TooLong { cycle_us: f64 },
    /// All that is at work together would take more memory than the run may.
    Memory,
    /// What is finished cannot be kept; [`Kept::error`] says why.
    Unkept,
}

/// What a replication shares with all others of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub progress: &'a Progress,
    pub memory: &'a Arc<Memory>,
    /// What has been finished of the point or search.
    pub kept: Option<&'a Kept<'a>>,
}

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// Until so many messages have been delivered, or so many demands offered, and so many cycles
    /// have passed.
    AtLeast {
        messages: u64,
        demands: u64,
        cycles: Cycles,
        /// And until these cycles have passed, unless so many messages are delivered before.
        wanted: (Cycles, u64),
    },
    /// Until this cycle, exactly.
    Until(Cycles),
    /// Until so many messages have been delivered, or until this cycle if that comes first.
    Within { messages: u64, end: Cycles },
}

/// A simulation and what it has seen so far.
pub(crate) struct Replication {
    simulation: Box<dyn Simulated>,
    recorders: Recorders,
    /// When channels began to be counted.
    counting_from: Option<Cycles>,
    /// Set once no message arrives any more.
    collapse: Option<Collapse>,
    held: Held,
    cycle_us: f64,
    /// The period of what is periodic; 0 if nothing is.
    period: Cycles,
    senders: u64,
}

/// The memory of one replication, given back when it goes.
struct Held {
    memory: Arc<Memory>,
    bytes: u64,
}

impl Held {
    /// Whether all replications together still keep to the bound.
    fn set(&mut self, bytes: u64) -> bool {
        let before = std::mem::replace(&mut self.bytes, bytes);
        self.memory.change(before, bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// What is left of a replication that will not go on: the state of a large machine is let go.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub recorders: Recorders,
    /// Cycles simulated.
    pub cycles: Cycles,
    pub counted: Option<Counted>,
    pub collapse: Option<Collapse>,
    /// Whether it ended since too many demands waited.
    pub overfull: bool,
    /// Observations that the end of the run has cut off.
    pub unended: Vec<Unended>,
    /// What it came to, if it is exact.
    #[serde(skip)]
    pub figures: Vec<Figure>,
}

impl Finished {
    /// Whether it may be kept: what ended for its backlog may depend on the memory, and an exact
    /// run has no other replication.
    pub fn is_worth_keeping(&self) -> bool {
        !self.overfull && self.figures.is_empty()
    }
}

impl Replication {
    pub fn new(
        subject: &dyn Subject,
        (seed, number): (u64, u64),
        backlog: BacklogLimit,
        shared: Shared<'_>,
    ) -> Result<Self, Halt> {
        // A large machine alone may be too much: it is counted before it is made.
        let mut held = Held {
            memory: Arc::clone(shared.memory),
            bytes: 0,
        };
        let senders = subject.senders();
        if !held.set(Memory::estimate(senders, 0)) {
            return Err(Halt::Memory);
        }
        let (measures, flows) = (subject.measures().len(), subject.flows());
        let stop = shared.progress.stop_flag();
        Ok(Self {
            simulation: subject.begin(seed, number),
            recorders: Recorders::new(measures, flows, backlog.demands, stop),
            counting_from: None,
            collapse: None,
            held,
            cycle_us: subject.cycle_us(),
            period: subject.period(),
            senders,
        })
    }

    /// Goes on until `length`, until the machine has collapsed, or until too many demands wait.
    pub fn run_to(&mut self, length: Length, progress: &Progress) -> Result<(), Halt> {
        while let (false, Some((chunk, until))) = (self.has_ended(), self.next_chunk(length)) {
            if self.simulation.now() >= CYCLES_MAX {
                return Err(Halt::TooLong {
                    cycle_us: self.cycle_us,
                });
            }
            let before = self.recorders.delivered;
            self.recorders.go_on(chunk, CHUNK);
            let until = until.min(self.period_end()).min(CYCLES_MAX);
            if self.recorders.are_first() {
                self.run_in_parts(chunk, length, until, progress)?;
            }
            self.run_chunk(length, until, progress)?;
            progress.add_messages(self.recorders.delivered - before);
            self.recorders.checkpoint(self.simulation.now());
            self.collapse = self.simulation.collapse();
        }
        Ok(())
    }

    /// All but the last part of a chunk, noting where its parts end: it may be most of the run.
    fn run_in_parts(
        &mut self,
        chunk: u64,
        length: Length,
        until: Cycles,
        progress: &Progress,
    ) -> Result<(), Halt> {
        for _ in 1..PARTS {
            let limit = self.recorders.hold(chunk / PARTS);
            self.run_chunk(length, until, progress)?;
            self.recorders.release(limit);
            self.recorders.early_checkpoint(self.simulation.now());
        }
        Ok(())
    }

    /// One chunk, with pauses to look at the memory and at how much has been offered.
    fn run_chunk(
        &mut self,
        length: Length,
        until: Cycles,
        progress: &Progress,
    ) -> Result<(), Halt> {
        loop {
            if progress.is_stopped() {
                return Err(Halt::Cancelled);
            }
            let goes_on = self.simulation.run(&mut self.recorders, until);
            if progress.is_stopped() {
                return Err(Halt::Cancelled);
            }
            let under_way = self.simulation.under_way();
            if !goes_on {
                return Err(Halt::Stuck { under_way });
            }
            let demands = self.recorders.waiting().max(under_way);
            if !self.held.set(Memory::estimate(self.senders, demands)) {
                return Err(Halt::Memory);
            }
            let paused = self.recorders.take_pause();
            if !paused || self.recorders.finished() || self.next_chunk(length).is_none() {
                return Ok(());
            }
        }
    }

    /// When the present period of what is periodic ends; never if nothing is.
    fn period_end(&self) -> Cycles {
        let periods = self.simulation.now().checked_div(self.period);
        periods.map_or(Cycles::MAX, |passed| {
            (passed + 1).saturating_mul(self.period)
        })
    }

    /// Whether it cannot or should not go on.
    fn has_ended(&self) -> bool {
        self.collapse.is_some() || self.recorders.is_overfull()
    }

    /// Messages to deliver next and the cycle at which to stop even so; `None` at the end.
    fn next_chunk(&self, length: Length) -> Option<(u64, Cycles)> {
        let (delivered, now) = (self.recorders.delivered, self.simulation.now());
        match length {
            Length::AtLeast {
                messages,
                demands,
                cycles,
                wanted,
            } => {
                let hopeless = self.recorders.offered() >= demands;
                let wanted = now < wanted.0 && delivered < wanted.1;
                let missing = if hopeless {
                    0
                } else {
                    messages.saturating_sub(delivered)
                };
                let chunk = if missing == 0 {
                    CHUNK
                } else {
                    missing.min(CHUNK)
                };
                (missing > 0 || now < cycles || wanted).then_some((chunk, Cycles::MAX))
            }
            Length::Until(cycles) => (now < cycles).then_some((CHUNK, cycles)),
            Length::Within { messages, end } => {
                let missing = messages.saturating_sub(delivered).min(CHUNK);
                (missing > 0 && now < end).then_some((missing, end))
            }
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

    pub fn has_started(&self) -> bool {
        self.simulation.now() > 0
    }

    pub fn has_collapsed(&self) -> bool {
        self.collapse.is_some()
    }

    pub fn cycles(&self) -> Cycles {
        self.simulation.now()
    }

    /// Return the unended observations that count.
    pub fn unended(&self) -> Vec<Unended> {
        unended::counted(self.simulation.unended(), &self.recorders)
    }

    /// What it has come to so far.
    pub fn so_far(&self) -> Finished {
        let cycles = self.simulation.now();
        let counted = self.counting_from.map(|from| cycles - from);
        Finished {
            counted: counted.filter(|&cycles| cycles > 0).map(|cycles| Counted {
                counts: self.simulation.counts(),
                cycles,
            }),
            overfull: self.recorders.is_overfull(),
            unended: self.unended(),
            figures: self.simulation.figures(),
            recorders: self.recorders.clone(),
            cycles,
            collapse: self.collapse.clone(),
        }
    }

    /// Ends the replication.
    pub fn finish(self) -> Finished {
        self.so_far()
    }
}
