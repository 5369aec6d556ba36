//! Simulations of jobs on a machine of any kind, as experiments start and measure them.

use super::behind::Devices;
use super::capacity::{PredictableJob, foretold};
use super::{Measured, ObserverState, nodes};
use isthmus_experiment::Flaw;
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::recorders::Recorders;
use isthmus_experiment::result::{Collapse, JobSummary, NodeUse};
use isthmus_experiment::subject::{
    Counted, Counts, FlowInfo, Overlay, RateInfo, Simulated, Subject, Unended,
};
use isthmus_experiment::uses::Uses;
use isthmus_kernel::Cycles;
use isthmus_machine::jobs::{Observer as _, Replication};
use isthmus_workload::jobs::spec::JobsTraffic;
use std::fmt::Debug;
use std::sync::Arc;

/// Minimum length of a run whose stability is judged, in multiples of the time of one message on an idle (otherwise
/// unused) machine. The judgement compares the two halves of a run, so initial filling must end well within the first
/// half.
pub(crate) const ALONE_MIN: u64 = 5;

/// A machine that jobs run on: the part of a [`Subject`] that depends on the machine.
pub(crate) trait Runs: Debug + Send + Sync + 'static {
    /// Return a new simulation of these jobs, with the random streams of this seed and replication.
    fn begin(&self, jobs: &Measured, seed: u64, replication: u64) -> Box<dyn Simulated>;

    /// Return the length of a cycle in microseconds.
    fn cycle_us(&self) -> f64;

    /// Return the number of nodes.
    fn node_count(&self) -> u32;

    /// Return the number of nodes that can send.
    fn senders(&self) -> u64 {
        self.node_count().into()
    }

    /// Return the devices behind the I/O servers, if any. By default each message is one request.
    fn devices(&self, jobs: &Measured) -> Option<Devices> {
        Devices::of(self.cycle_us(), &jobs.traffic.storage)
    }

    /// Return the time that a message of a job spends outside its device on an idle machine, in ns.
    fn alone_ns(&self, jobs: &Measured, asks: &PredictableJob<'_>) -> f64;

    /// Return the minimum number of cycles of a run whose stability is judged: those of several messages of the
    /// slowest open loop, and of several requests to devices. Closed loops need no such minimum.
    fn cycles_min(&self, jobs: &Measured) -> Cycles {
        let open = foretold(&jobs.traffic).filter(|asks| asks.message.offered.is_some());
        let longest = open
            .map(|asks| self.alone_ns(jobs, &asks))
            .fold(0.0, f64::max);
        let alone = (longest / 1e3 / self.cycle_us()).ceil() as Cycles;
        let devices = self.devices(jobs);
        let served = devices.map_or(0, |devices| devices.ticks_min(&jobs.traffic, &jobs.layout));
        ALONE_MIN.saturating_mul(alone).saturating_add(served)
    }

    /// Return the recommended number of cycles of a run, by default enough to fill all burst buffers.
    fn cycles_wanted(&self, jobs: &Measured) -> Cycles {
        let devices = self.devices(jobs);
        devices.map_or(0, |devices| {
            devices.ticks_wanted(&jobs.traffic, &jobs.layout)
        })
    }

    /// Return, for each part of the machine, the load that the jobs demand and the load that the part can carry.
    fn capacity(&self, jobs: &Measured) -> Capacity;

    /// Return the analytic estimates; empty by default.
    fn overlay(&self, _jobs: &Measured) -> Overlay {
        Overlay::default()
    }

    /// Return the nodes of the I/O servers.
    fn servers(&self, jobs: &Measured) -> Vec<u32> {
        jobs.layout.servers.clone()
    }

    /// Return the utilisation of the parts of the machine, and the bottleneck.
    fn uses(&self, jobs: &Measured, counted: &[Counted], overlay: &Overlay) -> Uses;
}

/// Return an object with which experiments simulate the jobs of `traffic` on `machine`.
///
/// # Errors
/// If jobs or servers do not fit on the machine.
pub(crate) fn subject(machine: impl Runs, traffic: &JobsTraffic) -> Result<Arc<dyn Subject>, Flaw> {
    let jobs = Measured::new(traffic, machine.node_count(), machine.cycle_us())?;
    Ok(Arc::new(Point { machine, jobs }))
}

/// A machine with the jobs of one point of a sweep.
#[derive(Debug)]
struct Point<M> {
    machine: M,
    jobs: Measured,
}

impl<M: Runs> Subject for Point<M> {
    /// Start a simulation at cycle 0; `seed` and `replication` determine its random numbers.
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated> {
        self.machine.begin(&self.jobs, seed, replication)
    }

    /// Return the length of a simulated cycle in microseconds.
    fn cycle_us(&self) -> f64 {
        self.machine.cycle_us()
    }

