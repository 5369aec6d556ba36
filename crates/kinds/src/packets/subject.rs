//! Networks of packets with the jobs that run on them, as subjects of experiments.

use super::behind::{self, Devices};
use super::{Fabric, capacity, figures};
use isthmus_experiment::Flaw;
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::recorders::Recorders;
use isthmus_experiment::result::{Collapse, JobSummary, NodeUse};
use isthmus_experiment::subject::{
    Counted, Counts, Fate, FlowInfo, Overlay, RateInfo, Simulated, Subject, Taken,
};
use isthmus_experiment::uses::Uses;
use isthmus_kernel::Cycles;
use isthmus_machine::packets::ways::Ways;
use isthmus_machine::packets::{
    Completed, EngineError as Error, NetworkError, Observer, Packet, Phase, Simulation, Stored,
};
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{Arrivals, Job, JobsTraffic, Traffic};
use std::borrow::Cow;
use std::sync::Arc;

/// What is measured of each job: messages from being asked for, and from being handed to the
/// network; packets from their injection.
const QUANTITIES: [&str; 3] = ["response", "network", "packet"];

/// Bytes per microsecond and node are MB/s.
const UNIT: &str = "MB/s";

/// A machine with the jobs of `traffic`.
///
/// # Errors
/// Jobs or servers that do not lie on it.
pub fn subject<F: Fabric>(
    fabric: &Arc<F>,
    traffic: &JobsTraffic,
) -> Result<Arc<dyn Subject>, Flaw> {
    let layout = Layout::new(traffic, fabric.node_count()).map_err(|error| Flaw {
        field: "workload.jobs",
        problem: error.to_string(),
        hint: "place servers and jobs elsewhere".to_owned(),
    })?;
    let flows = traffic.jobs.iter().map(|job| FlowInfo {
        name: Cow::Owned(job.name.clone()),
        sample_every: 1,
    });
    let servers = FlowInfo {
        name: Cow::Borrowed("servers"),
        sample_every: 1,
    };
    Ok(Arc::new(Point {
        fabric: Arc::clone(fabric),
        names: names(traffic),
        flows: flows.chain([servers]).collect(),
        data: (traffic.jobs.iter())
            .map(|job| Data::of(traffic, &layout, job))
            .collect(),
        phases: phases(traffic),
        open: traffic.jobs.iter().map(is_open).collect(),
        traffic: traffic.clone(),
        layout,
    }))
}

/// The field behind an error of links, switches or interfaces, and what would be right.
pub fn flaw(error: &NetworkError) -> Flaw {
    let (field, hint) = match error {
        NetworkError::Bandwidth(_) => (
            "machine.bandwidth",
            "give one at which a byte takes whole picoseconds, such as 400 MB/s or 12.5 GB/s",
        ),
        NetworkError::Engine(Error::SharedOutputs { .. }) => (
            "machine.output_buffer",
            "leave it out, or choose routes of one layer",
        ),
        NetworkError::Delay { .. } => ("machine.delay", "give shorter links"),
        NetworkError::Engine(_) | NetworkError::TooLong(_) => ("machine", "choose other values"),
    };
    Flaw {
        field,
        problem: error.to_string(),
        hint: hint.to_owned(),
    }
}

/// The names of all latencies of these jobs, in the order in which results list them: the phases of
/// those jobs that have any come last.
pub fn names(traffic: &JobsTraffic) -> Vec<String> {
    let jobs = traffic.jobs.iter();
    let messages =
        jobs.flat_map(|job| QUANTITIES.map(|quantity| format!("{}.{quantity}", job.name)));
    let phased = traffic.jobs.iter().filter(|job| has_phases(job));
    messages
        .chain(phased.map(|job| format!("{}.phase", job.name)))
        .collect()
}

/// Whether a job goes on in phases, each of which ends with the last of its processes: the rounds
/// of a collective operation, the checkpoints of a checkpoint.
fn has_phases(job: &Job) -> bool {
    matches!(
        job.traffic,
        Traffic::AllToAll { .. }
            | Traffic::AllReduce { .. }
            | Traffic::Neighbours { .. }
            | Traffic::Checkpoint { .. }
    )
}

