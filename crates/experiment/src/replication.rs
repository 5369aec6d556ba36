//! One replication: an independent simulation of one point of a sweep.

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

/// Size of a chunk: number of messages, or of packets of long messages, between two checks of the cancel flag
/// and of the conditions for the end of a replication.
const CHUNK: u64 = 2_000;

/// Number of parts into which each of the first chunks is divided. The totals are recorded after each part,
/// because rates leave out the first quarter of a run, which may be less than a chunk.
const PARTS: u64 = 4;

/// Reason why a replication cannot continue.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Halt {
    /// A caller has cancelled the run.
    Cancelled,
    /// No event is left in the simulation although messages are in flight. This should never happen.
    Stuck { under_way: u64 },
    /// The replication ended before the end of its warm-up of `messages` messages.
    AllWarmUp { messages: u64 },
    /// The replication would exceed the longest time that the simulation can represent.
    TooLong { cycle_us: f64 },
    /// The replications that run at the same time would need more memory than the run may use.
    Memory,
    /// A partial result could not be stored; [`Kept::error`] returns the reason.
    Unkept,
}

/// References to the data that all replications of a point or search share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared<'a> {
    /// Progress of the whole run.
    pub progress: &'a Progress,
    /// Memory budget of the whole run.
    pub memory: &'a Arc<Memory>,
    /// Partial results of the point or search in the journal; `None` if they are not stored.
    pub kept: Option<&'a Kept<'a>>,
}

/// Condition at which a replication stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// Stop the replication when enough messages are delivered or enough demands (messages or I/O operations) are
    /// offered, and enough cycles have passed.
    AtLeast {
        /// Number of delivered messages at which the replication may stop.
        messages: u64,
        /// Number of offered demands (messages or I/O operations of PEs) at which the replication may stop, even if
        /// fewer than `messages` messages are delivered.
        demands: u64,
        /// Number of cycles that must have passed before the replication may stop.
        cycles: Cycles,
        /// Number of cycles and number of messages: the replication may stop only when this many cycles have passed, or
        /// when this many messages are delivered.
        wanted: (Cycles, u64),
    },
    /// Stop the replication at exactly this cycle.
    Until(Cycles),
    /// Stop the replication once this many messages are delivered, or at this cycle if that is earlier.
    Within { messages: u64, end: Cycles },
}

/// A running replication: its simulation and the recorders of its results.
pub(crate) struct Replication {
    simulation: Box<dyn Simulated>,
    recorders: Recorders,
    /// Cycle at which the counting of channel use began.
    counting_from: Option<Cycles>,
    /// Description of the collapse, if the machine has stopped delivering messages.
    collapse: Option<Collapse>,
    /// Part of the run's memory budget that the replication uses.
    held: Held,
    /// Length of one cycle in microseconds.
    cycle_us: f64,
    /// Period in cycles of the periodic process of the workload, such as a checkpoint; 0 if nothing is
    /// periodic.
    period: Cycles,
    /// Number of nodes that send messages.
    senders: u64,
}

/// Share of one replication in the memory budget of the run. It is released on drop.
struct Held {
    /// Memory budget of the whole run.
    memory: Arc<Memory>,
    /// Number of bytes that the replication uses.
    bytes: u64,
}

impl Held {
    /// Set the number of bytes that the replication uses. Return whether all replications together stay
    /// within the memory limit of the run.
    fn set(&mut self, bytes: u64) -> bool {
        let before = std::mem::replace(&mut self.bytes, bytes);
        self.memory.change(before, bytes)
    }
}

impl Drop for Held {
    /// Return the held memory to the memory budget of the run.
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Results of a replication that will not continue, without the state of its machine, which may be large.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub recorders: Recorders,
    /// Simulated time of the replication, in clock cycles of the machine.
    pub cycles: Cycles,
    /// Use of the channels and of the other parts of the machine; `None` if it was not counted.
    pub counted: Option<Counted>,
    pub collapse: Option<Collapse>,
    /// Whether the replication ended because too many demands (requests to transfer data) waited.
    pub overfull: bool,
    /// Observations, such as phases, that were incomplete at the end of the replication.
    pub unended: Vec<Unended>,
    /// Values of an exact run (one simulation without random numbers); empty for other runs.
    #[serde(skip)]
    pub figures: Vec<Figure>,
}

impl Finished {
    /// Return whether the journal may store the results as a partial result. It may not store a replication that ended
    /// by its backlog, which may depend on the memory limit, nor an exact run, which has only one replication.
    pub fn is_worth_keeping(&self) -> bool {
        !self.overfull && self.figures.is_empty()
    }
}

impl Replication {
    /// Start replication `number` of the point `subject`, with the master seed `seed`.
    pub fn new(
        subject: &dyn Subject,
        (seed, number): (u64, u64),
        backlog: BacklogLimit,
        shared: Shared<'_>,
    ) -> Result<Self, Halt> {
        // Count the memory of a large machine before it is built, because a single machine may exceed the limit.
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

    /// Continue the replication until it has the length `length`, the machine has collapsed, or too many
    /// demands wait.
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

    /// Run a chunk of the replication in parts, without the last part. Record the totals after each part, because a
    /// chunk may be most of the run.
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

    /// Run the simulation to the end of a chunk (part of the replication), with pauses to check its memory use and the
    /// number of offered demands.
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

    /// Return the cycle at which the current period of the periodic process ends; the largest time if there
    /// is no periodic process.
    fn period_end(&self) -> Cycles {
        let periods = self.simulation.now().checked_div(self.period);
        periods.map_or(Cycles::MAX, |passed| {
            (passed + 1).saturating_mul(self.period)
        })
    }

    /// Return whether the replication has ended, because the machine has collapsed (no message arrives any more) or too
    /// many demands (messages or I/O operations) wait.
    fn has_ended(&self) -> bool {
        self.collapse.is_some() || self.recorders.is_overfull()
    }

    /// Return the size of the next chunk (part) of the replication: the number of messages to deliver, and the cycle at
    /// which to stop in any case. Return `None` if the replication has reached `length`.
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

    /// Mark the current cycle as the end of the warm-up.
    pub fn mark(&mut self) {
        self.recorders.mark(self.simulation.now());
    }

    /// Start to count the use of the machine's channels; earlier use is left out.
    pub fn start_counting_channels(&mut self) {
        if self.counting_from.is_none() {
            self.simulation.start_counting_channels();
            self.counting_from = Some(self.simulation.now());
        }
    }

    /// Return the recorders of the replication.
    pub fn recorders(&self) -> &Recorders {
        &self.recorders
    }

    /// Return whether the simulated time has advanced from 0.
    pub fn has_started(&self) -> bool {
        self.simulation.now() > 0
    }

    /// Return whether the machine has stopped delivering messages.
    pub fn has_collapsed(&self) -> bool {
        self.collapse.is_some()
    }

    /// Return the number of simulated cycles.
    pub fn cycles(&self) -> Cycles {
        self.simulation.now()
    }

    /// Return the observations, such as phases of a job, that have not ended, if there are enough of them to affect a
    /// mean.
    pub fn unended(&self) -> Vec<Unended> {
        unended::counted(self.simulation.unended(), &self.recorders)
    }

    /// Return a copy of the results up to the current cycle.
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

    /// End the replication and return its results.
    pub fn finish(self) -> Finished {
        self.so_far()
    }
}
