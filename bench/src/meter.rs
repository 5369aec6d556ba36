//! Observers that only count.

use isthmus_machine::hypercube::{Completed, Flow, Leg, Observer};

/// Counts arrivals up to a number, with the sums that an experiment would keep.
#[derive(Debug, Default)]
pub struct Meter {
    /// Messages after which the run ends.
    pub limit: u64,
    /// Messages that have arrived.
    pub messages: u64,
    /// Sum of the header latencies of each class, in cycles.
    pub latency: [u64; 8],
    /// I/O demands completed.
    pub completed: u64,
}

impl Meter {
    /// Ends a run after `limit` messages.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }
}

impl Observer for Meter {
    fn offered(&mut self, _flow: Flow, _time: u64) {}

    fn arrived(&mut self, leg: &Leg) {
        self.messages += 1;
        self.latency[leg.class as usize] += leg.header_latency();
    }

    fn completed(&mut self, _completed: &Completed) {
        self.completed += 1;
    }

    fn finished(&self) -> bool {
        self.messages >= self.limit
    }
}

/// Counts the messages that arrive up to a cycle, by arrival of the head.
#[derive(Debug)]
pub struct Window {
    /// First cycle after the window.
    pub to: u64,
    /// Messages that arrived.
    pub messages: u64,
    /// Sum of their latencies to the tail, in cycles.
    pub latency: u64,
    /// Cycle of the last arrival.
    last: u64,
}

impl Window {
    /// Ends a run with the first arrival in cycle `to` or later.
    pub fn new(to: u64) -> Self {
        Self {
            to,
            messages: 0,
            latency: 0,
            last: 0,
        }
    }
}

impl Observer for Window {
    fn offered(&mut self, _flow: Flow, _time: u64) {}

    fn arrived(&mut self, leg: &Leg) {
        self.last = leg.header;
        self.messages += 1;
        self.latency += leg.tail - leg.ready;
    }

    fn completed(&mut self, _completed: &Completed) {}

    fn finished(&self) -> bool {
        self.last >= self.to
    }
}
