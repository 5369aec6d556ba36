//! Which message each process of each job sends next.

use crate::jobs::asker::{Asker, Asks, Next};
use crate::jobs::client::ticks;
use crate::jobs::collective::Plan;
use crate::jobs::layout::Layout;
use crate::jobs::member::{Member, Pace, Round, Sent};
use crate::jobs::phases::{Phase, Phases};
use crate::jobs::roles::{clients, overhead, plan};
use crate::jobs::spec::{Job, JobsTraffic};
use isthmus_kernel::{Cycles, Streams};
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
    /// The step of a collective operation that it belongs to, counted over all rounds, or the
    /// checkpoint; else 0.
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
/// write, [`arrived`](Self::arrived) with that at which its last byte has come in. The caller may report
/// a completion as soon as it is certain, ahead of its time, except for a process that is
/// [`in_order`](Self::in_order). For a process that may have [`several`](Self::several) demands under
/// way, it also reports each one that is [`handed`](Self::handed) over. Each call may add demands, none
/// for a time before its own.
///
/// Every process draws from streams of its own, named after its job and numbered by its node, so
/// that a job asks for the same alone and beside others.
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
/// // Node 8 goes on when it has the half of node 3 and its own has been acknowledged.
/// source.arrived(500, &first, &mut demands);
/// assert!(demands.is_empty());
/// source.completed(700, &second, &mut demands);
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
    Ask(Asks),
    Collect {
        plan: Plan,
        pace: Pace,
        /// Of its ranks, and of the servers that it sends to behind them.
        nodes: Vec<u32>,
    },
}

impl Does {
    /// Whether messages go to servers, which wait for nothing.
    fn to_servers(&self) -> bool {
        matches!(self, Self::Collect { plan, .. } if plan.to_servers())
    }
}

#[derive(Debug, Clone)]
struct State {
    /// Its job among those that are active.
    runs: u32,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Client(Box<Asker>),
    Member(Member),
}

