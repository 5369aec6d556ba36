//! The interface through which an experiment simulates and measures a point of any kind of machine.

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

/// A machine with its workload that can be simulated: one point of a sweep, or one load of a search.
pub trait Subject: Debug + Send + Sync {
    /// Start a simulation at cycle zero. The master seed and the number of the replication determine its
    /// random numbers.
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated>;

    /// Return the length of one simulated cycle in microseconds.
    fn cycle_us(&self) -> f64;

    /// Return the number of cycles that a run must last before it is tested for saturation. In a shorter run,
    /// a backlog that only fills the delays of software and devices would look like saturation.
    fn cycles_min(&self) -> Cycles;

    /// Return the number of cycles that a run should last before it is tested for saturation, if more than
    /// [`cycles_min`](Self::cycles_min). A large buffer, such as a burst buffer, seems to carry any load
    /// until it is full. The verdict on a run that reaches its message limit earlier is undecided. The
    /// default is 0.
    fn cycles_wanted(&self) -> Cycles {
        0
    }

    /// Return the number of nodes that send messages.
    fn senders(&self) -> u64;

    /// Return how many demands of a flow are delayed by software and devices at the same time when every link is fully
    /// used. The default is 0.
    fn held_by_delays(&self, _flow: usize) -> u64 {
        0
    }

    /// Return the longest period of any periodic process, such as a checkpoint, in cycles; 0 if nothing is
    /// periodic. Rates that are measured over less than one period depend on the phase of the period.
    fn period(&self) -> Cycles {
        0
    }

    /// Return the minimum number of messages that a periodic process, such as a checkpoint, sends in one period; 0 if
    /// nothing is periodic.
    fn period_messages(&self) -> u64 {
        0
    }

    /// Return the demand on each kind of part of the machine, and the maximum throughput of that kind.
    fn capacity(&self) -> Capacity {
        Capacity::default()
    }

    /// Return the names of all latencies that this kind of machine measures. The recorders have the same
    /// order.
    fn measures(&self) -> &[String];

    /// Return whether the workload can produce observations of the latency at position `measure`, however
    /// rarely.
    fn occurs(&self, measure: usize) -> bool;

    /// Return the flows of demands whose backlog is tested for saturation.
    fn flows(&self) -> &[FlowInfo];

    /// Return whether the workload is a closed loop, in which a new demand waits for the end of an earlier
    /// one. In a closed loop no backlog can grow, and offered demands are not counted.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Return the definitions of the rates that results report.
    fn rates(&self) -> Vec<RateInfo>;

    /// Return the number of messages of an exact run; `None` by default. A point without random numbers has
    /// an exact run: one replication with this number of messages, whatever the stopping rules are.
    fn exact(&self) -> Option<u64> {
        None
    }

    /// Return the offered load in the unit of [`crate::result::Load`]; `None` in a closed loop.
    fn load(&self) -> Option<f64>;

    /// Return the predictions of the analytic model for this point; empty if the model has none.
    fn overlay(&self) -> Overlay;

    /// Return the use of the machine's parts, such as links and disks, and the part that limits the machine.
    /// `counted` has an entry for each replication.
    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses;

    /// Return the offered and accepted load of each node; empty for kinds of machine that do not count it.
    fn nodes(&self, counted: &[Counted]) -> Vec<NodeUse>;

    /// Return a summary of each job of the workload; empty if the workload has no jobs.
    fn jobs(&self) -> Vec<JobSummary> {
        Vec::new()
    }

