//! What a point of any kind of machine must offer to be measured.

use crate::capacity::Capacity;
pub use crate::flow::{Fate, FlowInfo};
pub use crate::overlay::Overlay;
use crate::recorders::Recorders;
use crate::result::{Collapse, JobSummary, NodeUse};
use crate::uses::Uses;
use isthmus_kernel::Cycles;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::Debug;

/// A machine with its traffic: one point of a sweep, or one load of a search.
pub trait Subject: Debug + Send + Sync {
    /// A simulation at cycle zero, with the random streams of this seed and replication.
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated>;

    /// Length of one cycle.
    fn cycle_us(&self) -> f64;

    /// Cycles that a run must last before it is judged: a backlog that only fills the delays of
    /// software and devices would look like saturation.
    fn cycles_min(&self) -> Cycles;

    /// Cycles that a run should last before it is judged, beyond [`cycles_min`](Self::cycles_min):
    /// what fills for long, as a burst buffer does, looks as if it carried anything until it is
    /// full. A run that has delivered the most messages that it may before is undecided. None by
    /// default.
    fn cycles_wanted(&self) -> Cycles {
        0
    }

    /// Nodes that send.
    fn senders(&self) -> u64;

    /// Demands of a flow that the delays of software and devices can hold at once when every link
    /// carries as much as it can. 0 by default.
    fn held_by_delays(&self, _flow: usize) -> u64 {
        0
    }

    /// The longest time, in cycles, after which something happens again, such as a checkpoint; 0 if
    /// nothing is periodic. Rates of a run that is no longer than that are those of one time.
    fn period(&self) -> Cycles {
        0
    }

    /// Messages that such a period has at least.
    fn period_messages(&self) -> u64 {
        0
    }

    /// What is asked of the parts of the machine, and what they can do.
    fn capacity(&self) -> Capacity {
        Capacity::default()
    }

    /// The names of all latencies that there may be; the position is that of the recorder.
    fn measures(&self) -> &[String];

    /// Whether this traffic can give the measure at that position at all, however rarely.
    fn occurs(&self, measure: usize) -> bool;

    /// The flows whose backlog shows saturation.
    fn flows(&self) -> &[FlowInfo];

    /// Whether its load follows what is accepted, so that no backlog can grow and no flow is
    /// offered anything.
    fn limits_itself(&self) -> bool {
        false
    }

    /// The rates to report.
    fn rates(&self) -> Vec<RateInfo>;

    /// Messages of a run that says all there is to know, where nothing is drawn at random: one
    /// replication of so many is all that is run, whatever the rules say, and what it gives is
    /// exact. None by default.
    fn exact(&self) -> Option<u64> {
        None
    }

    /// Offered load in the unit of [`crate::result::Load`]; none in a closed loop.
    fn load(&self) -> Option<f64>;

    /// What the analytic model says of it; empty where it says nothing.
    fn overlay(&self) -> Overlay;

    /// How busy its parts were, and which of them limits it.
    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses;

    /// What each node sent and received; empty for kinds that do not count it.
    fn nodes(&self, counted: &[Counted]) -> Vec<NodeUse>;

    /// The jobs, where there are any.
    fn jobs(&self) -> Vec<JobSummary> {
        Vec::new()
    }

    /// The I/O servers of the jobs.
    fn servers(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// A simulation under way.
pub trait Simulated: Send {
    /// Goes on until the recorders have seen enough or the cycle `until` has passed, whichever is
    /// first. False if nothing is left that could happen.
    fn run(&mut self, recorders: &mut Recorders, until: Cycles) -> bool;

    /// The present cycle.
    fn now(&self) -> Cycles;

    /// Messages that have started and not arrived.
    fn under_way(&self) -> u64;

    /// Begins to count what channels carry.
    fn count_channels(&mut self);

    /// Totals since [`Simulated::count_channels`].
    fn counts(&self) -> Counts;

    /// Why no message arrives any more, if that is so.
    fn collapse(&self) -> Option<Collapse>;

    /// Observations that have started and not ended, such as phases. None by default.
    fn unended(&self) -> Vec<Unended> {
        Vec::new()
    }

    /// What it came to, of a run that is exact; nothing by default.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

/// An observation that the end of the run has cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unended {
    /// Position of the measure.
    pub measure: usize,
    /// For how long it has lasted, in cycles.
    pub age: Cycles,
}

/// A number that an exact run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name in results.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The number.
    pub value: f64,
}

/// Totals of one simulation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Cycles in which each channel was busy: flits or symbols; kinds order them as they like.
    pub channels: Vec<u64>,
    /// For how long the lanes of each channel were taken, and by how many messages; empty for
    /// kinds that do not count it.
    pub held: Vec<Taken>,
    /// The same of each disk or network interface.
    pub devices: Vec<Taken>,
    /// Over how many cycles that was counted, if not over those of the rest.
    pub held_cycles: Option<Cycles>,
    /// Demands offered by each node, and completed for it; empty for kinds that do not count them.
    pub nodes: Vec<(u64, u64)>,
}

/// For how long something was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Cycles within those that were counted.
    pub cycles: u64,
    /// By how many.
    pub times: u64,
    /// Cycles that these take of it, those to come included.
    pub asked: u64,
}

/// Totals and the cycles over which they were counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The totals.
    pub counts: Counts,
    /// The cycles.
    pub cycles: Cycles,
}

impl Counted {
    /// Cycles over which it was counted for how long things were taken.
    pub fn held_cycles(&self) -> Cycles {
        self.counts.held_cycles.unwrap_or(self.cycles)
    }
}

/// The mean share of the time for which something of so many lanes was taken, and for how long in
/// microseconds by how many.
pub fn taken(
    counted: &[Counted],
    cycle_us: f64,
    lanes: u32,
    of: impl Fn(&Counts) -> Taken,
) -> (f64, (f64, f64)) {
    let each = counted
        .iter()
        .map(|counted| (of(&counted.counts), counted.held_cycles()));
    let (mut share, mut asked, mut times) = (0.0, 0.0, 0.0);
    for (taken, cycles) in each {
        share += taken.cycles as f64 / (cycles.max(1) as f64 * f64::from(lanes));
        asked += taken.asked as f64 * cycle_us;
        times += taken.times as f64;
    }
    (share / counted.len() as f64, (asked, times))
}

/// A rate to report.
#[derive(Debug, Clone, PartialEq)]
pub struct RateInfo {
    /// Its name in results.
    pub name: Cow<'static, str>,
    /// Its unit.
    pub unit: &'static str,
    /// What is counted.
    pub fate: Fate,
    /// Positions of the flows that count.
    pub flows: Vec<usize>,
    /// In `unit`, for one demand, or byte carried, per cycle.
    pub scale: f64,
}