impl JobsSource {
    /// The active jobs of `traffic` on the nodes of `layout`, time counted in `tick`.
    ///
    /// # Panics
    /// If the layout is not one of this traffic, a load is zero, or a closed loop may have messages
    /// without number under way.
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
                    let kind = Kind::Member(Member::default());
                    self.states.push(State { runs, kind });
                }
                let pause = ticks(pause, tick).round() as Cycles;
                let overhead = ticks(overhead(&job.traffic), tick).round() as Cycles;
                Does::Collect {
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
                    let asker = Asker::new(node, partner, &clients.targets, stream);
                    let kind = Kind::Client(Box::new(asker));
                    self.processes.push(Process { job: number, node });
                    self.states.push(State { runs, kind });
                }
                Does::Ask(Asks::new(clients, job.outstanding))
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
            let from = self.processes[process as usize];
            let state = &mut self.states[process as usize];
            match (&mut state.kind, &self.jobs[state.runs as usize].does) {
                (Kind::Client(asker), Does::Ask(asks)) => {
                    asker.begin(asks, |next| demands.push(demand(process, from, next)));
                }
                _ => self.go_on(process, demands),
            }
        }
    }

    /// Return whether [`handed`](Self::handed) must be called for every demand of `process`, since it may
    /// have several under way.
    #[inline]
    pub fn several(&self, process: u32) -> bool {
        match self.does(process) {
            Does::Ask(asks) => asks.several(),
            Does::Collect { pace, .. } => pace.several(),
        }
    }

    /// Return whether [`completed`](Self::completed) must be called in the order of time for the demands
    /// of `process`, since its next step depends on which of several is complete first.
    #[inline]
    pub fn in_order(&self, process: u32) -> bool {
        match self.does(process) {
            Does::Ask(asks) => asks.in_order(),
            Does::Collect { pace, .. } => pace.several(),
        }
    }

    #[inline]
    fn does(&self, process: u32) -> &Does {
        &self.jobs[self.states[process as usize].runs as usize].does
    }

    /// The time of a demand has come: its process has handed it over.
    #[inline]
    pub fn handed(&mut self, now: Cycles, handed: &Demand, demands: &mut Vec<Demand>) {
        let process = handed.process;
        let state = &mut self.states[process as usize];
        let does = &self.jobs[state.runs as usize].does;
        if let (Kind::Client(asker), Does::Ask(asks)) = (&mut state.kind, does)
            && let Some(next) = asker.handed(asks, now)
        {
            let from = self.processes[process as usize];
            demands.push(demand(process, from, next));
        }
    }

    /// A demand is complete: its write is acknowledged, or its read has come in.
    ///
    /// # Panics
    /// If the process has nothing under way.
    #[inline]
    pub fn completed(&mut self, now: Cycles, complete: &Demand, demands: &mut Vec<Demand>) {
        let process = complete.process;
        let state = &mut self.states[process as usize];
        let runs = &mut self.jobs[state.runs as usize];
        match (&mut state.kind, &runs.does) {
            (Kind::Client(asker), Does::Ask(asks)) => {
                let from = self.processes[process as usize];
                let (phases, complete_phases) = (&mut runs.phases, &mut self.ended);
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

    /// The last byte of a write has come in at its destination. Only collective operations wait
    /// for that.
    #[inline]
    pub fn arrived(&mut self, now: Cycles, demand: &Demand, demands: &mut Vec<Demand>) {
        let runs = &self.jobs[self.states[demand.process as usize].runs as usize];
        // What goes to servers nobody waits for, even where a server is a node of the job.
        if runs.does.to_servers() {
            return;
        }
        let Some(&process) = runs.process_on.get(demand.to as usize) else {
            return;
        };
        if let Kind::Member(member) = &mut self.states[process as usize].kind
            && member.arrived(now, demand.step)
        {
            self.go_on(process, demands);
        }
    }

    /// Messages that `process` has asked for by `now`, which never goes back from call to call. In
    /// an open loop this counts those that wait for their turn.
    pub fn asked_by(&mut self, process: u32, now: Cycles) -> u64 {
        self.asked_and_next(process, now).0
    }

    /// Return [`asked_by`](Self::asked_by), and when the process asks for its next message; none where that depends on
    /// completions.
    #[inline]
    pub fn asked_and_next(&mut self, process: u32, now: Cycles) -> (u64, Option<Cycles>) {
        let state = &mut self.states[process as usize];
        match (&mut state.kind, &self.jobs[state.runs as usize].does) {
            (Kind::Client(asker), Does::Ask(asks)) => asker.asked_and_next(asks, now),
            (Kind::Member(member), _) => (member.asked_by(now), None),
            _ => unreachable!("clients ask"),
        }
    }

    /// Return the phases that have started by `now` and not ended, up to `now`. [`asked_by`](Self::asked_by) must have
    /// been called for all processes with this time.
    pub fn open_phases(&self, now: Cycles) -> Vec<Phase> {
        let mut found = Vec::new();
        for runs in &self.jobs {
            let members = runs.first..runs.first + runs.phases.processes();
            let states = &self.states[members.start as usize..members.end as usize];
            let since = match &runs.does {
                Does::Ask(asks) if asks.burst().is_none() => continue,
                Does::Ask(_) => {
                    let askers = states.iter().filter_map(|state| match &state.kind {
                        Kind::Client(asker) => Some(asker.open_bursts()),
                        Kind::Member(_) => None,
                    });
                    runs.phases
                        .open_since(askers.flat_map(|(first, starts)| (first..).zip(starts)))
                }
                Does::Collect { plan, .. } => {
                    let rounds = states.iter().filter_map(|state| match &state.kind {
                        Kind::Member(member) => member.open_round(plan),
                        Kind::Client(_) => None,
                    });
                    runs.phases.open_since(rounds)
                }
            };
            let Some(process) = self.processes.get(runs.first as usize) else {
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

    /// Return the job and the age of each message of a closed loop that has been asked for by `now` and is not
    /// complete.
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

    /// Return the phases that have ended since the last call. Like completions they may be ahead of
    /// their time.
    pub fn ended_phases(&mut self) -> std::vec::Drain<'_, Phase> {
        self.ended.drain(..)
    }

    /// The next messages of a member of a collective operation.
    fn go_on(&mut self, process: u32, demands: &mut Vec<Demand>) {
        let Process { job, node } = self.processes[process as usize];
        let state = &mut self.states[process as usize];
        let runs = &mut self.jobs[state.runs as usize];
        let (Kind::Member(member), Does::Collect { plan, pace, nodes }) =
            (&mut state.kind, &runs.does)
        else {
            unreachable!("members collect");
        };
        let rank = process - runs.first;
        let send = |sent: Sent| {
            demands.push(Demand {
                time: sent.time,
                asked: sent.asked,
                process,
                job,
                from: node,
                to: nodes[sent.to as usize],
                bytes: sent.bytes,
                operation: Operation::Write,
                step: sent.step,
            });
        };
        let (phases, complete_phases) = (&mut runs.phases, &mut self.ended);
        let mut all_ended = None;
        member.go_on(plan, pace, rank, send, |round: Round| {
            if let Some((start, end)) = phases.end(round.number, round.start, round.end) {
                complete_phases.push(Phase { job, start, end });
                all_ended = Some(end + pace.pause);
            }
        });
        let first = runs.first;
        let members = first..first + runs.phases.processes();
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

/// The demand of a client.
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
