//! Source of the messages of all processes of all jobs.

use crate::jobs::asker::{ClientSettings, ClientState, Next};
use crate::jobs::client::ticks;
use crate::jobs::collective::Plan;
use crate::jobs::layout::Layout;
use crate::jobs::member::{Member, Pace, Round, Sent};
use crate::jobs::phases::{Phase, Phases};
use crate::jobs::roles::{clients, overhead, plan};
use crate::jobs::spec::{Job, JobsTraffic};
use isthmus_kernel::{Cycles, Streams};
use isthmus_units::Time;

/// Direction of the data of a message: a write sends data to another node, a read fetches data from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The data go from the process to the other node.
    Write,
    /// The data go from the other node to the process, which must send a request first.
    Read,
}

/// A message that a process hands to the network: a write of data to another node, or a read from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Time at which the process hands the message to its network interface, now or later.
    pub time: Cycles,
    /// Time at which the process generated the message. It is before `time` if the message waits for another message of
    /// the process.
    pub asked: Cycles,
    /// Number of the process that hands over the message.
    pub process: u32,
    /// Index of the job of the process in the list of all jobs.
    pub job: u32,
    /// Number of the node on which the process runs.
    pub from: u32,
    /// The node that the process writes to or reads from, never its own.
    pub to: u32,
    /// Length in bytes; zero only for pings.
    pub bytes: u64,
    /// Direction of the data: a write or a read.
    pub operation: Operation,
    /// Number of the step of a collective operation that the message belongs to, counted over all rounds, or number of
    /// its checkpoint. For other traffic 0.
    pub step: u64,
}

/// One process of a job: the index of the job and the node of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Index of the job in the list of all jobs.
    pub job: u32,
    /// The node that the process runs on.
    pub node: u32,
}

/// The messages of all active jobs: returns the next messages of each process when the caller reports completions and
/// arrivals.
///
/// Each job has one process on each of its nodes that sends. Hot nodes, the second nodes of pings
/// in one direction and servers without another server do not send.
///
/// Calling contract:
/// - Call [`begin`](Self::begin) once.
/// - For every demand, call [`completed`](Self::completed) with the time of its completion at its
///   process. It may be called as soon as this time is known, except for a process that is
///   [`in_order`](Self::in_order).
/// - For every write, call [`arrived`](Self::arrived) with the time at which its last byte arrives.
/// - For a process that may have [`several`](Self::several) demands under way, call
///   [`handed`](Self::handed) for each demand that is handed over.
///
/// Each call may add demands, whose times are not before the time of the call.
///
/// Every process draws from its own random streams, named after its job and numbered by its node.
/// So the messages of a job do not depend on the presence of other jobs.
///
/// ```
/// use isthmus_kernel::Streams;
/// use isthmus_units::{Bytes, Time};
/// use isthmus_workload::jobs::spec::{AllReduce, Job, JobNodes, JobsTraffic, Mapping, Servers};
/// use isthmus_workload::jobs::spec::{Serve, Traffic};
/// use isthmus_workload::Outstanding;
/// use isthmus_workload::storage::StorageSpec;
/// use isthmus_workload::jobs::{JobsSource, Layout};
///
/// let reduce = Traffic::AllReduce {
///     vector: Bytes::new(64),
///     algorithm: AllReduce::Ring,
///     pause: Time::ZERO,
/// };
/// let traffic = JobsTraffic {
///     serve: Serve::All,
///     servers: Servers::None,
///     storage: StorageSpec::None,
///     mapping: Mapping::Dedicated,
///     jobs: vec![Job {
///         name: "reduce".to_owned(),
///         nodes: JobNodes::Listed(vec![3, 8]),
///         traffic: reduce,
///         active: true,
///         outstanding: Outstanding::ONE,
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
/// // Node 8 continues when it has the half of node 3 and its own half has been acknowledged.
/// source.arrived(500, &first, &mut demands);
/// assert!(demands.is_empty());
/// source.completed(700, &second, &mut demands);
/// assert_eq!((demands[0].from, demands[0].time, demands[0].step), (8, 700, 1));
/// # Ok::<(), isthmus_workload::jobs::LayoutError>(())
/// ```
#[derive(Debug, Clone)]
pub struct JobsSource {
    jobs: Vec<ActiveJob>,
    processes: Vec<Process>,
    states: Vec<State>,
    /// Phases that have ended since the last call of [`Self::ended_phases`].
    ended: Vec<Phase>,
}