/// Of each job the position of its phases among the names.
fn phases(traffic: &JobsTraffic) -> Vec<Option<usize>> {
    let mut next = QUANTITIES.len() * traffic.jobs.len();
    let jobs = traffic.jobs.iter();
    jobs.map(|job| {
        has_phases(job).then(|| {
            next += 1;
            next - 1
        })
    })
    .collect()
}

/// Whether the data of a job goes to or comes from I/O servers.
pub(crate) fn is_io(job: &Job) -> bool {
    matches!(job.traffic, Traffic::Io(_) | Traffic::Checkpoint { .. })
}

/// Where the data of a job go to and come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data {
    /// Nodes that are no I/O servers.
    Nodes,
    /// I/O servers, where what has arrived is stored.
    Servers,
    /// Devices behind them, so that what is written counts when it has been taken.
    Devices,
}

impl Data {
    fn of(traffic: &JobsTraffic, layout: &Layout, job: &Job) -> Self {
        if behind::stores(traffic, layout, job) {
            return Self::Devices;
        }
        match is_io(job) {
            true => Self::Servers,
            false => Self::Nodes,
        }
    }
}

/// Whether a job asks for messages however many of it wait.
fn is_open(job: &Job) -> bool {
    match &job.traffic {
        Traffic::Io(io) => matches!(io.arrivals, Arrivals::Open { .. }),
        Traffic::Uniform { arrivals, .. } | Traffic::Shift { arrivals, .. } => {
            matches!(arrivals, Arrivals::Open { .. })
        }
        Traffic::Checkpoint { .. } => true,
        _ => false,
    }
}

/// What an open loop asks for, in MB/s.
fn offered(arrivals: Arrivals) -> Option<f64> {
    match arrivals {
        Arrivals::Open { load, .. } => Some(load.bits_per_s() as f64 / 8e6),
        Arrivals::Closed { .. } => None,
    }
}

#[derive(Debug)]
struct Point<F> {
    fabric: Arc<F>,
    traffic: JobsTraffic,
    layout: Layout,
    names: Vec<String>,
    /// One for each job, then that of the I/O servers.
    flows: Vec<FlowInfo>,
    /// Where the data of each job go to and come from.
    data: Vec<Data>,
    /// Which jobs ask for messages however many wait.
    open: Vec<bool>,
    /// Of each job the position of its phases among the names.
    phases: Vec<Option<usize>>,
}

impl<F: Fabric> Point<F> {
    /// Period, volume of a node and number of nodes of each job of checkpoints.
    fn checkpoints(&self) -> impl Iterator<Item = (Time, u64, usize)> {
        let jobs = self.traffic.jobs.iter().zip(&self.layout.jobs);
        let active = jobs.filter(|(job, _)| job.active);
        active.filter_map(|(job, nodes)| match &job.traffic {
            Traffic::Checkpoint { period, volume, .. } => {
                Some((*period, volume.get(), nodes.len()))
            }
            _ => None,
        })
    }

    /// MB/s that a byte per tick is.
    fn mb_per_s(&self) -> f64 {
        1.0 / self.fabric.network().tick_us()
    }
}

impl<F: Fabric> Subject for Point<F> {
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated> {
        let simulation = Simulation::new(
            self.fabric.network(),
            self.fabric.ways(),
            &self.traffic,
            &self.layout,
            seed,
            replication,
        );
        Box::new(Running {
            simulation: simulation.expect("a node has fewer jobs than its interface has queues"),
            data: self.data.clone(),
            open: self.open.clone(),
            phases: self.phases.clone(),
            sent: vec![0; self.fabric.node_count() as usize],
        })
    }

    fn cycle_us(&self) -> f64 {
        self.fabric.network().tick_us()
    }

    /// Any run: closed loops fill no delays of their own. With devices one in which what they hold at
    /// first has been filled.
    fn cycles_min(&self) -> Cycles {
        let devices = Devices::of(self.fabric.network(), &self.traffic.storage);
        devices.map_or(0, |devices| devices.ticks_min(&self.traffic, &self.layout))
    }

    fn senders(&self) -> u64 {
        self.fabric.node_count().into()
    }

    fn measures(&self) -> &[String] {
        &self.names
    }

