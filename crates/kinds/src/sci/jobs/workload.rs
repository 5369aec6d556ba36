//! The jobs of an SCI fabric from their settings.

use super::super::build::check_symbols;
use super::super::failures::{LINKS, NODES};
use super::super::workload::live_nodes;
use super::table::JobsTable;
use crate::jobs::{Nodes, jobs};
use isthmus_machine::sci::spec::{JobsOnRings, SciSpec, Source, Transfer};
use isthmus_scenario::format::{Describe, Layer, Problem, Settings};
use isthmus_units::{Bandwidth, Bytes};
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{Io, JobsTraffic, Servers, Targets, Traffic};

/// The jobs, checked against the fabric that they run on.
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
    let traffic = jobs(settings, nodes)?;
    check_live(settings, machine, &traffic, count)?;
    Ok(JobsOnRings {
        jobs: traffic,
        transfer: Transfer {
            payload: table.payload,
            turnaround: table.turnaround,
            transactions: table.transactions,
        },
    })
}

/// Data of full packets that one link carries, an idle behind each.
pub(super) fn can_send(machine: &SciSpec, payload: Bytes) -> Bandwidth {
    let slot = payload.get() + machine.overhead.get() + machine.symbol.get();
    let share = payload.get() as f64 / slot as f64;
    let bits_per_s = machine.bandwidth.bits_per_s() as f64 * share;
    Bandwidth::from_bits_per_s(bits_per_s.round() as u64)
}

/// Jobs and servers must lie on nodes that faults have left in service.
fn check_live(
    settings: &Settings,
    machine: &SciSpec,
    traffic: &JobsTraffic,
    count: u32,
) -> Result<(), Problem> {
    let live = live_nodes(machine);
    // The jobs have been laid out before.
    let (true, Ok(layout)) = (live.len() < count as usize, Layout::new(traffic, count)) else {
        return Ok(());
    };
    let is_dead = |node: &&u32| live.binary_search(node).is_err();
    let swept = [NODES, LINKS].map(|key| settings.layer(key) == Layer::Axis);
    let problem = |key: &str, node: u32, hint: &str| {
        let problem = format!("faults have taken node {node} out of service");
        let hint = match swept {
            [false, false] => hint,
            _ => {
                "jobs need all of their nodes: list nodes that no failure takes out of service, \
                 or let other parts fail"
            }
        };
        Err(settings.problem(key, problem, hint))
    };
    if let Some(&node) = layout.servers.iter().find(is_dead) {
        let key = match traffic.servers {
            Servers::Listed(_) => "workload.servers.nodes",
            _ => "workload.servers.placement",
        };
        return problem(key, node, "list nodes that are in service");
    }
    for (job, nodes) in traffic.jobs.iter().zip(&layout.jobs) {
        let key = |field: &str| format!("workload.jobs.{}.{field}", job.name);
        if let Some(&node) = nodes.iter().find(is_dead) {
            return problem(&key("nodes"), node, "list nodes that are in service");
        }
        if let Traffic::Io(Io {
            targets: Targets::HotNode(hot),
            ..
        }) = &job.traffic
            && is_dead(&hot)
        {
            return problem(&key("hot_node"), *hot, "name a node that is in service");
        }
    }
    Ok(())
}
