//! Who sends to whom in the long run, for analysis: no chance, no time.

use crate::jobs::collective::Plan;
use crate::jobs::layout::Layout;
use crate::jobs::roles::{Clients, clients, plan};
use crate::jobs::spec::{Arrivals, Io, JobsTraffic, Traffic};
use isthmus_units::Time;
use std::collections::BTreeMap;

/// Between which nodes the messages of a job go.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    /// From each of these nodes to each of those but itself, all equally likely.
    Spread {
        /// Nodes with a process.
        clients: Vec<u32>,
        /// Where its messages go.
        targets: Vec<u32>,
    },
    /// Between pairs of nodes.
    Pairs(Vec<Pair>),
}

/// What one process exchanges with one node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The node of the process.
    pub client: u32,
    /// The other node.
    pub target: u32,
    /// Share of the data of the process, 0 to 1.
    pub share: f64,
}

/// The traffic of one job in the long run.
#[derive(Debug, Clone, PartialEq)]
pub struct LongRun {
    /// The job, by its place in the list of all jobs.
    pub job: u32,
    /// Between which nodes.
    pub pattern: Pattern,
    /// Share of the data that goes from the target to the client (reads), 0 to 1.
    pub read_ratio: f64,
    /// Most data in bytes per second that a process asks for; `None` if it takes what it can get.
    pub limit: Option<f64>,
    /// Whether all processes wait for each other, so that all move data at one rate.
    pub in_step: bool,
}

impl LongRun {
    /// The active jobs of `traffic` on the nodes of `layout`, in the order of the list.
    ///
    /// Of steps that differ in their messages, the whole round counts. Think times and pauses are
    /// left out: how much they hold back depends on how fast messages are.
    pub fn of(traffic: &JobsTraffic, layout: &Layout) -> Vec<Self> {
        let jobs = (0..).zip(&traffic.jobs).zip(&layout.jobs);
        let active = jobs.filter(|((_, job), _)| job.active);
        active
            .map(|((number, job), nodes)| {
                let limit = limit(&job.traffic);
                match plan(&job.traffic, nodes.len() as u32) {
                    Some((plan, _)) => Self {
                        job: number,
                        pattern: collective(&plan, nodes),
                        read_ratio: 0.0,
                        limit,
                        in_step: true,
                    },
                    None => {
                        // Rates do not depend on the tick.
                        let tick = Time::from_ps(1);
                        let clients = clients(&job.traffic, nodes, &layout.servers, tick);
                        Self {
                            job: number,
                            read_ratio: clients.read_ratio,
                            pattern: asked(clients),
                            limit,
                            in_step: false,
                        }
                    }
                }
            })
            .collect()
    }
}

/// Data that a process asks for, bytes per second.
fn limit(traffic: &Traffic) -> Option<f64> {
    match traffic {
        Traffic::Uniform { arrivals, .. } | Traffic::Io(Io { arrivals, .. }) => match arrivals {
            Arrivals::Open { load, .. } => Some(load.bits_per_s() as f64 / 8.0),
            Arrivals::Closed { .. } => None,
        },
        Traffic::Checkpoint { period, volume, .. } => Some(volume.get() as f64 / period.seconds()),
        _ => None,
    }
}

fn asked(clients: Clients) -> Pattern {
    let fixed = |&(client, target): &(u32, Option<u32>)| {
        target.map(|target| Pair {
            client,
            target,
            share: 1.0,
        })
    };
    let pairs: Option<Vec<Pair>> = clients.nodes.iter().map(fixed).collect();
    match pairs {
        Some(pairs) => Pattern::Pairs(pairs),
        None => Pattern::Spread {
            clients: clients.nodes.iter().map(|&(node, _)| node).collect(),
            targets: clients.targets,
        },
    }
}

fn collective(plan: &Plan, nodes: &[u32]) -> Pattern {
    if let Plan::AllToAll { .. } = plan {
        return Pattern::Spread {
            clients: nodes.to_vec(),
            targets: nodes.to_vec(),
        };
    }
    let mut pairs = Vec::new();
    for (rank, &client) in (0..).zip(nodes) {
        let mut messages: BTreeMap<u32, u64> = BTreeMap::new();
        for step in 0..plan.distinct_steps() {
            plan.step(rank, step, &mut |to| *messages.entry(to).or_default() += 1);
        }
        let all: u64 = messages.values().sum();
        pairs.extend(messages.iter().map(|(&to, &some)| Pair {
            client,
            target: nodes[to as usize],
            share: some as f64 / all as f64,
        }));
    }
    Pattern::Pairs(pairs)
}