    /// Return the numbers of the I/O servers that the jobs use.
    fn servers(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// A running simulation of one replication.
pub trait Simulated: Send {
    /// Continue the simulation until the recorders report a stop or the cycle `until` has passed. Return
    /// false if no event is left.
    fn run(&mut self, recorders: &mut Recorders, until: Cycles) -> bool;

    /// Return the current simulated time in cycles.
    fn now(&self) -> Cycles;

    /// Return the number of messages in flight: those that have started and not arrived.
    fn under_way(&self) -> u64;

    /// Start to count the use of channels and other parts, which is not counted during the warm-up.
    fn start_counting_channels(&mut self);

    /// Return the counts of use since the call of [`Simulated::start_counting_channels`].
    fn counts(&self) -> Counts;

    /// Return the description of the collapse of the machine; `None` while it delivers messages.
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

/// An observation, such as the duration of a phase, that was incomplete when the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unended {
    /// Position of the measure in [`Subject::measures`].
    pub measure: usize,
    /// Age of the observation at the end of the run, in cycles.
    pub age: Cycles,
}

/// A measured value of an exact run, which has no random numbers and thus no confidence interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of the value in results.
    pub name: &'static str,
    /// Unit of the value, as results show it.
    pub unit: &'static str,
    /// The value, in the unit `unit`.
    pub value: f64,
}

/// Counts of one simulation: the use of the machine's parts, and the demands of its nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Number of busy cycles of each channel, as the number of flits or symbols that it has transmitted. Each kind of
    /// machine chooses the order of channels.
    pub channels: Vec<u64>,
    /// Occupancy of the lanes of each channel by messages; empty for kinds of machine that do not count it.
    pub held: Vec<Occupancy>,
    /// Occupancy of each disk or network interface by requests or messages.
    pub devices: Vec<Occupancy>,
    /// Number of cycles over which `held` was counted, if it differs from that of the other counts.
    pub held_cycles: Option<Cycles>,
    /// Number of demands that each node offered, and number of demands completed for it; empty for kinds of
    /// machine that do not count them.
    pub nodes: Vec<(u64, u64)>,
}

/// Occupancy of one resource of the machine, such as a channel or a disk, by messages or requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Number of cycles for which the resource was occupied, within the cycles of the count.
    pub cycles: u64,
    /// Number of messages or requests that occupied the resource.
    pub times: u64,
    /// Total number of cycles for which the counted messages or requests occupy the resource, including cycles after
    /// the counting has ended.
    pub asked: u64,
}

/// Counts of one simulation, and the number of cycles over which they were counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Counts of the simulation.
    pub counts: Counts,
    /// Number of cycles over which the simulation was counted.
    pub cycles: Cycles,
}

impl Counted {
    /// Return the number of cycles over which the occupancy of lanes was counted.
    pub fn held_cycles(&self) -> Cycles {
        self.counts.held_cycles.unwrap_or(self.cycles)
    }
}

/// Return the share of the time for which a resource with `lanes` lanes was occupied, as a mean over
/// replications. Also return the total time for which messages or requests occupy it, in us, and their
/// number.
pub fn occupancy(
    counted: &[Counted],
    cycle_us: f64,
    lanes: u32,
    of: impl Fn(&Counts) -> Occupancy,
) -> (f64, (f64, f64)) {
    let each = counted
        .iter()
        .map(|counted| (of(&counted.counts), counted.held_cycles()));
    let (mut share, mut asked, mut times) = (0.0, 0.0, 0.0);
    for (occupancy, cycles) in each {
        share += occupancy.cycles as f64 / (cycles.max(1) as f64 * f64::from(lanes));
        asked += occupancy.asked as f64 * cycle_us;
        times += occupancy.times as f64;
    }
    (share / counted.len() as f64, (asked, times))
}

/// Definition of a measured rate that results report.
#[derive(Debug, Clone, PartialEq)]
pub struct RateInfo {
    /// Name under which results list the measured rate.
    pub name: Cow<'static, str>,
    /// Unit of the rate.
    pub unit: &'static str,
    /// Event whose occurrences the rate counts.
    pub fate: Fate,
    /// Positions of the flows whose events the rate counts.
    pub flows: Vec<usize>,
    /// Factor that converts a rate of one demand or one arrived byte per cycle to the unit of the rate.
    pub scale: f64,
}
