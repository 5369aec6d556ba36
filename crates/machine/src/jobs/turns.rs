//! I/O servers that work on one request at a time.

use isthmus_workload::jobs::spec::{JobsTraffic, Serve};
use isthmus_workload::jobs::{Demand, Layout};
use std::collections::VecDeque;

/// Which request each I/O server works on, and which wait.
///
/// Calling contract: for each demand that [`takes_turns`](Self::takes_turns), [`ask`](Self::ask) at its
/// time, and [`done`](Self::done) when it is complete. Both in the order of times; of the demands of one
/// tick the first one reported is served first. A demand begins when either gives it.
#[derive(Debug)]
pub(crate) struct Turns {
    /// By node; empty for all that are no servers.
    servers: Vec<Server>,
    /// By job whether its demands go to servers.
    to_servers: Vec<bool>,
}

#[derive(Debug, Clone, Default)]
struct Server {
    serves: bool,
    waiting: VecDeque<Demand>,
}

impl Turns {
    /// Idle servers on a machine of so many nodes; `None` where servers work on all requests at a time.
    pub fn new(traffic: &JobsTraffic, layout: &Layout, nodes: u32) -> Option<Self> {
        let jobs = traffic.jobs.iter();
        (traffic.serve == Serve::One).then(|| Self {
            servers: vec![Server::default(); nodes as usize],
            to_servers: jobs
                .map(|job| job.traffic.stores_on(&layout.servers))
                .collect(),
        })
    }

    /// Whether a demand has to wait until its server is free.
    pub fn takes_turns(&self, demand: &Demand) -> bool {
        self.to_servers[demand.job as usize]
    }

    /// The time of a demand has come: gives it back if its server is free.
    pub fn ask(&mut self, demand: Demand) -> Option<Demand> {
        let server = &mut self.servers[demand.to as usize];
        if server.serves {
            server.waiting.push_back(demand);
            return None;
        }
        server.serves = true;
        Some(demand)
    }

    /// The demand that this server works on is complete: gives the next one that waits.
    pub fn done(&mut self, server: u32) -> Option<Demand> {
        let server = &mut self.servers[server as usize];
        let next = server.waiting.pop_front();
        server.serves = next.is_some();
        next
    }
}
