//! Data that one replication records.

use crate::flow::{Fate, FlowInfo};
use isthmus_kernel::Cycles;
use isthmus_statistics::{Backlog, Recorder};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of offered demands of a flow between two pauses, in which the memory use is checked; a power of
/// two.
const PAUSE_EVERY: u64 = 1 << 12;

/// Number of initial stretches (chunks of simulation) of a run that contain extra checkpoints.
const FIRST: usize = 4;

/// Counts and backlog of the demands of one flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowCount {
    /// Number of demands between two samples of the backlog.
    sample_every: u64,
    /// Demands of the flow by outcome.
    totals: Totals,
    /// Samples of the number of demands that are offered and not completed.
    pub backlog: Backlog,
}

/// Number of demands by outcome, and of bytes carried for demands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Totals {
    /// Number of offered demands.
    offered: u64,
    /// Number of completed demands.
    done: u64,
    /// Number of abandoned demands.
    dropped: u64,
    /// Number of retransmissions.
    retried: u64,
    /// Number of bytes that arrived for demands.
    carried: u64,
}

impl Totals {
    /// Return the number of demands with this `fate`, or of bytes for [`Fate::Carried`].
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
    /// Return the number of offered demands.
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

    /// Count an offered demand.
    #[inline]
    fn offer(&mut self) {
        let Totals { offered, done, .. } = self.totals;
        if offered.is_multiple_of(self.sample_every) {
            self.backlog.sample(offered, offered - done);
        }
        self.totals.offered += 1;
    }

    /// Count a completed demand.
    #[inline]
    pub fn complete(&mut self) {
        self.totals.done += 1;
    }

    /// Count an abandoned demand.
    #[inline]
    pub fn drop_one(&mut self) {
        self.totals.dropped += 1;
    }

    /// Count `times` retransmissions for a demand that is not complete yet.
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

/// Totals of all flows at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Checkpoint {
    /// Cycle at which the totals were recorded.
    time: Cycles,
    /// Totals of each flow.
    flows: Vec<Totals>,
}

/// Latencies, counts and backlogs that one replication records.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recorders {
    /// Latencies in cycles, one recorder for each measure of the subject.
    pub latencies: Vec<Recorder>,
    /// Counts of each flow.
    pub flows: Vec<FlowCount>,
    /// Number of delivered messages.
    pub delivered: u64,
    /// Number of deliveries after which the replication stops.
    pub limit: u64,
    /// Number of arrived parts of messages, for messages with many parts.
    parts: u64,
    /// Number of parts after which the replication stops.
    parts_limit: u64,
    /// Number of waiting demands of one flow at which the replication stops.
    pub backlog_max: u64,
    /// Whether `backlog_max` demands of some flow wait.
    overfull: bool,
    /// Whether a check of the memory use is due.
    paused: bool,
    /// Flag that another thread sets to end the whole run.
    #[serde(skip)]
    stop: Arc<AtomicBool>,
    /// Totals of all flows at several times, in order.
    checkpoints: Vec<Checkpoint>,
    /// Additional checkpoints within the first stretches of a run or after its warm-up, for runs with few
    /// other checkpoints.
    early: Vec<Checkpoint>,
    /// Whether the caller has marked the end of the warm-up.
    marked: bool,
}

impl Recorders {
    /// Create recorders for `measures` measures and these flows. The replication stops once `stop` is set,
    /// and once `backlog_max` demands of a flow wait.
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

    /// Let the replication run until `messages` more messages or `parts` more parts of messages have arrived.
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

    /// Count an arrived part of a message, for messages with many parts.
    #[inline]
    pub fn part(&mut self) {
        self.parts += 1;
    }

    /// Return whether too many demands of some flow wait, so that the replication cannot continue.
    pub fn is_overfull(&self) -> bool {
        self.overfull
    }

    /// Return whether the replication stopped for a memory check, and clear that state.
    pub fn take_pause(&mut self) -> bool {
        std::mem::take(&mut self.paused)
    }

    /// Count an offered demand of the flow at this position.
    #[inline]
    pub fn offer(&mut self, flow: usize) {
        let flow = &mut self.flows[flow];
        flow.offer();
        self.paused |= flow.totals.offered.is_multiple_of(PAUSE_EVERY);
        self.overfull |= flow.waiting() >= self.backlog_max;
    }

    /// Return the number of offered demands, all flows together.
    pub fn offered(&self) -> u64 {
        self.flows.iter().map(FlowCount::offered).sum()
    }

    /// Return the number of waiting demands, all flows together.
    pub fn waiting(&self) -> u64 {
        self.flows.iter().map(FlowCount::waiting).sum()
    }

    /// Record the totals of all flows at this time.
    pub fn checkpoint(&mut self, time: Cycles) {
        self.checkpoints.push(self.totals(time));
    }

    /// Record the totals of all flows at this time, which is within one of the first stretches.
    pub fn early_checkpoint(&mut self, time: Cycles) {
        self.early.push(self.totals(time));
    }

    /// Return whether the run has only a few checkpoints so far.
    pub fn are_first(&self) -> bool {
        self.checkpoints.len() <= FIRST
    }

    /// Return the current totals of all flows, with this time.
    fn totals(&self, time: Cycles) -> Checkpoint {
        Checkpoint {
            time,
            flows: self.flows.iter().map(|flow| flow.totals).collect(),
        }
    }

    /// Mark this time as the end of the warm-up.
    pub fn mark(&mut self, time: Cycles) {
        for recorder in &mut self.latencies {
            recorder.mark();
        }
        self.checkpoints.clear();
        self.early.clear();
        self.checkpoint(time);
        self.marked = true;
    }

    /// Return the number of demands of `flows` with this `fate`, and the cycles over which they were counted:
    /// the part of the run after the mark, or else after its first quarter. If there is a period (not 0),
    /// count over whole periods: those of that part, or of the whole run if that part has none.
    pub fn counted(&self, fate: Fate, flows: &[usize], period: Cycles) -> Option<(u64, Cycles)> {
        let found = self.counted_between(&self.checkpoints, fate, flows, period);
        found.or_else(|| {
            // With few checkpoints the last interval may be longer than all others together.
            let mut all = [&self.early[..], &self.checkpoints[..]].concat();
            all.sort_by_key(|checkpoint| checkpoint.time);
            self.counted_between(&all, fate, flows, period)
        })
    }

    /// Return the counts of [`Self::counted`] between two checkpoints of this list.
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
            // Each end of a period has a checkpoint.
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
