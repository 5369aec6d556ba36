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
    /// Start a simulation at cycle zero, with the random streams of this seed and replication.
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated>;

    /// Return the length of one cycle in us.
    fn cycle_us(&self) -> f64;

    /// Return the number of cycles that a run must last before it is judged. In a shorter run, a backlog that
    /// only fills the delays of software and devices would look like saturation.
    fn cycles_min(&self) -> Cycles;

    /// Return the total number of cycles that a run should last before it is judged, if more than
    /// [`cycles_min`](Self::cycles_min). A large buffer, such as a burst buffer, seems to carry any load
    /// until it is full. A run that reaches its message limit earlier is undecided. 0 by default.
    fn cycles_wanted(&self) -> Cycles {
        0
    }

    /// Return the number of nodes that send.
    fn senders(&self) -> u64;

    /// Return the number of demands of a flow that are within the delays of software and devices at once when
    /// every link is fully used. 0 by default.
    fn held_by_delays(&self, _flow: usize) -> u64 {
        0
    }

    /// Return the longest period of any periodic process, such as a checkpoint, in cycles; 0 if nothing is
    /// periodic. Rates of a run that is not longer than one period hold only for the time of that run.
    fn period(&self) -> Cycles {
        0
    }

    /// Return the minimum number of messages in one period of the periodic process.
    fn period_messages(&self) -> u64 {
        0
    }

    /// Return demand on and supply of each kind of part of the machine.
    fn capacity(&self) -> Capacity {
        Capacity::default()
    }

    /// Return the names of all possible latencies, in the order of their recorders.
    fn measures(&self) -> &[String];

    /// Return whether this traffic can produce the measure at position `measure`, however rarely.
    fn occurs(&self, measure: usize) -> bool;

    /// Return the flows whose backlog shows saturation.
    fn flows(&self) -> &[FlowInfo];

    /// Return whether the offered load follows the accepted load. In such a closed loop no backlog can grow
    /// and flows have no offered demands.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Return the definitions of the rates that results report.
    fn rates(&self) -> Vec<RateInfo>;

    /// Return the number of messages of an exact run; `None` by default. A point without random numbers has
    /// an exact run: one replication with that many messages, for any stopping rules.
    fn exact(&self) -> Option<u64> {
        None
    }

    /// Return the offered load in the unit of [`crate::result::Load`]; `None` in a closed loop.
    fn load(&self) -> Option<f64>;

    /// Return the analytic model's values for this point; empty if there are none.
    fn overlay(&self) -> Overlay;

    /// Return the use of the machine's parts, and the part that limits it.
    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses;

    /// Return the load of each node; empty for kinds of machine that do not count it.
    fn nodes(&self, counted: &[Counted]) -> Vec<NodeUse>;

    /// Return the jobs of the workload; empty if it has none.
    fn jobs(&self) -> Vec<JobSummary> {
        Vec::new()
    }

    /// Return the numbers of the I/O servers that the jobs use.
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

    /// Start to count the use of channels and other parts.
    fn count_channels(&mut self);

    /// Return the totals since [`Simulated::count_channels`].
    fn counts(&self) -> Counts;

    /// Return how the machine collapsed; `None` while messages arrive.
    fn collapse(&self) -> Option<Collapse>;

    /// Return the observations that have started and not ended, such as phases. There are none by default.
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
    /// Position of the measure in [`Subject::measures`].
    pub measure: usize,
    /// Age of the observation in cycles.
    pub age: Cycles,
}

/// A value of an exact run.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of the value in results.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// Value.
    pub value: f64,
}

/// Totals of one simulation: the use of its parts, and the demands of its nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Cycles in which each channel was busy, as a number of flits or symbols. Each kind of machine chooses
    /// the order of channels.
    pub channels: Vec<u64>,
    /// Occupancy of the lanes of each channel; empty for kinds of machine that do not count it.
    pub held: Vec<Taken>,
    /// Occupancy of each disk or network interface.
    pub devices: Vec<Taken>,
    /// Number of cycles over which `held` was counted, if it differs from that of the other totals.
    pub held_cycles: Option<Cycles>,
    /// Number of demands that each node offered, and number of demands completed for it; empty for kinds of
    /// machine that do not count them.
    pub nodes: Vec<(u64, u64)>,
}

/// Occupancy of a resource, such as a channel or a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Cycles of occupancy within the counted cycles.
    pub cycles: u64,
    /// Number of messages or requests that occupied the resource.
    pub times: u64,
    /// Total number of cycles for which these messages or requests need the resource, including cycles after
    /// the end of the count.
    pub asked: u64,
}

/// Totals of one simulation, and the cycles over which they were counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Totals of the simulation.
    pub counts: Counts,
    /// Number of cycles over which the totals were counted.
    pub cycles: Cycles,
}

impl Counted {
    /// Return the number of cycles over which occupancy was counted.
    pub fn held_cycles(&self) -> Cycles {
        self.counts.held_cycles.unwrap_or(self.cycles)
    }
}

/// Return the mean share of the time for which a resource with `lanes` lanes was occupied. Also return the
/// time for which messages or requests need it, in us, and their number.
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

/// Definition of a rate that results report.
#[derive(Debug, Clone, PartialEq)]
pub struct RateInfo {
    /// Name of the rate in results.
    pub name: Cow<'static, str>,
    /// Unit of the rate.
    pub unit: &'static str,
    /// Event that the rate counts.
    pub fate: Fate,
    /// Positions of the flows whose events the rate counts.
    pub flows: Vec<usize>,
    /// Factor from one demand, or byte carried, per cycle to `unit`.
    pub scale: f64,
}
