//! What one replication remembers of what it saw.

use crate::flow::{Fate, FlowInfo};
use isthmus_kernel::Cycles;
use isthmus_statistics::{Backlog, Recorder};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Demands of a flow between two pauses, in which the memory held is looked at; a power of two.
const PAUSE_EVERY: u64 = 1 << 12;

/// First stretches of a run within which there are checkpoints as well.
const FIRST: usize = 4;

/// The demands of one flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowCount {
    sample_every: u64,
    totals: Totals,
    /// Demands offered and not done.
    pub backlog: Backlog,
}

/// Demands by what became of them, and the bytes carried for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Totals {
    offered: u64,
    done: u64,
    dropped: u64,
    retried: u64,
    carried: u64,
}

impl Totals {
    fn of(&self, fate: Fate) -> u64 {
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
    /// Demands offered.
    pub fn offered(&self) -> u64 {
        self.totals.offered
    }

    /// Demands offered and neither met nor given up.
    pub fn waiting(&self) -> u64 {
        let Totals {
            offered,
            done,
            dropped,
            ..
        } = self.totals;
        offered.saturating_sub(done + dropped)
    }

    /// A demand more.
    #[inline]
    fn offer(&mut self) {
        let Totals { offered, done, .. } = self.totals;
        if offered.is_multiple_of(self.sample_every) {
            self.backlog.sample(offered, offered - done);
        }
        self.totals.offered += 1;
    }

    /// A demand has been met.
    #[inline]
    pub fn complete(&mut self) {
        self.totals.done += 1;
    }

    /// A demand was given up.
    #[inline]
    pub fn drop_one(&mut self) {
        self.totals.dropped += 1;
    }

    /// A demand in the making had to be sent `times` times more.
    #[inline]
    pub fn retry(&mut self, times: u64) {
        self.totals.retried += times;
    }

    /// So many bytes for demands of this flow have arrived.
    #[inline]
    pub fn carry(&mut self, bytes: u64) {
        self.totals.carried += bytes;
    }
}

/// Totals of all flows at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Checkpoint {
    time: Cycles,
    flows: Vec<Totals>,
}

/// Receives everything that happens in one replication.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recorders {
    /// Latencies in cycles, one recorder for each measure of the subject.
    pub latencies: Vec<Recorder>,
    /// One for each flow.
    pub flows: Vec<FlowCount>,
    /// Messages delivered.
    pub delivered: u64,
    /// Deliveries at which to stop.
    pub limit: u64,
    /// Parts of messages that have arrived, where a message may have many, and how many of them there
    /// may be before it stops.
    parts: u64,
    parts_limit: u64,
    /// Demands of a flow that may wait.
    pub backlog_max: u64,
    /// Whether more than that wait in some flow.
    overfull: bool,
    /// Whether it is time for a look at the memory held.
    paused: bool,
    /// Whether the whole run should end.
    #[serde(skip)]
    stop: Arc<AtomicBool>,
    checkpoints: Vec<Checkpoint>,
    /// Those within the first stretches of a run or after its warm-up, for runs that have few others.
    early: Vec<Checkpoint>,
    /// Whether the caller has ended the warm-up.
    marked: bool,
}

impl Recorders {
    /// Recorders for so many measures and these flows.
    /// They are finished once `stop` is set, and once `backlog_max` demands of a flow wait.
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

    /// Whether to stop here: enough has been delivered, too many wait, it is time for a look, or
    /// the whole run ends.
    #[inline]
    pub fn finished(&self) -> bool {
        self.delivered >= self.limit
            || self.parts >= self.parts_limit
            || self.paused
            || self.overfull
            || self.stop.load(Ordering::Relaxed)
    }

    /// Goes on for so many messages more, or as many parts of messages as a stretch has at most.
    pub fn go_on(&mut self, messages: u64, parts: u64) {
        self.limit = self.delivered + messages;
        self.parts_limit = self.parts + parts;
    }

    /// Stops after so many messages of these already.
    pub fn hold(&mut self, messages: u64) -> u64 {
        let limit = self.limit.min(self.delivered + messages);
        std::mem::replace(&mut self.limit, limit)
    }

    /// Goes on to the limit that [`hold`](Self::hold) has taken.
    pub fn release(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// A part of a message has arrived, of which one may have many.
    #[inline]
    pub fn part(&mut self) {
        self.parts += 1;
    }

    /// Whether too many demands of some flow wait for it to go on.
    pub fn is_overfull(&self) -> bool {
        self.overfull
    }

    /// Whether it stopped for a look only; goes on after it.
    pub fn take_pause(&mut self) -> bool {
        std::mem::take(&mut self.paused)
    }

    /// A demand of this flow more.
    #[inline]
    pub fn offer(&mut self, flow: usize) {
        let flow = &mut self.flows[flow];
        flow.offer();
        self.paused |= flow.totals.offered.is_multiple_of(PAUSE_EVERY);
        self.overfull |= flow.waiting() >= self.backlog_max;
    }

    /// Demands offered, all flows together.
    pub fn offered(&self) -> u64 {
        self.flows.iter().map(FlowCount::offered).sum()
    }

    /// Demands that wait, all flows together.
    pub fn waiting(&self) -> u64 {
        self.flows.iter().map(FlowCount::waiting).sum()
    }

    /// Notes the totals of this moment.
    pub fn checkpoint(&mut self, time: Cycles) {
        self.checkpoints.push(self.totals(time));
    }

    /// The same within one of the first stretches.
    pub fn early_checkpoint(&mut self, time: Cycles) {
        self.early.push(self.totals(time));
    }

    /// Whether there are few yet.
    pub fn are_first(&self) -> bool {
        self.checkpoints.len() <= FIRST
    }

    fn totals(&self, time: Cycles) -> Checkpoint {
        Checkpoint {
            time,
            flows: self.flows.iter().map(|flow| flow.totals).collect(),
        }
    }

    /// Ends the warm-up here.
    pub fn mark(&mut self, time: Cycles) {
        for recorder in &mut self.latencies {
            recorder.mark();
        }
        self.checkpoints.clear();
        self.early.clear();
        self.checkpoint(time);
        self.marked = true;
    }

    /// Demands of `flows` that met `fate`, and the cycles in which they did, over the latter part of
    /// the run: since the mark, or else since the first quarter of it. Where something has a period
    /// (else 0), over whole periods: as many of the latter part as there are, or of the run where that
    /// has none.
    pub fn counted(&self, fate: Fate, flows: &[usize], period: Cycles) -> Option<(u64, Cycles)> {
        let found = self.counted_between(&self.checkpoints, fate, flows, period);
        found.or_else(|| {
            // The last of few may be longer than all before.
            let mut all = [&self.early[..], &self.checkpoints[..]].concat();
            all.sort_by_key(|checkpoint| checkpoint.time);
            self.counted_between(&all, fate, flows, period)
        })
    }

    /// The same by these checkpoints.
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
            // Each end of a period has its checkpoint.
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
            totals.map(|totals| totals.of(fate)).sum()
        };
        Some((total(last) - total(first), cycles))
    }
}
