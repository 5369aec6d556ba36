//! Reads the jobs of an SCI fabric from `[workload]` of a scenario file and checks them.

use super::super::build::check_symbols;
use super::super::failures::{LINKS, NODES};
use super::super::workload::live_nodes;
use super::table::JobsTable;
use crate::devices::{self, DEVICE, StorageTable};
use crate::jobs::{Nodes, Parts, check_live, check_start, jobs};
use isthmus_machine::sci::spec::{JobsOnRings, SciSpec, Source, Transfer};
use isthmus_scenario::format::{Describe, Problem, Settings};
use isthmus_units::{Bandwidth, Bytes};
use isthmus_workload::jobs::spec::{Job, JobsTraffic, Serve, Traffic};

/// Read the jobs and check them against the SCI fabric.
pub(super) fn build(settings: &Settings, machine: &SciSpec) -> Result<JobsOnRings, Problem> {
    let table = JobsTable::read(settings, "workload");
    check_symbols(settings, "workload.payload", table.payload, machine.symbol)?;
    if machine.source == Source::Bounded {
        return Err(settings.problem(
            "machine.source",
            "it drops packets, and a message whose packet is dropped would never end",
            "remove it, or set machine.source = \"unbounded\"",
        ));
    }
    let count = machine.shape.node_count();
    let nodes = Nodes {
        count,
        can_send: can_send(machine, table.payload),
        one_by_one: false,
    };
    let (common, servers, serve) = table.jobs.split();
    if serve == Serve::One {
        return Err(settings.problem(
            "workload.servers.serve",
            "servers of SCI fabrics work on all requests that have come",
            "remove it, or set another kind of machine",
        ));
    }
    let mut traffic = jobs(settings, &common, servers, nodes)?;
    check_listed(settings, &traffic)?;
    let transactions = Parts {
        field: "workload.transactions",
        name: "transactions",
        unit: table.payload,
        most: table.transactions,
        hint: "give fewer, more payload, or jobs fewer nodes or messages under way",
    };
    check_start(settings, &traffic, count, Some(&transactions))?;
    check_live(
        settings,
        &traffic,
        (count, &live_nodes(machine)),
        &[NODES, LINKS],
    )?;
    traffic.storage = devices::storage(settings, StorageTable::read(settings, DEVICE), DEVICE)?;
    Ok(JobsOnRings {
        jobs: traffic,
        transfer: Transfer {
            payload: table.payload,
            turnaround: table.turnaround,
            transactions: table.transactions,
        },
    })
}

/// Report an error for jobs with listed messages. Their rounds start at all nodes at the same time, which the SCI
/// engine cannot simulate: a node can react only to messages that have reached it.
fn check_listed(settings: &Settings, traffic: &JobsTraffic) -> Result<(), Problem> {
    let is_listed = |job: &&Job| matches!(job.traffic, Traffic::Listed { .. });
    let Some(job) = traffic.jobs.iter().find(is_listed) else {
        return Ok(());
    };
    Err(settings.problem(
        &format!("workload.jobs.{}.traffic", job.name),
        "listed messages, whose rounds begin at all nodes at once, are not simulated on SCI fabrics",
        "set another kind of traffic, or another kind of machine",
    ))
}

/// Return the rate at which a node can send: the payload rate of one link with full packets, each followed by an idle
/// symbol.
pub(super) fn can_send(machine: &SciSpec, payload: Bytes) -> Bandwidth {
    let slot = payload.get() + machine.overhead.get() + machine.symbol.get();
    let share = payload.get() as f64 / slot as f64;
    let bits_per_s = machine.bandwidth.bits_per_s() as f64 * share;
    Bandwidth::from_bits_per_s(bits_per_s.round() as u64)
}
