//! Latencies and rates of jobs for the results, on any kind of machine.

use isthmus_experiment::Flaw;
use isthmus_experiment::recorders::Recorders;
use isthmus_experiment::result::JobSummary;
use isthmus_experiment::subject::{Fate, FlowInfo, RateInfo, Unended};
use isthmus_kernel::Cycles;
use isthmus_machine::jobs::{Completed, Observer, Open, Packet, Phase, Stored};
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{Arrivals, Io, Job, JobsTraffic, Targets, Traffic};
use std::borrow::Cow;

/// Latencies that results contain for each job. `response` counts from the request of a message, `network` from its
/// handover to the network, and `packet` from the injection of a packet.
const QUANTITIES: [&str; 3] = ["response", "network", "packet"];

/// Unit of the jobs' rates in results.
const UNIT: &str = "MB/s";

/// Return the names of all latencies of these jobs in the order of the results. Latencies of phases come last.
pub fn names(traffic: &JobsTraffic) -> Vec<String> {
    let jobs = traffic.jobs.iter();
    let messages =
        jobs.flat_map(|job| QUANTITIES.map(|quantity| format!("{}.{quantity}", job.name)));
    let phased = traffic.jobs.iter().filter(|job| has_phases(job));
    messages
        .chain(phased.map(|job| format!("{}.phase", job.name)))
        .collect()
}

/// Return whether a job runs in phases: rounds of a collective operation, or checkpoints. A phase ends when all
/// processes of the job have ended it.
fn has_phases(job: &Job) -> bool {
    matches!(
        job.traffic,
        Traffic::AllToAll { .. }
            | Traffic::AllReduce { .. }
            | Traffic::Neighbours { .. }
            | Traffic::Listed { .. }
            | Traffic::Checkpoint { .. }
    )
}

/// Return, for each job, the index of its phase latency in the list that `names` returns; `None` for a job without
/// phases.
fn phase_indices(traffic: &JobsTraffic) -> Vec<Option<usize>> {
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

/// Return whether a job exchanges data with I/O servers: reads from them or writes to them.
pub(crate) fn is_io(layout: &Layout, job: &Job) -> bool {
    job.traffic.stores_on(&layout.servers)
}

/// Return whether a job reads from the storage devices of I/O servers or writes to them.
pub(crate) fn stores(traffic: &JobsTraffic, layout: &Layout, job: &Job) -> bool {
    traffic.storage.is_some() && is_io(layout, job)
}

/// The parts of a machine with which the nodes of a job exchange data: nodes, I/O servers, or devices behind these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    /// The nodes exchange data with nodes that are not I/O servers.
    Nodes,
    /// I/O servers without storage devices: data counts as stored when it arrives.
    Servers,
    /// Devices behind I/O servers: data counts when a device has stored it.
    Devices,
}

impl Endpoint {
    /// Return the kind of endpoint that a job has: devices, I/O servers or other nodes.
    fn of(traffic: &JobsTraffic, layout: &Layout, job: &Job) -> Self {
        if stores(traffic, layout, job) {
            return Self::Devices;
        }
        match is_io(layout, job) {
            true => Self::Servers,
            false => Self::Nodes,
        }
    }
}

/// Return whether a job is an open loop: its nodes generate messages regardless of how many are waiting.
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

/// Return the number of messages that a job with checkpoints sends in a checkpoint interval; `None` for other jobs.
fn messages_per_period(layout: &Layout, number: usize, job: &Job) -> Option<u64> {
    let Traffic::Checkpoint {
        volume, message, ..
    } = &job.traffic
    else {
        return None;
    };
    let clients = layout.partners(number, job).len() as u64;
    let each = volume.get().div_ceil(message.get());
    Some(each.saturating_mul(clients).max(1))
}

/// Return the load in MB/s that the arrival process of an open loop offers; `None` for a closed loop.
fn offered(arrivals: Arrivals) -> Option<f64> {
    match arrivals {
        Arrivals::Open { load, .. } => Some(load.bits_per_s() as f64 / 8e6),
        Arrivals::Closed { .. } => None,
    }
}

/// Return the number of nodes of a job that send requests: all but the hot node, which only receives.
fn client_count(job: &Job, nodes: &[u32]) -> usize {
    let hot = match &job.traffic {
        Traffic::Io(Io {
            targets: Targets::HotNode(hot),
            ..
        }) => Some(hot),
        _ => None,
    };
    nodes.iter().filter(|node| Some(*node) != hot).count()
}

/// The jobs of a scenario, the nodes to which they are assigned, and the names of the measures that results contain.
#[derive(Debug)]
pub(crate) struct Measured {
    pub traffic: JobsTraffic,
    pub layout: Layout,
    tick_us: f64,
    names: Vec<String>,
    /// Flows whose backlog shows saturation: one for each job, then one for all I/O servers.
    flows: Vec<FlowInfo>,
    properties: Properties,
}

