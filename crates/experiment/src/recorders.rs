//! Recorders of one replication: they collect latencies, count demands and stop the simulation at limits.

use crate::flow::{Fate, FlowInfo};
use isthmus_kernel::Cycles;
use isthmus_statistics::{Backlog, Recorder};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of offered demands of a flow after which the replication pauses to check its memory use; a power of
/// two.
const PAUSE_EVERY: u64 = 1 << 12;

/// Number of chunks at the start of a replication in each of which the totals are recorded several times.
const FIRST: usize = 4;

/// Counts of the demands (messages or I/O operations) of one flow, and samples of the number of its incomplete demands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowCount {
    /// Number of offered demands between two samples of the backlog.
    sample_every: u64,
    /// Numbers of offered, completed, abandoned and retransmitted demands so far.
    totals: Totals,
    /// Samples of the backlog, the number of demands that are offered and not completed.
    pub backlog: Backlog,
}

/// Numbers of demands of one flow since the start: offered, completed, abandoned and retransmitted; and of
/// bytes that arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Totals {
    /// Number of offered demands (requests to transfer data).
    offered: u64,
    /// Number of completed demands (requests to transfer data).
    done: u64,
    /// Number of abandoned demands (requests to transfer data).
    dropped: u64,
    /// Number of retransmissions for demands.
    retried: u64,
    /// Number of bytes that arrived for demands.
    carried: u64,
}

impl Totals {
    /// Return how many demands (requests to transfer data) the event `fate` has happened to so far; for
    /// [`Fate::Carried`], return the number of bytes.
    fn count(&self, fate: Fate) -> u64 {
        match fate {
            Fate::Offered => self.offered,
            Fate::Done => self.done,
            Fate::Dropped => self.dropped,
            Fate::Retried => self.retried,
            Fate::Carried => self.carried,
        }
    }
}

impl FlowCount {
    /// Return the number of offered demands (requests to transfer data).
    pub fn offered(&self) -> u64 {
        self.totals.offered
    }

    /// Return the number of demands that are offered and neither completed nor abandoned.
    pub fn waiting(&self) -> u64 {
        let Totals {
            offered,
            done,
            dropped,
            ..
        } = self.totals;
        offered.saturating_sub(done + dropped)
    }

    /// Count a demand (message or I/O operation) that is offered to the machine.
    #[inline]
    fn offer(&mut self) {
        let Totals { offered, done, .. } = self.totals;
        if offered.is_multiple_of(self.sample_every) {
            self.backlog.sample(offered, offered - done);
        }
        self.totals.offered += 1;
    }

    /// Count a demand that is completed.
    #[inline]
    pub fn complete(&mut self) {
        self.totals.done += 1;
    }

    /// Count a demand that is abandoned before its transfer begins.
    #[inline]
    pub fn drop_one(&mut self) {
        self.totals.dropped += 1;
    }

    /// Count `times` retransmissions for a demand (message or I/O operation) that is not complete yet.
    #[inline]
    pub fn retry(&mut self, times: u64) {
        self.totals.retried += times;
    }

    /// Count bytes that arrived for demands of this flow.
    #[inline]
    pub fn carry(&mut self, bytes: u64) {
        self.totals.carried += bytes;
    }
}

/// The totals of the demands of all flows at one simulated time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Checkpoint {
    /// Simulated time at which the totals were recorded, in cycles.
    time: Cycles,
    /// Totals of the demands of each flow.
    flows: Vec<Totals>,
}

/// Latencies, counts and backlogs that one replication records.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recorders {
    /// Recorders of latencies in cycles, one for each measure of the point.
    pub latencies: Vec<Recorder>,
    /// Counts of demands, for each flow (group of demands) of the point.
    pub flows: Vec<FlowCount>,
    /// Number of messages delivered so far.
    pub delivered: u64,
    /// Number of delivered messages at which the replication stops.
    pub limit: u64,
    /// Number of packets of long messages (those of several packets) that have arrived so far.
    parts: u64,
    /// Number of arrived packets of long messages after which the replication stops.
    parts_limit: u64,
    /// Number of waiting demands of one flow at which the replication stops.
    pub backlog_max: u64,
    /// Whether the number of waiting demands of some flow has reached `backlog_max`.
    overfull: bool,
    /// Whether the replication must pause for a check of its memory use.
    paused: bool,
    /// Flag that another thread sets to stop all replications of the run.
    #[serde(skip)]
    stop: Arc<AtomicBool>,
    /// Totals of all flows at increasing times; a rate is computed from two of them.
    checkpoints: Vec<Checkpoint>,
    /// Additional records of the totals, from the first chunks of a run or those after its warm-up, for runs
    /// that have few `checkpoints`.
    early: Vec<Checkpoint>,
    /// Whether [`mark`](Self::mark) has set the end of the warm-up.
    marked: bool,
}

impl Recorders {
    /// Create recorders for `measures` latencies and these flows. The replication stops when `stop` is set, or when
    /// `backlog_max` demands (messages or I/O operations) of one flow wait.
    pub fn new(
        measures: usize,
        flows: &[FlowInfo],
        backlog_max: u64,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let mut recorders = Self {
            latencies: vec![Recorder::default(); measures],
            flows: flows
                .iter()
                .map(|flow| FlowCount {
                    sample_every: flow.sample_every,
                    totals: Totals::default(),
                    backlog: Backlog::default(),
                })
                .collect(),
            delivered: 0,
            limit: 0,
            parts: 0,
            parts_limit: 0,
            backlog_max,
            overfull: false,
            paused: false,
            stop,
            checkpoints: Vec::new(),
            early: Vec::new(),
            marked: false,
        };
        recorders.checkpoint(0);
        recorders
    }

