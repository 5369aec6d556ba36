//! Capacity estimates before a simulation, for jobs on any kind of machine: jobs with predictable demand, the
//! busiest device, and the effect of a limit on messages in flight.

use super::Message;
use super::behind::BusiestDevice;
use crate::outstanding::Sender;
use isthmus_experiment::capacity::{Capacity, PartKind, bandwidth};
use isthmus_workload::jobs::spec::{Job, JobsTraffic, Traffic};

/// Maximum number of nodes of a machine for which estimates visit all pairs of nodes.
pub(crate) const NODES_MAX: u32 = 1024;

/// Number of MB/s in a GB/s; a GB/s is a byte per ns.
pub(crate) const MB: f64 = 1e3;

/// Unit of demand and supply in results.
const UNIT: &str = "MB/s";

/// A job with predictable demand: its nodes send without waiting for messages from other nodes.
pub(crate) struct PredictableJob<'t> {
    /// Index of the job in the list of all jobs.
    pub number: usize,
    pub job: &'t Job,
    pub message: Message,
}

impl<'t> PredictableJob<'t> {
    /// Return the job, with its index and its messages, if its demand is predictable; else `None`.
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

/// Return the active jobs whose demand can be foretold (predicted).
pub(crate) fn foretold(traffic: &JobsTraffic) -> impl Iterator<Item = PredictableJob<'_>> {
    let jobs = traffic.jobs.iter().enumerate();
    jobs.filter(|(_, job)| job.active)
        .filter_map(PredictableJob::of)
}

/// Return a remark for the user if the estimates omit active jobs, whose demand is not predictable; else `None`.
pub(crate) fn left_out(traffic: &JobsTraffic) -> Option<String> {
    let active = traffic.jobs.iter().filter(|job| job.active).count();
    (foretold(traffic).count() < active).then(|| {
        "Collectives, listed messages and pings are left out: what they ask for follows from what they get."
            .to_owned()
    })
}

/// Return whether any job with predictable demand is a closed loop.
fn has_loops(traffic: &JobsTraffic) -> bool {
    foretold(traffic).any(|job| job.message.offered.is_none())
}

/// Return the entry of a capacity estimate for a kind of part, such as links, from its demand and supply in GB/s.
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

/// Add the device with the highest ratio of demand to supply to `capacity`, under the name `name`.
pub(crate) fn device(
    capacity: &mut Capacity,
    traffic: &JobsTraffic,
    name: impl Into<String>,
    full: BusiestDevice,
) {
    let device = part(traffic, name, full.demand, full.supply, full.basis);
    capacity.parts.push(device);
    capacity.remarks.extend(full.remark);
}

/// Return a remark if the limit on messages in flight slows the nodes of a job, else `None`. The remark calls them
/// `node`. A message takes `alone_us` microseconds on an idle machine. Without the limit a node could send `most` GB/s.
pub(crate) fn held_back(
    asks: &PredictableJob<'_>,
    node: &str,
    alone_us: f64,
    most: f64,
) -> Option<String> {
    let PredictableJob { job, message, .. } = asks;
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
        // State the maximum rate only for jobs without a think time: a think time keeps a node below it.
        most: (message.think_ns == 0.0).then_some(most * MB),
    }
    .remark(bandwidth)
}