    /// Return the minimum number of cycles of a run whose stability is judged.
    fn cycles_min(&self) -> Cycles {
        self.machine.cycles_min(&self.jobs)
    }

    /// Return the recommended number of cycles of a run whose stability is judged.
    fn cycles_wanted(&self) -> Cycles {
        self.machine.cycles_wanted(&self.jobs)
    }

    /// Return the number of nodes that send messages.
    fn senders(&self) -> u64 {
        self.machine.senders()
    }

    /// Return the names of all latencies, in the order of the recorders.
    fn measures(&self) -> &[String] {
        self.jobs.measures()
    }

    /// Return whether the workload can produce the latency with index `measure`.
    fn occurs(&self, measure: usize) -> bool {
        self.jobs.occurs(measure)
    }

    /// Return the flows of demands whose backlog shows saturation.
    fn flows(&self) -> &[FlowInfo] {
        self.jobs.flows()
    }

    /// Return whether the workload is a closed loop, so that no backlog can grow.
    fn limits_itself(&self) -> bool {
        self.jobs.limits_itself()
    }

    /// Return the rates that results contain: of each job per node, and of all I/O per server.
    fn rates(&self) -> Vec<RateInfo> {
        self.jobs.rates()
    }

    /// Return the offered load in MB/s; `None` in a closed loop.
    fn load(&self) -> Option<f64> {
        self.jobs.load()
    }

    /// Return the longest period of the checkpoint jobs, in cycles; 0 without such jobs.
    fn period(&self) -> Cycles {
        self.jobs.period()
    }

    /// Return the number of messages that jobs with the longest checkpoint period send in that period.
    fn period_messages(&self) -> u64 {
        self.jobs.period_messages()
    }

    /// Return, for each part of the machine, the load that the jobs demand and the load that the part can carry.
    fn capacity(&self) -> Capacity {
        self.machine.capacity(&self.jobs)
    }

    /// Return the estimates of the analytic model for this point of a sweep.
    fn overlay(&self) -> Overlay {
        self.machine.overlay(&self.jobs)
    }

    /// Return the utilisation of the parts of the machine, and the bottleneck among them.
    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses {
        self.machine.uses(&self.jobs, counted, overlay)
    }

    /// Return the accepted bandwidth of each node.
    fn nodes(&self, counted: &[Counted]) -> Vec<NodeUse> {
        nodes(counted, self.jobs.mb_per_s())
    }

    /// Return a summary of each job for the results.
    fn jobs(&self) -> Vec<JobSummary> {
        self.jobs.jobs()
    }

    /// Return the numbers of the nodes that are I/O servers.
    fn servers(&self) -> Vec<u32> {
        self.machine.servers(&self.jobs)
    }
}

/// A running simulation of jobs on one kind of machine.
pub(crate) struct Running<S> {
    pub simulation: S,
    pub observer: ObserverState,
    /// Function that returns the counts of channels and devices; the observer has the counts of nodes.
    pub counts: fn(&S) -> Counts,
    /// Function that returns the collapse of the simulation, if it has collapsed.
    pub collapse: fn(&S) -> Option<Collapse>,
}

impl<S: Replication + Send> Simulated for Running<S> {
    /// Continue the simulation until the recorders stop it or the cycle `until` has passed. Return false if no event is
    /// left.
    fn run(&mut self, recorders: &mut Recorders, until: Cycles) -> bool {
        let mut recording = self.observer.with(recorders);
        let was_stopped = self.simulation.run_until(&mut recording, until);
        was_stopped || recording.finished()
    }

    /// Return the simulated time in cycles.
    fn now(&self) -> Cycles {
        self.simulation.now()
    }

    /// Return the number of messages in flight.
    fn under_way(&self) -> u64 {
        self.simulation.under_way()
    }

    /// Start to count the use of channels and other parts, at the end of the warm-up.
    fn start_counting_channels(&mut self) {
        self.simulation.restart_counts();
        self.observer.restart_counts();
    }

    /// Return the counts of the use of the parts of the machine.
    fn counts(&self) -> Counts {
        Counts {
            nodes: self.observer.nodes(),
            ..(self.counts)(&self.simulation)
        }
    }

    /// Return the description of a livelock or deadlock, if the machine is in one.
    fn collapse(&self) -> Option<Collapse> {
        (self.collapse)(&self.simulation)
    }

    /// Return the ages of the phases and messages that are still open at the end of the run.
    fn unended(&self) -> Vec<Unended> {
        self.observer.unended(&self.simulation.open())
    }
}

/// Return `None`, for machines that cannot collapse because their routes are free of deadlock.
pub(crate) fn never<S>(_: &S) -> Option<Collapse> {
    None
}
