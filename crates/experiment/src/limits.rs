//! Limits of every run: simulated time, backlog and memory.
//!
//! The first two do not depend on the host or the number of threads. The decision record 17 in `docs/decisions`
//! explains the limits.

use crate::subject::Subject;
use isthmus_kernel::Cycles;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum length of a run, in cycles. It is small enough that no sum of times overflows in engines, which store
/// times in 64 bits and use two of those bits for the order of events within a cycle.
pub(crate) const CYCLES_MAX: Cycles = 1 << 58;

/// Number of demands of one flow that may wait in one replication, on a machine of any size: the minimum of
/// the backlog limit.
const BACKLOG_MIN: u64 = 500_000;
/// Number of demands of one flow that may wait in one replication, for each sending node.
const BACKLOG_PER_SENDER: u64 = 1_000;
/// Backlog limit of a periodic process, such as one that writes checkpoints, in periods: the demands of this
/// many periods may wait at the same time.
const PERIODS: u64 = 2;
/// Ratio of the backlog limit to the number of demands that delays of software and devices hold at once.
/// Above this limit, most demands wait for other demands.
const BACKLOG_PER_DELAYS: u64 = 2;

/// A replication stops when it has been offered this many times the number of messages that it should deliver. The
/// machine then serves less than 1/`OFFERED_RATIO_MAX` of the offered load, which is enough to call it saturated.
pub(crate) const OFFERED_RATIO_MAX: u64 = 4;

/// Memory in bytes for one demand in flight, measured as resident memory and rounded up.
const DEMAND_BYTES: u64 = 256;
/// Memory in bytes for one sending node: its streams, its queues and its share of the channels. Measured as
/// resident memory and rounded up.
const SENDER_BYTES: u64 = 8 << 10;

/// Limit on the backlog: a replication ends when this number of demands (requests to transfer data) of one flow
/// wait, because a larger backlog gives no new information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BacklogLimit {
    /// Number of demands of one flow that may wait before the replication ends.
    pub demands: u64,
    /// Whether the memory that the run may use determines `demands`.
    pub by_memory: bool,
}

impl BacklogLimit {
    /// Return the backlog limit for the point `subject` in a run that may use `memory` bytes, with
    /// `replications` in memory at once.
    pub fn new(subject: &dyn Subject, replications: u32, memory: u64) -> Self {
        let flows = 0..subject.flows().len();
        let in_delays = flows.map(|flow| beyond_delays(subject, flow)).max();
        let per_sender = subject.senders().saturating_mul(BACKLOG_PER_SENDER);
        // Allow the demands of several periods, as all demands of a period arrive at its beginning.
        let of_periods = subject.period_messages().saturating_mul(PERIODS);
        let enough = BACKLOG_MIN
            .max(per_sender)
            .max(in_delays.unwrap_or(0))
            .max(of_periods);
        // Use half of the memory for the backlog. The other half is reserved for data that grow with the run.
        let share = memory / 2 / u64::from(replications.max(1));
        let fits = (share / DEMAND_BYTES).max(1);
        Self {
            demands: enough.min(fits),
            by_memory: fits < enough,
        }
    }

    /// Return whether, in a backlog of this size, most demands of the flow wait for other demands. Otherwise
    /// most of them wait only for the fixed delays of software and devices.
    pub fn is_beyond_delays(&self, subject: &dyn Subject, flow: usize) -> bool {
        self.demands >= beyond_delays(subject, flow)
    }
}

/// Return the backlog of a flow, in demands, above which at least half of them wait for other demands. The others
/// wait only for the fixed delays of software and devices.
fn beyond_delays(subject: &dyn Subject, flow: usize) -> u64 {
    let held = subject.held_by_delays(flow);
    held.saturating_mul(BACKLOG_PER_DELAYS)
}

/// Memory budget of a run: the bytes that it may use, and the bytes that its replications use now.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Number of bytes that the run may use.
    pub bound: u64,
    /// Number of bytes that all replications use now.
    held: AtomicU64,
}

impl Memory {
    /// Return the memory budget of a run that may use `bound` bytes, none of which are in use.
    pub fn new(bound: u64) -> Self {
        Self {
            bound,
            held: AtomicU64::new(0),
        }
    }

    /// Return the estimated memory, in bytes, of a simulation with `senders` sending nodes and `under_way`
    /// demands in flight.
    pub fn estimate(senders: u64, under_way: u64) -> u64 {
        let senders = senders.saturating_mul(SENDER_BYTES);
        senders.saturating_add(under_way.saturating_mul(DEMAND_BYTES))
    }

    /// Record that one replication now uses `now` bytes instead of `before` bytes. Return whether all
    /// replications together stay within the memory limit of the run.
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

/// Return the longest time that can be simulated with cycles of `cycle_us` microseconds, as text.
pub(crate) fn longest(cycle_us: f64) -> String {
    let hours = CYCLES_MAX as f64 * cycle_us / 3.6e9;
    let years = hours / (24.0 * 365.25);
    if years < 1.0 {
        format!("{hours:.0} hours")
    } else {
        format!("{years:.0} years")
    }
}

/// Return a number of bytes as text with a unit.
pub(crate) fn amount(bytes: u64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
    let amount = bytes as f64;
    let fits = units.iter().find(|(_, size)| amount >= *size);
    let (unit, size) = fits.unwrap_or(&("B", 1.0));
    let text = format!("{:.1}", amount / size);
    format!("{} {unit}", text.trim_end_matches(".0"))
}
