//! What is measured of jobs, whatever machine they run on.

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

/// What is measured of each job: messages from being asked for, and from being handed to the
/// network; packets from their injection.
const QUANTITIES: [&str; 3] = ["response", "network", "packet"];

/// Bytes per microsecond and node are MB/s.
const UNIT: &str = "MB/s";

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
            | Traffic::Listed { .. }
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

/// Whether a job writes to and reads from I/O servers.
pub(crate) fn is_io(layout: &Layout, job: &Job) -> bool {
    job.traffic.stores_on(&layout.servers)
}

/// Whether a job writes to and reads from devices.
pub(crate) fn stores(traffic: &JobsTraffic, layout: &Layout, job: &Job) -> bool {
    traffic.storage.is_some() && is_io(layout, job)
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
        if stores(traffic, layout, job) {
            return Self::Devices;
        }
        match is_io(layout, job) {
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

/// Messages of a period of a job that asks for them once in a period.
fn of_period(layout: &Layout, number: usize, job: &Job) -> Option<u64> {
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

/// What an open loop asks for, in MB/s.
fn offered(arrivals: Arrivals) -> Option<f64> {
    match arrivals {
        Arrivals::Open { load, .. } => Some(load.bits_per_s() as f64 / 8e6),
        Arrivals::Closed { .. } => None,
    }
}

/// The nodes that ask a job's data, those that nothing can be asked of left out.
fn askers(job: &Job, nodes: &[u32]) -> usize {
    let hot = match &job.traffic {
        Traffic::Io(Io {
            targets: Targets::HotNode(hot),
            ..
        }) => Some(hot),
        _ => None,
    };
    nodes.iter().filter(|node| Some(*node) != hot).count()
}

/// Jobs, where they lie and what is measured of them.
#[derive(Debug)]
pub(crate) struct Measured {
    pub traffic: JobsTraffic,
    pub layout: Layout,
    tick_us: f64,
    names: Vec<String>,
    /// One for each job, then that of the I/O servers.
    flows: Vec<FlowInfo>,
    properties: Properties,
}

/// Properties of jobs that their observers need.
#[derive(Debug, Clone)]
struct Properties {
    /// Where the data of each job go to and come from.
    data: Vec<Data>,
    /// Which jobs ask for messages however many wait.
    open: Vec<bool>,
    /// Of each job the position of its phases among the names.
    phases: Vec<Option<usize>>,
}

impl Measured {
    /// On a machine of so many nodes, with ticks of this length.
    ///
    /// # Errors
    /// Jobs or servers that do not lie on it.
    pub fn new(traffic: &JobsTraffic, nodes: u32, tick_us: f64) -> Result<Self, Flaw> {
        let layout = Layout::new(traffic, nodes).map_err(|error| Flaw {
            field: "workload.jobs",
            problem: error.to_string(),
            hint: "place servers and jobs elsewhere".to_owned(),
            line: None,
        })?;
        let flows = (0..).zip(&traffic.jobs).map(|(number, job)| {
            let of_period = of_period(&layout, number, job);
            FlowInfo {
                name: Cow::Owned(job.name.clone()),
                sample_every: of_period.unwrap_or(1),
                periodic: of_period.is_some(),
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
                    .map(|job| Data::of(traffic, &layout, job))
                    .collect(),
                open: traffic.jobs.iter().map(is_open).collect(),
                phases: phases(traffic),
            },
            traffic: traffic.clone(),
            layout,
        })
    }

    /// Whether any job's data go to devices or come from there.
    pub fn is_stored_behind(&self) -> bool {
        self.properties.data.contains(&Data::Devices)
    }

    /// Return the state of a new observer of these jobs.
    pub fn observer_state(&self, nodes: u32) -> ObserverState {
        ObserverState {
            properties: self.properties.clone(),
            sent: vec![0; nodes as usize],
        }
    }

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
    pub fn mb_per_s(&self) -> f64 {
        1.0 / self.tick_us
    }

    pub fn measures(&self) -> &[String] {
        &self.names
    }

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

    pub fn flows(&self) -> &[FlowInfo] {
        &self.flows
    }

    pub fn limits_itself(&self) -> bool {
        let mut jobs = self.traffic.jobs.iter().zip(&self.properties.open);
        !jobs.any(|(job, open)| job.active && *open)
    }

    /// Data of each job for each of its nodes, and of all I/O for each server.
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

    /// What the nodes of all open loops ask for, per node that asks.
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
                Some((load, askers(job, nodes) as f64))
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
    pub fn period(&self) -> Cycles {
        let periods = self.checkpoints().map(|(period, ..)| period.us());
        let longest = periods.fold(0.0, f64::max);
        (longest / self.tick_us).ceil() as Cycles
    }

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

/// The state that an observer of jobs keeps between the parts of a run.
#[derive(Debug)]
pub(crate) struct ObserverState {
    properties: Properties,
    /// Bytes that have arrived for the processes of each node.
    sent: Vec<u64>,
}

impl ObserverState {
    /// Return an observer that passes events on to `recorders`.
    pub fn with<'a>(&'a mut self, recorders: &'a mut Recorders) -> Recording<'a> {
        Recording {
            recorders,
            properties: &self.properties,
            sent: &mut self.sent,
        }
    }

    /// Reset the counts of arrived bytes.
    pub fn restart_counts(&mut self) {
        self.sent.fill(0);
    }

    /// The observations of which these phases and messages are the first part. A closed loop hands over a message
    /// when it asks for it, so that its response and its time in the network are as old.
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

    /// Nothing offered, and the bytes that have arrived for the processes of each node.
    pub fn nodes(&self) -> Vec<(u64, u64)> {
        self.sent.iter().map(|&bytes| (0, bytes)).collect()
    }
}

/// Passes the events of jobs on to recorders.
pub(crate) struct Recording<'a> {
    recorders: &'a mut Recorders,
    properties: &'a Properties,
    sent: &'a mut [u64],
}

impl Recording<'_> {
    /// Data of a job have arrived for a process of this node.
    #[inline]
    fn carry(&mut self, job: usize, client: u32, bytes: u64) {
        let flows = &mut self.recorders.flows;
        flows[job].carry(bytes);
        if self.properties.data[job] != Data::Nodes {
            flows[self.properties.data.len()].carry(bytes);
        }
        self.sent[client as usize] += bytes;
    }
}

impl Observer for Recording<'_> {
    fn offered(&mut self, job: u32) {
        // A closed loop has no backlog that could grow.
        if self.properties.open[job as usize] {
            self.recorders.offer(job as usize);
        }
    }

    #[inline]
    fn packet(&mut self, packet: &Packet) {
        let job = packet.job as usize;
        let data = self.properties.data[job];
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
        if self.properties.open[job] {
            recorders.flows[job].complete();
        }
    }

    fn phase(&mut self, phase: &Phase) {
        if let Some(at) = self.properties.phases[phase.job as usize] {
            self.recorders.latencies[at].push(phase.end - phase.start);
        }
    }

    #[inline]
    fn finished(&self) -> bool {
        self.recorders.finished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^50 messages of each of 2^14 nodes are more than can be counted.
    #[test]
    fn messages_of_a_period_without_end() {
        let text = "version = 1\nname = \"x\"\n[machine]\nkind = \"fat-tree\"\narity = 4\nlevels = 7\n\
            [workload]\nmapping = \"shared\"\nservers = { placement = \"clustered\", count = 2 }\n\
            [workload.jobs.save]\ntraffic = \"checkpoint\"\nperiod = \"1 s\"\n\
            volume = \"1125899906842624 B\"\nmessage = \"1 B\"\n";
        let scenario = crate::KINDS.parse(text, "s.toml", &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let jobs = Measured::new(scenario.workload.expect(), 1 << 14, 1.0);
        assert_eq!(jobs.expect("they fit").period_messages(), u64::MAX);
    }
}
