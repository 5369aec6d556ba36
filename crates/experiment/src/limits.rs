//! What no run may pass: simulated time, a backlog, memory.
//!
//! The first two are the same on every machine and for any number of threads. See decision 17.

use crate::subject::Subject;
use isthmus_kernel::Cycles;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest run, in cycles: engines keep times in 64 bits, and two of those bits for the order
/// within a cycle. No gap is longer than four times this, so that no sum overflows.
pub(crate) const CYCLES_MAX: Cycles = 1 << 58;

/// Demands of one flow that may wait in one replication, on any machine.
const BACKLOG_MIN: u64 = 500_000;
/// Demands of one flow that may wait for each sender.
const BACKLOG_PER_SENDER: u64 = 1_000;
/// Periods whose demands may wait.
const PERIODS: u64 = 2;
/// How many times as many demands may be in the system as its delays alone can hold. Above twice
/// as many, most of them wait for one another.
const BACKLOG_PER_DELAYS: u64 = 2;

/// A run is looked at once it has offered so many times as many demands as it should have
/// delivered messages by then: the machine serves less than this part of what is offered.
pub(crate) const HOPELESS: u64 = 4;

/// What a demand under way takes, and what a sender does: streams, queues and its share of the
/// channels. Measured as resident memory and rounded up.
const DEMAND_BYTES: u64 = 256;
const SENDER_BYTES: u64 = 8 << 10;

/// Demands of one flow at which a replication ends: more of them would tell nothing new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BacklogLimit {
    pub demands: u64,
    /// Whether it is the memory of the run that sets it.
    pub by_memory: bool,
}

impl BacklogLimit {
    /// That of `subject` in a run that may take `memory` bytes, with so many replications held at
    /// once.
    pub fn new(subject: &dyn Subject, replications: u32, memory: u64) -> Self {
        let flows = 0..subject.flows().len();
        let in_delays = flows.map(|flow| beyond_delays(subject, flow)).max();
        let per_sender = subject.senders().saturating_mul(BACKLOG_PER_SENDER);
        // All that a period asks for waits at its beginning.
        let of_periods = subject.period_messages().saturating_mul(PERIODS);
        let enough = BACKLOG_MIN
            .max(per_sender)
            .max(in_delays.unwrap_or(0))
            .max(of_periods);
        // Half of the memory is for what grows.
        let share = memory / 2 / u64::from(replications.max(1));
        let fits = (share / DEMAND_BYTES).max(1);
        Self {
            demands: enough.min(fits),
            by_memory: fits < enough,
        }
    }

    /// Whether so many demands of this flow can only wait for one another.
    pub fn is_beyond_delays(&self, subject: &dyn Subject, flow: usize) -> bool {
        self.demands >= beyond_delays(subject, flow)
    }
}

/// Demands of a flow of which at least half wait for others, not for delays of software or devices.
fn beyond_delays(subject: &dyn Subject, flow: usize) -> u64 {
    let held = subject.held_by_delays(flow);
    held.saturating_mul(BACKLOG_PER_DELAYS)
}

/// The memory that a run may take, and what its replications hold of it.
#[derive(Debug)]
pub(crate) struct Memory {
    pub bound: u64,
    held: AtomicU64,
}

impl Memory {
    pub fn new(bound: u64) -> Self {
        Self {
            bound,
            held: AtomicU64::new(0),
        }
    }

    /// Bytes of a simulation with so many senders and demands under way.
    pub fn estimate(senders: u64, under_way: u64) -> u64 {
        let senders = senders.saturating_mul(SENDER_BYTES);
        senders.saturating_add(under_way.saturating_mul(DEMAND_BYTES))
    }

    /// A replication holds `now` bytes where it held `before`. Whether all of them together still
    /// keep to the bound.
    pub fn change(&self, before: u64, now: u64) -> bool {
        let held = if now >= before {
            let more = now - before;
            self.held.fetch_add(more, Ordering::Relaxed) + more
        } else {
            let less = before - now;
            self.held.fetch_sub(less, Ordering::Relaxed) - less
        };
        held <= self.bound
    }
}

/// The most that is simulated where a cycle takes so long, in words.
pub(crate) fn longest(cycle_us: f64) -> String {
    let hours = CYCLES_MAX as f64 * cycle_us / 3.6e9;
    let years = hours / (24.0 * 365.25);
    if years < 1.0 {
        format!("{hours:.0} hours")
    } else {
        format!("{years:.0} years")
    }
}

/// Bytes as people write them.
pub(crate) fn amount(bytes: u64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
    let amount = bytes as f64;
    let fits = units.iter().find(|(_, size)| amount >= *size);
    let (unit, size) = fits.unwrap_or(&("B", 1.0));
    let text = format!("{:.1}", amount / size);
    format!("{} {unit}", text.trim_end_matches(".0"))
}