    /// Return whether the replication must stop now: enough messages are delivered, too many demands wait, a
    /// memory check is due, or the whole run ends.
    #[inline]
    pub fn finished(&self) -> bool {
        self.delivered >= self.limit
            || self.parts >= self.parts_limit
            || self.paused
            || self.overfull
            || self.stop.load(Ordering::Relaxed)
    }

    /// Set the limits so that the replication stops when `messages` more messages, or `parts` more packets of
    /// long messages, have arrived.
    pub fn go_on(&mut self, messages: u64, parts: u64) {
        self.limit = self.delivered + messages;
        self.parts_limit = self.parts + parts;
    }

    /// Lower the message limit so that the replication stops after at most `messages` more messages. Return
    /// the old limit.
    pub fn hold(&mut self, messages: u64) -> u64 {
        let limit = self.limit.min(self.delivered + messages);
        std::mem::replace(&mut self.limit, limit)
    }

    /// Restore the message limit that [`hold`](Self::hold) returned.
    pub fn release(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Count the arrival of one packet of a message that consists of several packets.
    #[inline]
    pub fn part(&mut self) {
        self.parts += 1;
    }

    /// Return whether so many demands of some flow wait that the replication cannot continue.
    pub fn is_overfull(&self) -> bool {
        self.overfull
    }

    /// Return whether the replication stopped for a memory check, and clear that state.
    pub fn take_pause(&mut self) -> bool {
        std::mem::take(&mut self.paused)
    }

    /// Count a demand that is offered to the machine in the flow at position `flow`.
    #[inline]
    pub fn offer(&mut self, flow: usize) {
        let flow = &mut self.flows[flow];
        flow.offer();
        self.paused |= flow.totals.offered.is_multiple_of(PAUSE_EVERY);
        self.overfull |= flow.waiting() >= self.backlog_max;
    }

    /// Return the number of offered demands so far, all flows together.
    pub fn offered(&self) -> u64 {
        self.flows.iter().map(FlowCount::offered).sum()
    }

    /// Return the number of demands that are offered and neither completed nor abandoned, all flows together.
    pub fn waiting(&self) -> u64 {
        self.flows.iter().map(FlowCount::waiting).sum()
    }

    /// Record the totals of the demands of all flows at the simulated time `time`.
    pub fn checkpoint(&mut self, time: Cycles) {
        self.checkpoints.push(self.totals(time));
    }

    /// Record the totals of all flows at the simulated time `time`. Call this within the first chunks (parts) of the
    /// run, which need additional records.
    pub fn early_checkpoint(&mut self, time: Cycles) {
        self.early.push(self.totals(time));
    }

    /// Return whether the replication is still in its first chunks, with few records of the totals.
    pub fn are_first(&self) -> bool {
        self.checkpoints.len() <= FIRST
    }

    /// Return a record of the present totals of the demands of all flows, at the simulated time `time`.
    fn totals(&self, time: Cycles) -> Checkpoint {
        Checkpoint {
            time,
            flows: self.flows.iter().map(|flow| flow.totals).collect(),
        }
    }

    /// Set the end of the warm-up to the simulated time `time`: earlier counts are left out.
    pub fn mark(&mut self, time: Cycles) {
        for recorder in &mut self.latencies {
            recorder.mark();
        }
        self.checkpoints.clear();
        self.early.clear();
        self.checkpoint(time);
        self.marked = true;
    }

    /// Return the number of demands of `flows` with the event `fate`, and the number of cycles over which
    /// they were counted. The count covers the run after its warm-up, or without a [`mark`](Self::mark) after
    /// its first quarter. If `period` is not 0, it covers whole periods of that part, or of the whole run if
    /// that part has none.
    pub fn counted(&self, fate: Fate, flows: &[usize], period: Cycles) -> Option<(u64, Cycles)> {
        let found = self.counted_between(&self.checkpoints, fate, flows, period);
        found.or_else(|| {
            // With few checkpoints, the last interval may be longer than all others together. Then also use the early
            // checkpoints.
            let mut all = [&self.early[..], &self.checkpoints[..]].concat();
            all.sort_by_key(|checkpoint| checkpoint.time);
            self.counted_between(&all, fate, flows, period)
        })
    }

    /// Return the result of [`Self::counted`], computed as the difference between the totals of two of the recorded
    /// `checkpoints`.
    fn counted_between(
        &self,
        checkpoints: &[Checkpoint],
        fate: Fate,
        flows: &[usize],
        period: Cycles,
    ) -> Option<(u64, Cycles)> {
        let since = |time: Cycles| checkpoints.iter().find(move |c| c.time >= time);
        let mut last = checkpoints.last()?;
        let begin = if self.marked { 0 } else { last.time / 4 };
        let mut first = since(begin)?;
        if let Some(periods) = last.time.checked_div(period) {
            // The totals are recorded at the end of each period.
            let end = periods * period;
            last = since(end)?;
            first = since(first.time.next_multiple_of(period))?;
            if first.time >= end {
                first = checkpoints.first()?;
                first = since(first.time.next_multiple_of(period))?;
            }
        }
        let cycles = last.time.checked_sub(first.time).filter(|&c| c > 0)?;
        let total = |checkpoint: &Checkpoint| -> u64 {
            let totals = flows.iter().map(|&flow| &checkpoint.flows[flow]);
            totals.map(|totals| totals.count(fate)).sum()
        };
        Some((total(last) - total(first), cycles))
    }
}
