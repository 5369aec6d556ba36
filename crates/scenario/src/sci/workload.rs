//! `[workload]` of an SCI fabric: packets between its nodes.

use super::build::{check_symbols, cycle, node_count};
use crate::error::Problem;
use crate::field::Default::{Absent, Required, Value};
use crate::field::{Field, Kind};
use crate::search::Load;
use crate::settings::Settings;
use crate::value::TIME_MAX;
use isthmus_machine::sci::spec::{SciSpec, Source};
use isthmus_topology::rings::{Fabric, Faults, MAX_NODES};
use isthmus_units::{Bandwidth, Bytes};
use isthmus_workload::Outstanding;
use isthmus_workload::packets::spec::{HotNode, PacketTraffic, Spacing, Transaction};

/// How much the nodes send.
pub(super) const LOAD_KEYS: &[&str] = &["workload.load"];

pub(super) fn fields() -> Vec<Field> {
    vec![
    Field::new(
        "workload.load",
        Kind::Offered { usual: "GB/s" },
        Absent("required, unless swept or searched"),
        "offered load",
        "Total offered load: payload that all nodes together offer (Table 1); each sending node \
         offers an equal part",
    ),
    Field::new(
        "workload.spacing",
        Kind::Choice(&["exponential", "deterministic"]),
        Value("\"exponential\""),
        "spacing",
        "Gaps between the packets of a node: exponential, of mean 64 B/(load/N) (Table 1); equal, \
         each node with a random phase",
    ),
    Field::new(
        "workload.phases",
        Kind::Share {
            above_zero: false,
            below_one: false,
        },
        Value("1"),
        "spread of phases",
        "With equal gaps: part of a gap over which the phases of the nodes are spread; at 0 all \
         send in step",
    )
    .only("workload.spacing", &["deterministic"]),
    Field::new(
        "workload.transaction",
        Kind::Choice(&["move", "read", "write"]),
        Value("\"move\""),
        "transaction",
        "What each packet sets off: nothing (Table 1); a response with the data; a response \
         without data",
    ),
    Field::new(
        "workload.payload",
        Kind::Bytes { min: 16, max: 256 },
        Value("\"64 B\""),
        "payload",
        "Data of one transaction in whole symbols (Table 1: 64 B; IEEE 1596: 16, 64 or 256 B)",
    ),
    Field::new(
        "workload.senders",
        Kind::Nodes,
        Value("[]"),
        "senders",
        "Nodes that send, as far as they are in service; none listed: all",
    ),
    Field::new(
        "workload.turnaround",
        Kind::Time {
            zero: true,
            usual: "ns",
        },
        Value("\"0 s\""),
        "turnaround",
        "From the arrival of a request to its response, at the target",
    )
    .only("workload.transaction", &["read", "write"]),
    Field::new(
        "workload.outstanding",
        Kind::Outstanding,
        Value("\"unlimited\""),
        "transactions under way",
        "Transactions of a node that may be under way, from being handed to its interface until the \
         tail of the response is there; the next in order is handed over when it has been asked for \
         and fewer are",
    )
    .only("workload.transaction", &["read", "write"]),
    Field::new(
        "workload.hot_node.node",
        Kind::Integer {
            min: 0,
            max: (MAX_NODES - 1) as u64,
        },
        Required,
        "hot node",
        "The node that packets favour",
    )
    .such_as("3")
    .within("workload.hot_node"),
    Field::new(
        "workload.hot_node.probability",
        Kind::Share {
            above_zero: false,
            below_one: false,
        },
        Required,
        "hot node share",
        "Share of the packets of other nodes that are drawn to the hot node; the rest goes to any \
         other node",
    )
    .such_as("0.1")
    .within("workload.hot_node"),
]
}

/// The workload, checked against the fabric that it runs on.
pub(super) fn build(settings: &Settings, machine: &SciSpec) -> Result<PacketTraffic, Problem> {
    let nodes = node_count(&machine.shape);
    let live = live_nodes(machine);
    let traffic = PacketTraffic {
        load: load(settings)?,
        spacing: match settings.text("workload.spacing").as_str() {
            "deterministic" => Spacing::Deterministic,
            _ => Spacing::Exponential,
        },
        phases: settings.number("workload.phases"),
        transaction: match settings.text("workload.transaction").as_str() {
            "read" => Transaction::Read,
            "write" => Transaction::Write,
            _ => Transaction::Move,
        },
        payload: payload(settings, machine)?,
        senders: settings.nodes("workload.senders").to_vec(),
        hot_node: hot_node(settings, nodes, &live)?,
        turnaround: settings.time("workload.turnaround"),
        outstanding: match settings.text("workload.transaction").as_str() {
            "read" | "write" => settings.outstanding("workload.outstanding"),
            _ => None,
        }
        .unwrap_or(Outstanding::Unlimited),
    };
    check_outstanding(settings, machine, &traffic)?;
    let sending = senders(settings, nodes, &live)?;
    check_gap(settings, machine, &traffic, sending)?;
    Ok(traffic)
}

fn load(settings: &Settings) -> Result<Bandwidth, Problem> {
    settings.bandwidth_given("workload.load").ok_or_else(|| {
        settings.problem(
            "workload.load",
            "it is missing",
            "write, for example, load = \"1 GB/s\", or sweep it",
        )
    })
}

fn payload(settings: &Settings, machine: &SciSpec) -> Result<Bytes, Problem> {
    let key = "workload.payload";
    let payload = settings.bytes(key);
    check_symbols(settings, key, payload, machine.symbol)?;
    Ok(payload)
}

/// Where packets are dropped a lost response would hold the place of its transaction for ever.
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

/// The nodes in service, ascending.
fn live_nodes(machine: &SciSpec) -> Vec<u32> {
    let all = (0..node_count(&machine.shape)).collect();
    if machine.faults == Faults::default() {
        return all;
    }
    let fabric = Fabric::new(&machine.shape).and_then(|fabric| fabric.with_faults(&machine.faults));
    fabric.map_or(all, |fabric| fabric.live_nodes().to_vec())
}

/// Number of nodes that send.
fn senders(settings: &Settings, nodes: u32, live: &[u32]) -> Result<usize, Problem> {
    let key = "workload.senders";
    let listed = settings.nodes(key);
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

fn hot_node(settings: &Settings, nodes: u32, live: &[u32]) -> Result<Option<HotNode>, Problem> {
    let key = "workload.hot_node.node";
    let probability = settings.number_given("workload.hot_node.probability");
    let Some((node, probability)) = settings.small_given(key).zip(probability) else {
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

fn no_such_node(settings: &Settings, key: &str, node: u32, nodes: u32) -> Problem {
    let problem = format!("node {node} does not exist");
    settings.problem(key, problem, format!("there are nodes 0 to {}", nodes - 1))
}

/// The mean gap of a sender must be a time that an engine can count: a cycle at least, a day at
/// most, and few enough cycles for all messages of a replication to stay far below 2^64.
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
    let load = Load::Bandwidth(traffic.load);
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
    if settings.given("stop.time").is_some() {
        return Ok(());
    }
    let messages_key = match settings.text("stop.rule").as_str() {
        "fixed" => "stop.messages",
        _ => "stop.messages_max",
    };
    let messages = settings.integer(messages_key);
    if messages as f64 * together_ps / cycle_ps < (1u64 << 60) as f64 {
        return Ok(());
    }
    Err(settings.problem(
        key,
        format!("{messages} messages at {load} take more than 2^60 cycles"),
        format!("give more load, fewer messages ({messages_key}) or slower links"),
    ))
}