    fn occurs(&self, measure: usize) -> bool {
        let of_phases = || self.phases.iter().position(|&at| at == Some(measure));
        let job = match measure / QUANTITIES.len() {
            job if job < self.traffic.jobs.len() => Some(job),
            _ => of_phases(),
        };
        job.is_some_and(|job| self.traffic.jobs[job].active)
    }

    fn flows(&self) -> &[FlowInfo] {
        &self.flows
    }

    fn limits_itself(&self) -> bool {
        let mut jobs = self.traffic.jobs.iter().zip(&self.open);
        !jobs.any(|(job, open)| job.active && *open)
    }

    /// Data of each job for each of its nodes, and of all I/O for each server.
    fn rates(&self) -> Vec<RateInfo> {
        let per_node = |name: String, flow: usize, nodes: usize| RateInfo {
            name: Cow::Owned(name),
            unit: UNIT,
            fate: Fate::Carried,
            flows: vec![flow],
            scale: self.mb_per_s() / nodes.max(1) as f64,
        };
        let jobs = self.traffic.jobs.iter().zip(&self.layout.jobs);
        let mut rates: Vec<RateInfo> = jobs
            .enumerate()
            .filter(|(_, (job, _))| job.active)
            .map(|(number, (job, nodes))| {
                per_node(format!("{}.accepted", job.name), number, nodes.len())
            })
            .collect();
        let servers = self.layout.servers.len();
        if servers > 0 {
            let flow = self.flows.len() - 1;
            rates.push(per_node("servers.accepted".to_owned(), flow, servers));
        }
        rates
    }

    /// What the nodes of all open loops ask for, per node that asks.
    fn load(&self) -> Option<f64> {
        let jobs = self.traffic.jobs.iter().zip(&self.layout.jobs);
        let open = jobs
            .filter(|(job, _)| job.active)
            .filter_map(|(job, nodes)| {
                let load = match &job.traffic {
                    Traffic::Io(io) => offered(io.arrivals)?,
                    Traffic::Uniform { arrivals, .. } | Traffic::Shift { arrivals, .. } => {
                        offered(*arrivals)?
                    }
                    Traffic::Checkpoint { period, volume, .. } => volume.get() as f64 / period.us(),
                    _ => return None,
                };
                Some((load, capacity::askers(job, nodes) as f64))
            });
        let open: Vec<(f64, f64)> = open.collect();
        let first = open.first()?.0;
        if open.iter().all(|(load, _)| *load == first) {
            return Some(first);
        }
        let nodes: f64 = open.iter().map(|(_, nodes)| nodes).sum();
        let offered: f64 = open.iter().map(|(load, nodes)| load * nodes).sum();
        Some(offered / nodes.max(1.0))
    }

    /// The longest period of the checkpoints.
    fn period(&self) -> Cycles {
        let periods = self.checkpoints().map(|(period, ..)| period.us());
        let longest = periods.fold(0.0, f64::max);
        (longest / self.fabric.network().tick_us()).ceil() as Cycles
    }

    fn period_messages(&self) -> u64 {
        let Some(longest) = self.checkpoints().map(|(period, ..)| period).max() else {
            return 0;
        };
        let jobs = self.traffic.jobs.iter().zip(&self.layout.jobs);
        let active = jobs.filter(|(job, _)| job.active);
        active
            .map(|(job, nodes)| match &job.traffic {
                Traffic::Checkpoint {
                    period,
                    volume,
                    message,
                    ..
                } if *period == longest => {
                    volume.get().div_ceil(message.get()) * nodes.len() as u64
                }
                _ => 0,
            })
            .sum()
    }

    fn capacity(&self) -> Capacity {
        capacity::capacity(&*self.fabric, &self.traffic, &self.layout)
    }

    /// Of devices the closed forms of networks know nothing.
    fn overlay(&self) -> Overlay {
        if self.data.contains(&Data::Devices) {
            return Overlay::default();
        }
        self.fabric.overlay(&self.traffic, &self.layout)
    }

    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses {
        let storage = &self.traffic.storage;
        figures::uses(
            counted,
            &*self.fabric,
            &self.layout.servers,
            storage,
            overlay,
        )
    }

    fn nodes(&self, counted: &[Counted]) -> Vec<NodeUse> {
        figures::nodes(counted, self.mb_per_s())
    }