/// State of an active job. Its processes have consecutive numbers; those of a collective operation are in rank order.
#[derive(Debug, Clone)]
struct ActiveJob {
    behaviour: Behaviour,
    /// Number of the first process of the job.
    first: u32,
    /// For jobs whose processes wait for messages, the process on each node.
    process_on: Vec<u32>,
    /// Progress of the phases of the job, if the job has phases.
    phases: Phases,
}

/// Settings of the processes of a job: independent clients, or members of a collective operation.
#[derive(Debug, Clone)]
enum Behaviour {
    Ask(ClientSettings),
    Collect {
        plan: Plan,
        pace: Pace,
        /// Nodes of the ranks of the job, followed by the servers.
        nodes: Vec<u32>,
    },
}

impl Behaviour {
    /// Return whether messages go to servers, which never wait for messages.
    fn to_servers(&self) -> bool {
        matches!(self, Self::Collect { plan, .. } if plan.to_servers())
    }
}

/// State of one process of a job.
#[derive(Debug, Clone)]
struct State {
    /// Index of the process's job among the active jobs.
    active: u32,
    kind: Kind,
}

/// State of a process by its role: independent client, or member of a collective operation.
#[derive(Debug, Clone)]
enum Kind {
    Client(Box<ClientState>),
    Member(Member),
}

impl JobsSource {
    /// Return a source for the active jobs of `traffic` on the nodes of `layout`, with times in `tick`s.
    ///
    /// # Panics
    /// If the layout does not belong to this traffic, a load is zero, or a closed loop has no limit on
    /// its messages under way.
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

