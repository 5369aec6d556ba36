//! Which message each process of each job sends next.

use crate::jobs::client::{Asked, Asking, Client, ticks};
use crate::jobs::collective::{Member, Plan};
use crate::jobs::layout::Layout;
use crate::jobs::phases::{Phase, Phases};
use crate::jobs::roles::{clients, plan};
use crate::jobs::spec::{Job, JobsTraffic, Sizes};
use isthmus_kernel::{Chance, Cycles, Stream, Streams, Uniform};
use isthmus_units::Time;

/// Which way the data of a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// From the process to the other node.
    Write,
    /// From the other node to the process, which has to ask for it.
    Read,
}

/// A message that a process wants to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// When the process hands it to its network interface, now or later.
    pub time: Cycles,
    /// When it was asked for; before `time` if it has waited for another one of its process.
    pub asked: Cycles,
    /// The process.
    pub process: u32,
    /// Its job, by its place in the list of all jobs.
    pub job: u32,
    /// The node of the process.
    pub from: u32,
    /// The node that it writes to or reads from, never its own.
    pub to: u32,
    /// Length in bytes; zero only for pings.
    pub bytes: u64,
    /// Which way the data goes.
    pub operation: Operation,
    /// The step of a collective operation that it belongs to, counted over all rounds; else 0.
    pub step: u64,
}

/// One process of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// The job, by its place in the list of all jobs.
    pub job: u32,
    /// The node that it runs on.
    pub node: u32,
}

/// The messages of all active jobs, process by process.
///
/// Each job has one process on each of its nodes that sends at all; hot nodes, the second nodes of
/// pings in one direction and servers without another server do not.
///
/// Calling contract: [`begin`](Self::begin) once, then, for every demand,
/// [`completed`](Self::completed) with the time at which it is complete at its process and, for a
/// write, [`arrived`](Self::arrived) with that at which its last byte has come in. Completions may
/// be told as soon as they are certain, ahead of their time. Each call may add demands, none for
/// an earlier time than the one that it is told.
///
/// Every process draws from streams of its own, named after its job and numbered by its node, so
/// that a job asks for the same alone and beside others.
///
/// ```
/// use isthmus_kernel::Streams;
/// use isthmus_units::{Bytes, Time};
/// use isthmus_workload::jobs::spec::{AllReduce, Job, JobNodes, JobsTraffic, Mapping, Servers};
/// use isthmus_workload::jobs::spec::Traffic;
/// use isthmus_workload::jobs::{JobsSource, Layout};
///
/// let reduce = Traffic::AllReduce {
///     vector: Bytes::new(64),
///     algorithm: AllReduce::Ring,
///     pause: Time::ZERO,
/// };
/// let traffic = JobsTraffic {
///     servers: Servers::None,
///     mapping: Mapping::Dedicated,
///     jobs: vec![Job {
///         name: "reduce".to_owned(),
///         nodes: JobNodes::Listed(vec![3, 8]),
///         traffic: reduce,
///         active: true,
///     }],
/// };
/// let layout = Layout::new(&traffic, 16)?;
/// let tick = Time::from_ns(1);
/// let mut source = JobsSource::new(&traffic, &layout, tick, Streams::new(1, 0));
/// let mut demands = Vec::new();
/// source.begin(&mut demands);
/// let [first, second] = demands[..] else { panic!("each of two sends its half") };
/// assert_eq!((first.from, first.to, first.bytes), (3, 8, 32));
/// demands.clear();
///
/// // Node 8 goes on when it has the half of node 3 and its own has been acknowledged.
/// source.arrived(500, &first, &mut demands);
/// assert!(demands.is_empty());
/// source.completed(700, second.process, &mut demands);
/// assert_eq!((demands[0].from, demands[0].time, demands[0].step), (8, 700, 1));
/// # Ok::<(), isthmus_workload::jobs::LayoutError>(())
/// ```
#[derive(Debug, Clone)]
pub struct JobsSource {
    jobs: Vec<Runs>,
    processes: Vec<Process>,
    states: Vec<State>,
    /// Phases that have ended and have not been asked for.
    ended: Vec<Phase>,
}

/// An active job. Its processes follow one another, those of collectives by rank.
#[derive(Debug, Clone)]
struct Runs {
    does: Does,
    /// Its first process.
    first: u32,
    /// By node the process, for jobs that wait for messages.
    process_on: Vec<u32>,
    /// Of jobs that have phases.
    phases: Phases,
}

#[derive(Debug, Clone)]
enum Does {
    Ask {
        asking: Asking,
        sizes: Sizes,
        reads: Chance,
        /// Length of the last message of a burst.
        tail: u64,
        targets: Vec<u32>,
    },
    Collect {
        plan: Plan,
        pause: Cycles,
        nodes: Vec<u32>,
    },
}

#[derive(Debug, Clone)]
struct State {
    /// Its job among those that are active.
    runs: u32,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Client(Box<ClientState>),
    Member(MemberState),
}