/// Properties of all jobs, indexed by job, that the measurement of a simulation looks up.
#[derive(Debug, Clone)]
struct Properties {
    /// The parts of the machine with which the nodes of each job exchange data.
    data: Vec<Endpoint>,
    /// Whether each job is an open loop, which does not wait for completions.
    open: Vec<bool>,
    /// Index of each job's phase latency in the names of latencies; `None` for jobs without phases.
    phases: Vec<Option<usize>>,
}

impl Measured {
    /// Assign the jobs to nodes of a machine, and prepare the measurement. The machine has `nodes` nodes, and its tick
    /// lasts `tick_us` microseconds.
    ///
    /// # Errors
    /// If jobs or servers do not fit on the machine.
    pub fn new(traffic: &JobsTraffic, nodes: u32, tick_us: f64) -> Result<Self, Flaw> {
        let layout = Layout::new(traffic, nodes).map_err(|error| Flaw {
            field: "workload.jobs",
            problem: error.to_string(),
            hint: "place servers and jobs elsewhere".to_owned(),
            line: None,
        })?;
        let flows = (0..).zip(&traffic.jobs).map(|(number, job)| {
            let messages_per_period = messages_per_period(&layout, number, job);
            FlowInfo {
                name: Cow::Owned(job.name.clone()),
                sample_every: messages_per_period.unwrap_or(1),
                periodic: messages_per_period.is_some(),
            }
        });
        let servers = FlowInfo {
            name: Cow::Borrowed("servers"),
            sample_every: 1,
            periodic: false,
        };
        Ok(Self {
            tick_us,
            names: names(traffic),
            flows: flows.chain([servers]).collect(),
            properties: Properties {
                data: (traffic.jobs.iter())
                    .map(|job| Endpoint::of(traffic, &layout, job))
                    .collect(),
                open: traffic.jobs.iter().map(is_open).collect(),
                phases: phase_indices(traffic),
            },
            traffic: traffic.clone(),
            layout,
        })
    }

    /// Return whether any job uses devices behind I/O servers.
    pub fn is_stored_behind(&self) -> bool {
        self.properties.data.contains(&Endpoint::Devices)
    }

    /// Return the state of an observer of these jobs before the run: nothing is counted. The machine has `nodes` nodes.
    pub fn observer_state(&self, nodes: u32) -> ObserverState {
        ObserverState {
            properties: self.properties.clone(),
            sent: vec![0; nodes as usize],
        }
    }

    /// Return the checkpoint interval, the bytes that each node writes and the number of nodes, for each active job
    /// that writes checkpoints.
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

    /// Return the bandwidth of one byte per tick in MB/s: the factor that converts bytes per tick.
    pub fn mb_per_s(&self) -> f64 {
        1.0 / self.tick_us
    }

    /// Return the names of all latencies of the jobs, in the order of the results.
    pub fn measures(&self) -> &[String] {
        &self.names
    }

    /// Return whether the latency with this index occurs in the run: only if its job is active.
    pub fn occurs(&self, measure: usize) -> bool {
        let of_phases = || {
            self.properties
                .phases
                .iter()
                .position(|&at| at == Some(measure))
        };
        let job = match measure / QUANTITIES.len() {
            job if job < self.traffic.jobs.len() => Some(job),
            _ => of_phases(),
        };
        job.is_some_and(|job| self.traffic.jobs[job].active)
    }

    /// Return the flows of demands whose backlog is tested for saturation: one for each job, one for all I/O servers.
    pub fn flows(&self) -> &[FlowInfo] {
        &self.flows
    }

    /// Return whether all active jobs are closed loops: their nodes wait for completions, so that no backlog can grow.
    pub fn limits_itself(&self) -> bool {
        let mut jobs = self.traffic.jobs.iter().zip(&self.properties.open);
        !jobs.any(|(job, open)| job.active && *open)
    }

    /// Describe the accepted rates that results contain: the rate of each active job per node, and that of all I/O per
    /// server.
    pub fn rates(&self) -> Vec<RateInfo> {
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

    /// Return the offered load per sending node in MB/s, as the mean over all active open loops; `None` if there are
    /// none.
    pub fn load(&self) -> Option<f64> {
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
                Some((load, client_count(job, nodes) as f64))
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

    /// Return the longest checkpoint interval of all active jobs, in ticks; 0 without checkpoints.
    pub fn period(&self) -> Cycles {
        let periods = self.checkpoints().map(|(period, ..)| period.us());
        let longest = periods.fold(0.0, f64::max);
        (longest / self.tick_us).ceil() as Cycles
    }

    /// Return how many messages all active jobs with the longest checkpoint interval send in one such interval; 0
    /// without checkpoints.
    pub fn period_messages(&self) -> u64 {
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
                    (volume.get().div_ceil(message.get())).saturating_mul(nodes.len() as u64)
                }
                _ => 0,
            })
            .fold(0, u64::saturating_add)
    }

    /// Return the summary of each job for the results: its name, its nodes, and whether it is active.
    pub fn jobs(&self) -> Vec<JobSummary> {
        let jobs = self.traffic.jobs.iter().zip(&self.layout.jobs);
        jobs.map(|(job, nodes)| JobSummary {
            name: job.name.clone(),
            active: job.active,
            io: is_io(&self.layout, job),
            nodes: nodes.clone(),
        })
        .collect()
    }
}