    /// Add the processes of an active job.
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
        let active = self.jobs.len() as u32;
        let mut process_on = Vec::new();
        let behaviour = match plan(&job.traffic, nodes.len() as u32) {
            Some((plan, pause)) => {
                process_on =
                    vec![u32::MAX; nodes.iter().max().map_or(0, |&last| last as usize + 1)];
                for (process, &node) in (first..).zip(nodes) {
                    process_on[node as usize] = process;
                    self.processes.push(Process { job: number, node });
                    let kind = Kind::Member(Member::default());
                    self.states.push(State { active, kind });
                }
                let pause = ticks(pause, tick).round() as Cycles;
                let overhead = ticks(overhead(&job.traffic), tick).round() as Cycles;
                Behaviour::Collect {
                    pace: Pace::new(&plan, pause, overhead, job.outstanding),
                    plan,
                    nodes: nodes.iter().chain(servers).copied().collect(),
                }
            }
            None => {
                let clients = clients(&job.traffic, nodes, servers, tick);
                for &(node, partner) in &clients.nodes {
                    let stream = |use_of: &str| {
                        streams.stream(&format!("{}/{use_of}", job.name), node.into())
                    };
                    let asker = ClientState::new(node, partner, &clients.targets, stream);
                    let kind = Kind::Client(Box::new(asker));
                    self.processes.push(Process { job: number, node });
                    self.states.push(State { active, kind });
                }
                Behaviour::Ask(ClientSettings::new(clients, job.outstanding))
            }
        };
        let processes = self.processes.len() as u32 - first;
        self.jobs.push(ActiveJob {
            behaviour,
            first,
            process_on,
            phases: Phases::new(processes),
        });
    }

    /// Return all processes, grouped by job.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Add the first messages of all processes to `demands`.
    pub fn begin(&mut self, demands: &mut Vec<Demand>) {
        for process in 0..self.processes.len() as u32 {
            let from = self.processes[process as usize];
            let state = &mut self.states[process as usize];
            match (&mut state.kind, &self.jobs[state.active as usize].behaviour) {
                (Kind::Client(asker), Behaviour::Ask(asks)) => {
                    asker.begin(asks, |next| demands.push(demand(process, from, next)));
                }
                _ => self.go_on(process, demands),
            }
        }
    }

    /// Return whether `process` may have several demands under way. If so, [`handed`](Self::handed) must be called for
    /// each of them.
    #[inline]
    pub fn several(&self, process: u32) -> bool {
        match self.behaviour(process) {
            Behaviour::Ask(asks) => asks.several(),
            Behaviour::Collect { pace, .. } => pace.several(),
        }
    }

    /// Return whether [`completed`](Self::completed) must be called in the order of time for the demands of `process`,
    /// since the next step of the process depends on which of several demands completes first.
    #[inline]
    pub fn in_order(&self, process: u32) -> bool {
        match self.behaviour(process) {
            Behaviour::Ask(asks) => asks.in_order(),
            Behaviour::Collect { pace, .. } => pace.several(),
        }
    }

    /// Return the settings of a process: those of its job.
    #[inline]
    fn behaviour(&self, process: u32) -> &Behaviour {
        &self.jobs[self.states[process as usize].active as usize].behaviour
    }

    /// Record that a process has handed a demand (message or I/O operation) to its network interface. Append the next
    /// demand of the process to `demands` if this one does not delay it.
    #[inline]
    pub fn handed(&mut self, now: Cycles, handed: &Demand, demands: &mut Vec<Demand>) {
        let process = handed.process;
        let state = &mut self.states[process as usize];
        let behaviour = &self.jobs[state.active as usize].behaviour;
        if let (Kind::Client(asker), Behaviour::Ask(asks)) = (&mut state.kind, behaviour)
            && let Some(next) = asker.handed(asks, now)
        {
            let from = self.processes[process as usize];
            demands.push(demand(process, from, next));
        }
    }

    /// Record that a demand is complete: its write is acknowledged, or its read data has arrived.
    ///
    /// # Panics
    /// If the process has no demand under way.
    #[inline]
    pub fn completed(&mut self, now: Cycles, complete: &Demand, demands: &mut Vec<Demand>) {
        let process = complete.process;
        let state = &mut self.states[process as usize];
        let active = &mut self.jobs[state.active as usize];
        match (&mut state.kind, &active.behaviour) {
            (Kind::Client(asker), Behaviour::Ask(asks)) => {
                let from = self.processes[process as usize];
                let (phases, complete_phases) = (&mut active.phases, &mut self.ended);
                let next = asker.completed(
                    asks,
                    now,
                    (complete.asked, complete.step),
                    |burst, start, end| {
                        if let Some((start, end)) = phases.end(burst, start, end) {
                            let job = from.job;
                            complete_phases.push(Phase { job, start, end });
                        }
                    },
                );
                demands.extend(next.map(|next| demand(process, from, next)));
            }
            (Kind::Member(member), _) => {
                if member.completed(now, complete.step) {
                    self.go_on(process, demands);
                }
            }
            _ => unreachable!("clients ask"),
        }
    }

    /// Record that the last byte of a write has arrived at its destination. Only members of collective operations wait
    /// for arrivals.
    #[inline]
    pub fn arrived(&mut self, now: Cycles, demand: &Demand, demands: &mut Vec<Demand>) {
        let active = &self.jobs[self.states[demand.process as usize].active as usize];
        // No rank waits for messages to I/O servers, so their arrival changes nothing, even at a node of the job.
        if active.behaviour.to_servers() {
            return;
        }
        let Some(&process) = active.process_on.get(demand.to as usize) else {
            return;
        };
        if let Kind::Member(member) = &mut self.states[process as usize].kind
            && member.arrived(now, demand.step)
        {
            self.go_on(process, demands);
        }
    }

    /// Return the number of messages that `process` has generated by `now`. In an open loop this
    /// includes queued messages. `now` must not decrease from call to call.
    pub fn asked_by(&mut self, process: u32, now: Cycles) -> u64 {
        self.asked_and_next(process, now).0
    }

    /// Return [`asked_by`](Self::asked_by) and the time at which the process generates its next message, or `None` if
    /// that time depends on completions.
    #[inline]
    pub fn asked_and_next(&mut self, process: u32, now: Cycles) -> (u64, Option<Cycles>) {
        let state = &mut self.states[process as usize];
        match (&mut state.kind, &self.jobs[state.active as usize].behaviour) {
            (Kind::Client(asker), Behaviour::Ask(asks)) => asker.asked_and_next(asks, now),
            (Kind::Member(member), _) => (member.generated_by(now), None),
            _ => unreachable!("clients ask"),
        }
    }

    /// Return the phases that have started by `now` and have not ended, with `now` as their end. Before this call,
    /// [`asked_by`](Self::asked_by) must be called for all processes with the same time.
    pub fn open_phases(&self, now: Cycles) -> Vec<Phase> {
        let mut found = Vec::new();
        for active in &self.jobs {
            let members = active.first..active.first + active.phases.processes();
            let states = &self.states[members.start as usize..members.end as usize];
            let since = match &active.behaviour {
                Behaviour::Ask(asks) if asks.burst().is_none() => continue,
                Behaviour::Ask(_) => {
                    let askers = states.iter().filter_map(|state| match &state.kind {
                        Kind::Client(asker) => Some(asker.open_bursts()),
                        Kind::Member(_) => None,
                    });
                    active
                        .phases
                        .open_since(askers.flat_map(|(first, starts)| (first..).zip(starts)))
                }
                Behaviour::Collect { plan, .. } => {
                    let rounds = states.iter().filter_map(|state| match &state.kind {
                        Kind::Member(member) => member.open_round(plan),
                        Kind::Client(_) => None,
                    });
                    active.phases.open_since(rounds)
                }
            };
            let Some(process) = self.processes.get(active.first as usize) else {
                continue;
            };
            found.extend(
                since
                    .into_iter()
                    .filter(|&start| start <= now)
                    .map(|start| Phase {
                        job: process.job,
                        start,
                        end: now,
                    }),
            );
        }
        found
    }

    /// Return the index of the job and the age of each incomplete message of a closed loop that was generated by `now`.
    pub fn open_messages(&self, now: Cycles) -> Vec<(u32, Cycles)> {
        let each = self.states.iter().zip(&self.processes);
        let ages = each.flat_map(|(state, process)| match &state.kind {
            Kind::Client(asker) => {
                let of_job = asker.open_messages(now).map(|age| (process.job, age));
                of_job.collect()
            }
            Kind::Member(_) => Vec::new(),
        });
        ages.collect()
    }

    /// Return the phases that have ended since the last call. Their end times may lie in the future, since the caller
    /// may report completions early.
    pub fn ended_phases(&mut self) -> std::vec::Drain<'_, Phase> {
        self.ended.drain(..)
    }

    /// Add the next messages of a member of a collective operation to `demands`.
    fn go_on(&mut self, process: u32, demands: &mut Vec<Demand>) {
        let Process { job, node } = self.processes[process as usize];
        let state = &mut self.states[process as usize];
        let active = &mut self.jobs[state.active as usize];
        let (Kind::Member(member), Behaviour::Collect { plan, pace, nodes }) =
            (&mut state.kind, &active.behaviour)
        else {
            unreachable!("members collect");
        };
        let rank = process - active.first;
        let send = |sent: Sent| {
            demands.push(Demand {
                time: sent.time,
                asked: sent.generated_at,
                process,
                job,
                from: node,
                to: nodes[sent.to as usize],
                bytes: sent.bytes,
                operation: Operation::Write,
                step: sent.step,
            });
        };
        let (phases, complete_phases) = (&mut active.phases, &mut self.ended);
        let mut all_ended = None;
        member.go_on(plan, pace, rank, send, |round: Round| {
            if let Some((start, end)) = phases.end(round.number, round.start, round.end) {
                complete_phases.push(Phase { job, start, end });
                all_ended = Some(end + pace.pause);
            }
        });
        let first = active.first;
        let members = first..first + active.phases.processes();
        if let (Some(next), true) = (all_ended, pace.together) {
            for process in members.clone() {
                if let Kind::Member(member) = &mut self.states[process as usize].kind {
                    member.release(next);
                }
            }
            for process in members {
                self.go_on(process, demands);
            }
        }
    }
}

/// Convert the message `next` of a client process to a demand (request to transfer data).
fn demand(process: u32, Process { job, node }: Process, next: Next) -> Demand {
    Demand {
        time: next.asked.time,
        asked: next.asked.asked,
        process,
        job,
        from: node,
        to: next.to,
        bytes: next.bytes,
        operation: next.operation,
        step: next.burst,
    }
}