#[derive(Debug, Clone)]
struct ClientState {
    client: Client,
    to: To,
    operation: Stream,
    /// When the burst of the message under way was asked for, if that is the last one of it.
    last_of: Option<Cycles>,
    bursts: u64,
}

#[derive(Debug, Clone)]
enum To {
    One(u32),
    /// Any of the targets but this one.
    Any {
        draw: Uniform,
        own: Option<u32>,
        stream: Stream,
    },
}

#[derive(Debug, Clone, Default)]
struct MemberState {
    member: Member,
    /// When the last that its present step waited for was there.
    ready: Cycles,
    asked: u64,
    /// The last time at which it asked, and for how many messages.
    last: (Cycles, u64),
    /// When its present round began.
    begun: Cycles,
}

impl JobsSource {
    /// The active jobs of `traffic` on the nodes of `layout`, time counted in `tick`.
    ///
    /// # Panics
    /// If the layout is not one of this traffic, or a load is zero.
    pub fn new(traffic: &JobsTraffic, layout: &Layout, tick: Time, streams: Streams) -> Self {
        let mut source = Self {
            jobs: Vec::new(),
            processes: Vec::new(),
            states: Vec::new(),
            ended: Vec::new(),
        };
        assert_eq!(
            traffic.jobs.len(),
            layout.jobs.len(),
            "a layout of other jobs"
        );
        for (job, nodes) in (0..).zip(&layout.jobs) {
            let described = &traffic.jobs[job as usize];
            if described.active {
                source.add(job, described, nodes, &layout.servers, tick, streams);
            }
        }
        source
    }

    fn add(
        &mut self,
        number: u32,
        job: &Job,
        nodes: &[u32],
        servers: &[u32],
        tick: Time,
        streams: Streams,
    ) {
        let first = self.processes.len() as u32;
        let runs = self.jobs.len() as u32;
        let mut process_on = Vec::new();
        let does = match plan(&job.traffic, nodes.len() as u32) {
            Some((plan, pause)) => {
                process_on =
                    vec![u32::MAX; nodes.iter().max().map_or(0, |&last| last as usize + 1)];
                for (process, &node) in (first..).zip(nodes) {
                    process_on[node as usize] = process;
                    self.processes.push(Process { job: number, node });
                    let kind = Kind::Member(MemberState::default());
                    self.states.push(State { runs, kind });
                }
                Does::Collect {
                    plan,
                    pause: ticks(pause, tick).round() as Cycles,
                    nodes: nodes.to_vec(),
                }
            }
            None => {
                let clients = clients(&job.traffic, nodes, servers, tick);
                for &(node, partner) in &clients.nodes {
                    let stream = |use_of: &str| {
                        streams.stream(&format!("{}/{use_of}", job.name), node.into())
                    };
                    let kind = Kind::Client(Box::new(ClientState {
                        client: Client::new(stream("arrival"), stream("size")),
                        to: To::new(node, partner, &clients.targets, stream("destination")),
                        operation: stream("operation"),
                        last_of: None,
                        bursts: 0,
                    }));
                    self.processes.push(Process { job: number, node });
                    self.states.push(State { runs, kind });
                }
                Does::Ask {
                    asking: clients.asking,
                    sizes: clients.sizes,
                    reads: Chance::new(clients.read_ratio),
                    tail: clients.tail,
                    targets: clients.targets,
                }
            }
        };
        let processes = self.processes.len() as u32 - first;
        self.jobs.push(Runs {
            does,
            first,
            process_on,
            phases: Phases::new(processes),
        });
    }

    /// All processes, those of one job together.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// The first messages of all processes.
    pub fn begin(&mut self, demands: &mut Vec<Demand>) {
        for process in 0..self.processes.len() as u32 {
            match self.states[process as usize].kind {
                Kind::Client(_) => self.ask(0, process, demands),
                Kind::Member(_) => self.collect(process, true, demands),
            }
        }
    }

    /// A demand of `process` is complete: its write is acknowledged, or its read has come in.
    ///
    /// # Panics
    /// If the process has nothing under way.
    #[inline]
    pub fn completed(&mut self, now: Cycles, process: u32, demands: &mut Vec<Demand>) {
        match &mut self.states[process as usize].kind {
            Kind::Client(state) => {
                if let Some(begun) = state.last_of {
                    let burst = state.bursts;
                    state.bursts += 1;
                    self.end_phase(process, burst, begun, now);
                }
                self.ask(now, process, demands);
            }
            Kind::Member(state) => {
                state.member.completed();
                state.ready = state.ready.max(now);
                if state.member.is_done() {
                    self.collect(process, false, demands);
                }
            }
        }
    }

    /// The last byte of a write has come in at its destination. Only collective operations wait
    /// for that.
    #[inline]
    pub fn arrived(&mut self, now: Cycles, demand: &Demand, demands: &mut Vec<Demand>) {
        let runs = &self.jobs[self.states[demand.process as usize].runs as usize];
        let Some(&process) = runs.process_on.get(demand.to as usize) else {
            return;
        };
        let Kind::Member(state) = &mut self.states[process as usize].kind else {
            return;
        };
        state.member.arrived(demand.step);
        state.ready = state.ready.max(now);
        if state.member.is_done() {
            self.collect(process, false, demands);
        }
    }

