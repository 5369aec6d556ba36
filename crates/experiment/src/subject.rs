//! The interface through which a point of any kind of machine is measured.

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
    /// Return a simulation at cycle zero, with the random streams of this seed and replication.
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated>;

    /// Return the length of one cycle in us.
    fn cycle_us(&self) -> f64;

    /// Return the cycles that a run must last before it is judged: a backlog that only fills the delays of
    /// software and devices would look like saturation.
    fn cycles_min(&self) -> Cycles;

    /// Return the cycles, beyond [`cycles_min`](Self::cycles_min), that a run should last before it is
    /// judged. A large store, such as a burst buffer, seems to carry any load until it is full. A run that
    /// reaches its message limit earlier is undecided. 0 by default.
    fn cycles_wanted(&self) -> Cycles {
        0
    }

    /// Return the number of nodes that send.
    fn senders(&self) -> u64;

    /// Return the demands of a flow that the delays of software and devices hold at once when every link is
    /// fully used. 0 by default.
    fn held_by_delays(&self, _flow: usize) -> u64 {
        0
    }

    /// Return the longest period of any periodic process, such as a checkpoint, in cycles; 0 if nothing is
    /// periodic. Rates of a run no longer than this hold only for its time.
    fn period(&self) -> Cycles {
        0
    }

    /// Return the least number of messages in such a period.
    fn period_messages(&self) -> u64 {
        0
    }

    /// Return demand and supply of the parts of the machine.
    fn capacity(&self) -> Capacity {
        Capacity::default()
    }

    /// Return the names of all possible latencies; the position is that of the recorder.
    fn measures(&self) -> &[String];

    /// Return whether this traffic can produce the measure at that position, however rarely.
    fn occurs(&self, measure: usize) -> bool;

    /// Return the flows whose backlog shows saturation.
    fn flows(&self) -> &[FlowInfo];

    /// Return whether the offered load follows the accepted load, so that no backlog can grow and flows have
    /// no offered demands.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Return the rates to report.
    fn rates(&self) -> Vec<RateInfo>;

    /// Return the number of messages of an exact run, if no random numbers are used. Then one replication
    /// with that many messages is run, whatever the rules say. `None` by default.
    fn exact(&self) -> Option<u64> {
        None
    }

    /// Return the offered load in the unit of [`crate::result::Load`]; `None` in a closed loop.
    fn load(&self) -> Option<f64>;

    /// Return the analytic model's values; empty if there are none.
    fn overlay(&self) -> Overlay;

    /// Return the use of the machine's parts, and the part that limits it.
    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses;

    /// Return the load of each node; empty for kinds that do not count it.
    fn nodes(&self, counted: &[Counted]) -> Vec<NodeUse>;

    /// Return the jobs, if there are any.
    fn jobs(&self) -> Vec<JobSummary> {
        Vec::new()
    }

    /// Return the I/O servers of the jobs.
    fn servers(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// A running simulation.
pub trait Simulated: Send {
    /// Continue until the recorders are finished or the cycle `until` has passed, whichever is first. Return
    /// false if no event is left.
    fn run(&mut self, recorders: &mut Recorders, until: Cycles) -> bool;

    /// Return the current cycle.
    fn now(&self) -> Cycles;

    /// Return the number of messages that have started and not arrived.
    fn under_way(&self) -> u64;

    /// Start to count the use of channels.
    fn count_channels(&mut self);

    /// Return the totals since [`Simulated::count_channels`].
    fn counts(&self) -> Counts;

    /// Return how the machine collapsed, if no message arrives any more.
    fn collapse(&self) -> Option<Collapse>;

    /// Return observations that have started and not ended, such as phases. None by default.
    fn unended(&self) -> Vec<Unended> {
        Vec::new()
    }

    /// Return the values of an exact run; empty by default.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

/// An observation that the end of the run cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unended {
    /// Position of the measure.
    pub measure: usize,
    /// Age in cycles.
    pub age: Cycles,
}

/// A value of an exact run.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name in results.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Value.
    pub value: f64,
}

/// Totals of one simulation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Cycles in which each channel was busy, in flits or symbols. Each kind chooses the order of channels.
    pub channels: Vec<u64>,
    /// Occupancy of the lanes of each channel; empty for kinds that do not count it.
    pub held: Vec<Taken>,
    /// Occupancy of each disk or network interface.
    pub devices: Vec<Taken>,
    /// Cycles over which `held` was counted, if they differ from those of the other totals.
    pub held_cycles: Option<Cycles>,
    /// Demands offered by each node, and completed for it; empty for kinds that do not count them.
    pub nodes: Vec<(u64, u64)>,
}

/// Occupancy of a resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Cycles of occupancy within the counted cycles.
    pub cycles: u64,
    /// Number of holders.
    pub times: u64,
    /// Cycles that these holders need in all, including those after the end of the count.
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
    /// Return the cycles over which occupancy was counted.
    pub fn held_cycles(&self) -> Cycles {
        self.counts.held_cycles.unwrap_or(self.cycles)
    }
}

/// Return the mean share of the time for which a resource with `lanes` lanes was occupied, and the occupancy
/// in us with the number of holders.
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
    /// Name in results.
    pub name: Cow<'static, str>,
    /// Unit.
    pub unit: &'static str,
    /// Event that is counted.
    pub fate: Fate,
    /// Positions of the flows that are counted.
    pub flows: Vec<usize>,
    /// Factor from one demand, or byte carried, per cycle to `unit`.
    pub scale: f64,
}