/// The counts of an observer of jobs, which are kept between the parts of a run.
#[derive(Debug)]
pub(crate) struct ObserverState {
    properties: Properties,
    /// Bytes that the network has carried so far for the processes of each node, indexed by node.
    sent: Vec<u64>,
}

impl ObserverState {
    /// Return an observer of jobs that changes this state and passes events on to `recorders`.
    pub fn with<'a>(&'a mut self, recorders: &'a mut Recorders) -> Recording<'a> {
        Recording {
            recorders,
            properties: &self.properties,
            sent: &mut self.sent,
        }
    }

    /// Reset the count of carried bytes of each node to 0 when the warm-up ends.
    pub fn restart_counts(&mut self) {
        self.sent.fill(0);
    }

    /// Return the ages of the phases and messages that are incomplete at the end of the run. In a closed loop a message
    /// is requested and handed over at the same time, so both of its latencies have the same age.
    pub fn unended(&self, open: &Open) -> Vec<Unended> {
        let phases = open.phases.iter().filter_map(|phase| {
            Some(Unended {
                measure: self.properties.phases[phase.job as usize]?,
                age: phase.end - phase.start,
            })
        });
        let messages = open.messages.iter().flat_map(|&(job, age)| {
            let response = QUANTITIES.len() * job as usize;
            [response, response + 1].map(|measure| Unended { measure, age })
        });
        phases.chain(messages).collect()
    }

    /// Return offered and carried bytes for the processes of each node. Offered bytes are not counted, and always 0.
    pub fn nodes(&self) -> Vec<(u64, u64)> {
        self.sent.iter().map(|&bytes| (0, bytes)).collect()
    }
}

/// Observer that passes the events of jobs on to the recorders.
pub(crate) struct Recording<'a> {
    recorders: &'a mut Recorders,
    properties: &'a Properties,
    sent: &'a mut [u64],
}

impl Recording<'_> {
    /// Count data of a job that the network has carried for a process on the node `client`.
    #[inline]
    fn carry(&mut self, job: usize, client: u32, bytes: u64) {
        let flows = &mut self.recorders.flows;
        flows[job].carry(bytes);
        if self.properties.data[job] != Endpoint::Nodes {
            flows[self.properties.data.len()].carry(bytes);
        }
        self.sent[client as usize] += bytes;
    }
}

impl Observer for Recording<'_> {
    /// Record that a process of `job` has generated a message.
    fn offered(&mut self, job: u32) {
        // Count generated messages of open loops only: in a closed loop no backlog can grow.
        if self.properties.open[job as usize] {
            self.recorders.offer(job as usize);
        }
    }

    /// Record the latency and the data of a packet that has arrived.
    #[inline]
    fn packet(&mut self, packet: &Packet) {
        let job = packet.job as usize;
        let data = self.properties.data[job];
        if data == Endpoint::Devices && packet.answer {
            return;
        }
        self.recorders.part();
        self.recorders.latencies[QUANTITIES.len() * job + 2].push(packet.latency);
        // Do not count data that is on the way to a device: it counts when the device has stored it.
        if data != Endpoint::Devices || packet.to == packet.client {
            self.carry(job, packet.client, packet.bytes);
        }
    }

    /// Record that a device behind an I/O server has stored data of a job.
    fn stored(&mut self, stored: &Stored) {
        self.carry(stored.job as usize, stored.client, stored.bytes);
    }

    /// Record the latencies of a completed message of a job.
    fn completed(&mut self, completed: &Completed) {
        let (job, recorders) = (completed.job as usize, &mut *self.recorders);
        recorders.delivered += 1;
        recorders.latencies[QUANTITIES.len() * job].push(completed.response);
        recorders.latencies[QUANTITIES.len() * job + 1].push(completed.network);
        if self.properties.open[job] {
            recorders.flows[job].complete();
        }
    }

    /// Record the duration of a phase of a job, which is a round or a checkpoint.
    fn phase(&mut self, phase: &Phase) {
        if let Some(at) = self.properties.phases[phase.job as usize] {
            self.recorders.latencies[at].push(phase.end - phase.start);
        }
    }

    /// Return whether the recorders have stopped the run, because they have recorded enough.
    #[inline]
    fn finished(&self) -> bool {
        self.recorders.finished()
    }
}