    /// Messages that `process` has asked for by `now`, which never goes back from call to call. In
    /// an open loop this counts those that wait for their turn.
    pub fn asked_by(&mut self, process: u32, now: Cycles) -> u64 {
        let state = &mut self.states[process as usize];
        match (&mut state.kind, &self.jobs[state.runs as usize].does) {
            (Kind::Client(state), Does::Ask { asking, .. }) => state.client.asked_by(asking, now),
            (Kind::Member(state), _) => match state.last {
                (time, messages) if time > now => state.asked - messages,
                _ => state.asked,
            },
            _ => unreachable!("clients ask"),
        }
    }

    /// The phases that have ended since this was last asked for. Like completions they may be told
    /// ahead of their time.
    pub fn ended_phases(&mut self) -> std::vec::Drain<'_, Phase> {
        self.ended.drain(..)
    }

    /// A process has ended a phase.
    fn end_phase(&mut self, process: u32, number: u64, begun: Cycles, ended: Cycles) {
        let runs = self.states[process as usize].runs as usize;
        if let Some((begun, ended)) = self.jobs[runs].phases.end(number, begun, ended) {
            let job = self.processes[process as usize].job;
            self.ended.push(Phase { job, begun, ended });
        }
    }

    /// The next message of a client.
    fn ask(&mut self, now: Cycles, process: u32, demands: &mut Vec<Demand>) {
        let Process { job, node } = self.processes[process as usize];
        let state = &mut self.states[process as usize];
        let runs = &self.jobs[state.runs as usize];
        let (
            Kind::Client(state),
            Does::Ask {
                asking,
                sizes,
                reads,
                tail,
                targets,
            },
        ) = (&mut state.kind, &runs.does)
        else {
            unreachable!("clients ask");
        };
        let Asked { asked, time, place } = state.client.next(asking, now);
        let last = matches!(*asking, Asking::Bursts { messages, .. } if place + 1 == messages);
        state.last_of = last.then_some(asked);
        let bytes = match last {
            true => *tail,
            false => state.client.size(*sizes),
        };
        let operation = match reads.draw(&mut state.operation) {
            true => Operation::Read,
            false => Operation::Write,
        };
        demands.push(Demand {
            time,
            asked,
            process,
            job,
            from: node,
            to: state.to.next(targets),
            bytes,
            operation,
            step: 0,
        });
    }

    /// The messages of the next step of a collective operation in which this rank does anything.
    fn collect(&mut self, process: u32, first: bool, demands: &mut Vec<Demand>) {
        let Process { job, node } = self.processes[process as usize];
        let state = &mut self.states[process as usize];
        let runs = &self.jobs[state.runs as usize];
        let (Kind::Member(state), Does::Collect { plan, pause, nodes }) =
            (&mut state.kind, &runs.does)
        else {
            unreachable!("members collect");
        };
        let rank = process - runs.first;
        let (mut time, mut begin) = (state.ready, first);
        let mut ended = Vec::new();
        loop {
            if !begin {
                state.member.step += 1;
                if state.member.step.is_multiple_of(plan.steps()) {
                    ended.push((state.member.step / plan.steps() - 1, state.begun, time));
                    time += pause;
                    state.begun = time;
                }
            }
            begin = false;
            let (before, step) = (demands.len(), state.member.step);
            state.member.begin(plan, rank, &mut |to| {
                demands.push(Demand {
                    time,
                    asked: time,
                    process,
                    job,
                    from: node,
                    to: nodes[to as usize],
                    bytes: plan.bytes(),
                    operation: Operation::Write,
                    step,
                });
            });
            let messages = (demands.len() - before) as u64;
            if messages > 0 {
                state.asked += messages;
                state.last = (time, messages);
            }
            if !state.member.is_done() {
                break;
            }
        }
        for (round, begun, ended) in ended {
            self.end_phase(process, round, begun, ended);
        }
    }
}

impl To {
    fn new(node: u32, partner: Option<u32>, targets: &[u32], stream: Stream) -> Self {
        if let Some(partner) = partner {
            return Self::One(partner);
        }
        let own = targets.iter().position(|&target| target == node);
        let others = targets.len() - usize::from(own.is_some());
        Self::Any {
            draw: Uniform::below(others as u32),
            own: own.map(|own| own as u32),
            stream,
        }
    }

    #[inline]
    fn next(&mut self, targets: &[u32]) -> u32 {
        match self {
            Self::One(partner) => *partner,
            Self::Any { draw, own, stream } => {
                let other = draw.draw(stream);
                let past = own.is_some_and(|own| other >= own);
                targets[(other + u32::from(past)) as usize]
            }
        }
    }
}
