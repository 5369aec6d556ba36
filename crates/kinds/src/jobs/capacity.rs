//! What can be said before any simulation of jobs on a machine of any kind: whose demands can be foretold,
//! what they ask of devices, and what limits of messages under way let nodes send.

use super::Message;
use super::behind::Fullest;
use crate::outstanding::Sender;
use isthmus_experiment::capacity::{Capacity, PartKind, bandwidth};
use isthmus_workload::jobs::spec::{Job, JobsTraffic, Traffic};

/// Largest machine whose pairs of nodes are walked.
pub(crate) const NODES_MAX: u32 = 1024;

/// A GB/s, which is a byte per ns, in MB/s.
pub(crate) const MB: f64 = 1e3;

const UNIT: &str = "MB/s";

/// A job whose nodes send on their own, so that it can be foretold what they ask for.
pub(crate) struct Foretold<'t> {
    /// Its place among all jobs.
    pub number: usize,
    pub job: &'t Job,
    pub message: Message,
}

impl<'t> Foretold<'t> {
    fn of((number, job): (usize, &'t Job)) -> Option<Self> {
        match job.traffic {
            Traffic::Ping { .. } => None,
            _ => Message::of(job).map(|message| Self {
                number,
                job,
                message,
            }),
        }
    }
}

/// The active jobs of which that can be said.
pub(crate) fn foretold(traffic: &JobsTraffic) -> impl Iterator<Item = Foretold<'_>> {
    let jobs = traffic.jobs.iter().enumerate();
    jobs.filter(|(_, job)| job.active).filter_map(Foretold::of)
}

/// A sentence if it cannot be said of all.
pub(crate) fn left_out(traffic: &JobsTraffic) -> Option<String> {
    let active = traffic.jobs.iter().filter(|job| job.active).count();
    (foretold(traffic).count() < active).then(|| {
        "Collectives, listed messages and pings are left out: what they ask for follows from what they get."
            .to_owned()
    })
}

/// Whether closed loops are among those who ask.
fn has_loops(traffic: &JobsTraffic) -> bool {
    foretold(traffic).any(|asks| asks.message.offered.is_none())
}

/// A part of which jobs ask for so much and that can do so much, both in GB/s.
pub(crate) fn part(
    traffic: &JobsTraffic,
    name: impl Into<String>,
    demand: f64,
    supply: f64,
    basis: String,
) -> PartKind {
    PartKind {
        name: name.into(),
        demand: (demand > 0.0).then_some(demand * MB),
        at_most: has_loops(traffic),
        supply: Some(supply * MB),
        unit: UNIT,
        basis,
    }
}

/// Adds the device that most is asked of, by this name.
pub(crate) fn device(
    capacity: &mut Capacity,
    traffic: &JobsTraffic,
    name: impl Into<String>,
    full: Fullest,
) {
    let device = part(traffic, name, full.demand, full.supply, full.basis);
    capacity.parts.push(device);
    capacity.remarks.extend(full.remark);
}

/// A sentence if the limit of messages under way holds the nodes of a job back, each of which is `node`. A
/// message takes `alone_us` with nothing else about, and without the limit a node could send `most` in GB/s.
pub(crate) fn held_back(
    asks: &Foretold<'_>,
    node: &str,
    alone_us: f64,
    most: f64,
) -> Option<String> {
    let Foretold { job, message, .. } = asks;
    let bytes = message.sizes.mean;
    Sender {
        field: &format!("workload.jobs.{}.outstanding", job.name),
        who: &format!("{node} of {}", job.name),
        what: &match job.outstanding.limit()? {
            1 => format!("message of {bytes}"),
            _ => format!("messages of {bytes}"),
        },
        outstanding: job.outstanding,
        alone_us,
        each: message.bytes,
        asked: message.offered.map(|rate| rate * MB),
        // A pause of its own keeps a closed loop from sending all it could.
        most: (message.think_ns == 0.0).then_some(most * MB),
    }
    .remark(bandwidth)
}
