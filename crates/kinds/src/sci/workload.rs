//! Reads the traffic of an SCI fabric from `[workload]` of a scenario file and checks it.

use super::build::{check_symbols, cycle};
use super::table::{HotNodeTable, TransactionTable, WorkloadTable};
use isthmus_machine::sci::spec::{SciSpec, Source};
use isthmus_scenario::format::{Describe, Problem, Settings, TIME_MAX, messages_most};
use isthmus_topology::rings::{Fabric, Faults};
use isthmus_units::Time;
use isthmus_workload::Outstanding;
use isthmus_workload::packets::spec::{HotNode, PacketTraffic, Transaction};

/// Fields that set the offered load.
pub(super) const LOAD_KEYS: &[&str] = &["workload.load"];

/// Read the workload and check it against the SCI fabric.
pub(super) fn build(settings: &Settings, machine: &SciSpec) -> Result<PacketTraffic, Problem> {
    let table = WorkloadTable::read(settings, "workload");
    let nodes = machine.shape.node_count();
    let live = live_nodes(machine);
    let (transaction, response) = match table.transaction {
        TransactionTable::Move => (Transaction::Move, None),
        TransactionTable::Read(response) => (Transaction::Read, Some(response)),
        TransactionTable::Write(response) => (Transaction::Write, Some(response)),
    };
    let (turnaround, outstanding) = match response {
        Some(response) => (response.turnaround, response.outstanding),
        None => (Time::ZERO, Outstanding::Unlimited),
    };
    let load = table.load.ok_or_else(|| {
        settings.problem(
            "workload.load",
            "it is missing",
            "write, for example, load = \"1 GB/s\", or sweep it",
        )
    })?;
    check_symbols(settings, "workload.payload", table.payload, machine.symbol)?;
    let traffic = PacketTraffic {
        load,
        spacing: table.spacing,
        phases: table.phases,
        transaction,
        payload: table.payload,
        senders: table.senders,
        hot_node: hot_node(settings, table.hot_node, nodes, &live)?,
        turnaround,
        outstanding,
    };
    check_outstanding(settings, machine, &traffic)?;
    let sending = senders(settings, &traffic.senders, nodes, &live)?;
    check_gap(settings, machine, &traffic, sending)?;
    Ok(traffic)
}

/// Check that a fabric with a limit on transactions does not drop packets: a dropped response would occupy the slot
/// of its transaction forever.
fn check_outstanding(
    settings: &Settings,
    machine: &SciSpec,
    traffic: &PacketTraffic,
) -> Result<(), Problem> {
    match (traffic.outstanding, machine.source) {
        (Outstanding::AtMost(most), Source::Bounded) => Err(settings.problem(
            "workload.outstanding",
            format!("{most} under way with machine.source = \"bounded\": a response that is dropped would \
                 never end"),
            "remove it, or set machine.source = \"unbounded\"",
        )),
        _ => Ok(()),
    }
}

/// Return the nodes in service in ascending order.
pub(super) fn live_nodes(machine: &SciSpec) -> Vec<u32> {
    let all = (0..machine.shape.node_count()).collect();
    if machine.faults == Faults::default() {
        return all;
    }
    let fabric = Fabric::new(&machine.shape).and_then(|fabric| fabric.with_faults(&machine.faults));
    fabric.map_or(all, |fabric| fabric.live_nodes().to_vec())
}

/// Return the number of nodes that send, or a problem if no listed sender exists and is in service.
fn senders(
    settings: &Settings,
    listed: &[u32],
    nodes: u32,
    live: &[u32],
) -> Result<usize, Problem> {
    let key = "workload.senders";
    if listed.is_empty() {
        return Ok(live.len());
    }
    if let Some(node) = listed.iter().find(|&&node| node >= nodes) {
        return Err(no_such_node(settings, key, *node, nodes));
    }
    let sending = live.iter().filter(|node| listed.contains(node)).count();
    if sending > 0 {
        return Ok(sending);
    }
    Err(settings.problem(
        key,
        "faults leave none of them in service",
        "list one node or more that can send",
    ))
}

/// Return the hot node, or a problem if it does not exist or is not in service.
fn hot_node(
    settings: &Settings,
    table: Option<HotNodeTable>,
    nodes: u32,
    live: &[u32],
) -> Result<Option<HotNode>, Problem> {
    let key = "workload.hot_node.node";
    let Some(HotNodeTable { node, probability }) = table else {
        return Ok(None);
    };
    if node >= nodes {
        return Err(no_such_node(settings, key, node, nodes));
    }
    if live.binary_search(&node).is_err() {
        let problem = format!("faults have taken node {node} out of service");
        return Err(settings.problem(key, problem, "favour a node that is in service"));
    }
    Ok(Some(HotNode { node, probability }))
}

/// Return the problem that a node does not exist.
fn no_such_node(settings: &Settings, key: &str, node: u32, nodes: u32) -> Problem {
    let problem = format!("node {node} does not exist");
    settings.problem(key, problem, format!("there are nodes 0 to {}", nodes - 1))
}

/// Check the mean gap between the packets of a sender: at least one cycle, at most 24 hours, and short enough that
/// all messages of a replication take far fewer than 2^64 cycles.
fn check_gap(
    settings: &Settings,
    machine: &SciSpec,
    traffic: &PacketTraffic,
    senders: usize,
) -> Result<(), Problem> {
    let key = "workload.load";
    let together_ps = traffic.payload.get() as f64 * 8e12 / traffic.load.bits_per_s() as f64;
    let gap_ps = together_ps * senders as f64;
    let cycle_ps = cycle(machine.symbol, machine.bandwidth).map_or(1.0, |time| time.ps() as f64);
    let load = format!("{} GB/s", traffic.load.bits_per_s() as f64 / 8e9);
    if gap_ps < cycle_ps {
        return Err(settings.problem(
            key,
            format!("at {load} each of {senders} senders begins more than a packet in each cycle"),
            "give less load",
        ));
    }
    if gap_ps > TIME_MAX.ps() as f64 {
        return Err(settings.problem(
            key,
            format!("at {load} each of {senders} senders begins less than a packet in 24 h"),
            "give more load",
        ));
    }
    let Some((messages_key, messages)) = messages_most(settings) else {
        return Ok(());
    };
    if messages as f64 * together_ps / cycle_ps < (1u64 << 60) as f64 {
        return Ok(());
    }
    Err(settings.problem(
        key,
        format!("{messages} messages at {load} take more than 2^60 cycles"),
        format!("give more load, fewer messages ({messages_key}) or slower links"),
    ))
}