    fn jobs(&self) -> Vec<JobSummary> {
        let jobs = self.traffic.jobs.iter().zip(&self.layout.jobs);
        jobs.map(|(job, nodes)| JobSummary {
            name: job.name.clone(),
            active: job.active,
            io: is_io(job),
            nodes: nodes.clone(),
        })
        .collect()
    }

    fn servers(&self) -> Vec<u32> {
        self.layout.servers.clone()
    }
}

struct Running<W: Ways> {
    simulation: Simulation<W>,
    data: Vec<Data>,
    open: Vec<bool>,
    phases: Vec<Option<usize>>,
    /// Bytes that have arrived for the processes of each node.
    sent: Vec<u64>,
}

impl<W: Ways + Send + Sync + 'static> Simulated for Running<W> {
    fn run(&mut self, recorders: &mut Recorders, until: Cycles) -> bool {
        let mut seen = Seen {
            recorders,
            data: &self.data,
            open: &self.open,
            phases: &self.phases,
            sent: &mut self.sent,
        };
        let left = self.simulation.run_until(&mut seen, until);
        left || seen.finished()
    }

    fn now(&self) -> Cycles {
        self.simulation.now()
    }

    fn under_way(&self) -> u64 {
        self.simulation.under_way()
    }

    fn count_channels(&mut self) {
        self.simulation.restart_counts();
        self.sent.fill(0);
    }

    fn counts(&self) -> Counts {
        let counters = self.simulation.counted();
        let taken = |cycles: &[u64], times: &[u64]| -> Vec<Taken> {
            let each = cycles.iter().zip(times);
            each.map(|(&cycles, &times)| Taken {
                cycles,
                times,
                asked: cycles,
            })
            .collect()
        };
        let mut devices = taken(&counters.dma, &counters.sent);
        devices.extend(behind::counts(self.simulation.counted_behind()));
        Counts {
            held: taken(&counters.held, &counters.packets),
            devices,
            channels: counters.busy,
            held_cycles: None,
            nodes: self.sent.iter().map(|&bytes| (0, bytes)).collect(),
        }
    }

    /// Ways close no cycle of channels: kinds have none that do.
    fn collapse(&self) -> Option<Collapse> {
        None
    }
}

impl Seen<'_> {
    /// Data of a job have arrived for a process of this node.
    #[inline]
    fn carry(&mut self, job: usize, client: u32, bytes: u64) {
        let flows = &mut self.recorders.flows;
        flows[job].carry(bytes);
        if self.data[job] != Data::Nodes {
            flows[self.data.len()].carry(bytes);
        }
        self.sent[client as usize] += bytes;
    }
}

struct Seen<'a> {
    recorders: &'a mut Recorders,
    data: &'a [Data],
    open: &'a [bool],
    phases: &'a [Option<usize>],
    sent: &'a mut [u64],
}

impl Observer for Seen<'_> {
    fn offered(&mut self, job: u32) {
        // A closed loop has no backlog that could grow.
        if self.open[job as usize] {
            self.recorders.offer(job as usize);
        }
    }

    #[inline]
    fn packet(&mut self, packet: &Packet) {
        let (job, data) = (packet.job as usize, self.data[packet.job as usize]);
        if data == Data::Devices && packet.answer {
            return;
        }
        self.recorders.part();
        self.recorders.latencies[QUANTITIES.len() * job + 2].push(packet.latency);
        // What a device has to take counts when it has.
        if data != Data::Devices || packet.to == packet.client {
            self.carry(job, packet.client, packet.bytes);
        }
    }

    fn stored(&mut self, stored: &Stored) {
        self.carry(stored.job as usize, stored.client, stored.bytes);
    }

    fn completed(&mut self, completed: &Completed) {
        let (job, recorders) = (completed.job as usize, &mut *self.recorders);
        recorders.delivered += 1;
        recorders.latencies[QUANTITIES.len() * job].push(completed.response);
        recorders.latencies[QUANTITIES.len() * job + 1].push(completed.network);
        if self.open[job] {
            recorders.flows[job].complete();
        }
    }

    fn phase(&mut self, phase: &Phase) {
        if let Some(at) = self.phases[phase.job as usize] {
            self.recorders.latencies[at].push(phase.ended - phase.begun);
        }
    }

    #[inline]
    fn finished(&self) -> bool {
        self.recorders.finished()
    }
}
