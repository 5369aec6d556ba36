//! What one replication remembers of what it saw.

use isthmus_kernel::Cycles;
use isthmus_machine::hypercube::{Class, Completed, Flow, Leg, Observer, Operation};
use isthmus_statistics::{Backlog, Recorder};

const CLASSES: usize = Class::ALL.len();
const OPERATIONS: usize = Operation::ALL.len();
/// Demands between two samples of a flow's backlog.
const SAMPLE_EVERY: [u64; 2] = [64, 8];

/// The demands of one flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowCount {
    pub offered: u64,
    pub done: u64,
    pub backlog: Backlog,
}

/// Totals at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Checkpoint {
    pub time: Cycles,
    pub offered: [u64; 2],
    pub done: [u64; 2],
}

/// Receives everything that happens in one replication.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorders {
    /// Header latency from readiness, by class.
    pub header: [Recorder; CLASSES],
    /// Header latency as the hypercube paper measures it, by class.
    pub router: [Recorder; CLASSES],
    /// The network's part of an I/O demand, by operation.
    pub network: [Recorder; OPERATIONS],
    /// The whole response time of an I/O demand, by operation.
    pub response: [Recorder; OPERATIONS],
    pub flows: [FlowCount; 2],
    pub delivered: u64,
    /// Deliveries at which to stop.
    pub limit: u64,
    pub checkpoints: Vec<Checkpoint>,
    /// Whether the caller has ended the warm-up.
    marked: bool,
}

impl Recorders {
    /// Notes the totals of this moment.
    pub fn checkpoint(&mut self, time: Cycles) {
        self.checkpoints.push(Checkpoint {
            time,
            offered: [self.flows[0].offered, self.flows[1].offered],
            done: [self.flows[0].done, self.flows[1].done],
        });
    }

    /// Ends the warm-up here.
    pub fn mark(&mut self, time: Cycles) {
        let recorders = self.header.iter_mut().chain(&mut self.router);
        for recorder in recorders.chain(&mut self.network).chain(&mut self.response) {
            recorder.mark();
        }
        self.checkpoints.clear();
        self.checkpoint(time);
        self.marked = true;
    }

    /// Offered and done demands per cycle of each flow over the latter part of the run: since the
    /// mark, or else since the first quarter of it.
    pub fn rates(&self) -> Option<Rates> {
        let first = if self.marked {
            self.checkpoints.first()?
        } else {
            self.checkpoints.get(self.checkpoints.len() / 4)?
        };
        let last = self.checkpoints.last()?;
        let cycles = last.time.checked_sub(first.time).filter(|&c| c > 0)? as f64;
        let per_cycle = |from: [u64; 2], to: [u64; 2]| {
            [0, 1].map(|flow: usize| (to[flow] - from[flow]) as f64 / cycles)
        };
        Some(Rates {
            offered: per_cycle(first.offered, last.offered),
            done: per_cycle(first.done, last.done),
        })
    }
}

/// Demands per cycle, by flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rates {
    pub offered: [f64; 2],
    pub done: [f64; 2],
}

impl Observer for Recorders {
    #[inline]
    fn offered(&mut self, flow: Flow, _time: Cycles) {
        let count = &mut self.flows[flow as usize];
        if count.offered.is_multiple_of(SAMPLE_EVERY[flow as usize]) {
            count
                .backlog
                .sample(count.offered, count.offered - count.done);
        }
        count.offered += 1;
    }

    #[inline]
    fn arrived(&mut self, leg: &Leg) {
        self.delivered += 1;
        let class = leg.class as usize;
        self.header[class].push(leg.header_latency());
        self.router[class].push(leg.router_latency());
        if leg.class == Class::PePe {
            self.flows[Flow::Messages as usize].done += 1;
        }
    }

    #[inline]
    fn completed(&mut self, completed: &Completed) {
        let operation = completed.operation as usize;
        self.network[operation].push(completed.network);
        self.response[operation].push(completed.response);
        self.flows[Flow::Io as usize].done += 1;
    }

    #[inline]
    fn finished(&self) -> bool {
        self.delivered >= self.limit
    }
}
