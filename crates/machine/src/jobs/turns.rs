//! I/O servers that serve one request at a time.

use isthmus_workload::jobs::spec::{JobsTraffic, Serve};
use isthmus_workload::jobs::{Demand, Layout};
use std::collections::VecDeque;

/// State of I/O servers that serve one request at a time, and the queues of waiting requests.
///
/// Calling contract: for each demand that [`takes_turns`](Self::takes_turns), call [`ask`](Self::ask) at
/// its time and [`done`](Self::done) at its completion, in the order of times. Demands of one tick are
/// served in the order of the calls. A demand starts when one of these methods returns it.
#[derive(Debug)]
pub(crate) struct Turns {
    /// For each node, the state of the I/O server on it; unused for nodes that are not servers.
    servers: Vec<Server>,
    /// For each job, whether its messages go to I/O servers.
    to_servers: Vec<bool>,
}

/// One I/O server: whether it serves a request now, and the requests that wait for it.
#[derive(Debug, Clone, Default)]
struct Server {
    is_busy: bool,
    waiting: VecDeque<Demand>,
}

impl Turns {
    /// Create idle servers on a machine of `nodes` nodes. Return `None` if each server serves all its
    /// requests at once.
    pub fn new(traffic: &JobsTraffic, layout: &Layout, nodes: u32) -> Option<Self> {
        let jobs = traffic.jobs.iter();
        (traffic.serve == Serve::One).then(|| Self {
            servers: vec![Server::default(); nodes as usize],
            to_servers: jobs
                .map(|job| job.traffic.stores_on(&layout.servers))
                .collect(),
        })
    }

    /// Return whether a demand must wait until its server is free.
    pub fn takes_turns(&self, demand: &Demand) -> bool {
        self.to_servers[demand.job as usize]
    }

    /// Submit a demand to its server at the time of the demand. Return the demand if its server is free; else
    /// the demand joins the server's queue.
    pub fn ask(&mut self, demand: Demand) -> Option<Demand> {
        let server = &mut self.servers[demand.to as usize];
        if server.is_busy {
            server.waiting.push_back(demand);
            return None;
        }
        server.is_busy = true;
        Some(demand)
    }

    /// Record that `server` has served a demand. Return the next demand that waits for this server, if any.
    pub fn done(&mut self, server: u32) -> Option<Demand> {
        let server = &mut self.servers[server as usize];
        let next = server.waiting.pop_front();
        server.is_busy = next.is_some();
        next
    }
}
