//! Demand of jobs on the interfaces, servers and links of a packet network, and the supply of these parts.
//!
//! A node sends P bytes of payload per packet. The slowest of three limits sets its rate: its link, L = P / (w / B),
//! with w the packet's length on the wire and B the bandwidth; its DMA engine, E = P / D, with D the time between two
//! packets; or the return of circuits, min(v, n) P / T, with v virtual channels, n packets in flight, and T from the
//! packet's start to its acknowledgement (section 4.1 of the QsNET paper; [`Rules::one_way`]). A server receives at
//! the rate of its link and sends at the rate of a node. The demand of a job on a link is the demand of its nodes,
//! times the share of their routes over the link.

use super::closed_loops::fair_share_remarks;
use super::credits::Credits;
use super::loads::{LinkLoad, NodeDemand, RANDOM_ROUTES_MAX};
use super::rules::{node_links, sending};
use super::{Fabric, OUT_OF_NODE, outstanding, rules};
use crate::jobs::behind::Devices;
use crate::jobs::capacity::{self, MB, NODES_MAX, left_out};
use isthmus_analytic::packets::{Limit, Rules};
use isthmus_experiment::capacity::{Capacity, bandwidth, number};
use isthmus_machine::packets::routes::Routes;
use isthmus_machine::packets::spec::{NetworkSpec, Switching};
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{JobsTraffic, Serve};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Return, for each part of the network, the load that the jobs demand and the load that the part can carry.
pub(crate) fn capacity(
    fabric: &impl Fabric,
    traffic: &JobsTraffic,
    layout: &Layout,
    devices: Option<&Devices>,
) -> Capacity {
    let spec = fabric.network().spec();
    let classes = fabric.routes().classes();
    let Ok(rules) = rules(spec, classes).checked() else {
        return Capacity::default();
    };
    let near = sending(fabric, rules, 1);
    let mut capacity = Capacity {
        remarks: remarks(fabric, &rules),
        ..Capacity::default()
    };
    (capacity.remarks).extend(outstanding::remarks(
        fabric, &rules, traffic, layout, devices,
    ));
    let asked = NodeDemand::new(fabric, traffic, layout, near.rate);
    let mut kinds = busiest(fabric, &rules, &asked);
    let senders = asked.sent.iter().copied().fold(0.0, f64::max);
    let own = node_links(fabric);
    let its_links = if own > 1.0 { "its links" } else { "its link" };
    let interface = match near.limit {
        Limit::Wire => format!("as fast as {its_links}"),
        Limit::Dma => engine(spec),
        Limit::Circuits => circuits(fabric, &rules, 1),
    };
    let part = |name: &str, demand: f64, supply: f64, basis: String| {
        capacity::part(traffic, name, demand, supply, basis)
    };
    let wire = format!(
        "{} of {} on the wire",
        spec.nic.payload,
        number(rules.packet_ns(rules.interface.payload) * rules.link.bandwidth) + " B"
    );
    let link = |busiest: Busiest| {
        let share = busiest.share;
        let basis = match share {
            1.0 => wire.clone(),
            _ => format!("{wire}, {}% of the time", number(share * 100.0)),
        };
        part(
            &busiest.name,
            busiest.demand,
            rules.wire_rate() * share,
            basis,
        )
    };
    capacity
        .parts
        .push(part("interface of a node", senders, near.rate, interface));
    let out_of_node = kinds.remove(&OUT_OF_NODE).unwrap_or_else(|| Busiest {
        name: "link of a node".to_owned(),
        demand: senders / own,
        share: 1.0,
    });
    capacity.parts.push(link(out_of_node));
    let servers = layout.servers.iter().map(|&server| server as usize);
    let most = |of: &[f64]| servers.clone().map(|server| of[server]).fold(0.0, f64::max);
    if !layout.servers.is_empty() {
        let (written, read) = (most(&asked.written), most(&asked.read));
        if written > 0.0 {
            let carries = if own > 1.0 { "carry" } else { "carries" };
            let basis = format!("what {its_links} {carries}");
            capacity.parts.push(part(
                "I/O server, written to",
                written,
                rules.wire_rate() * own,
                basis,
            ));
        }
        if read > 0.0 {
            let basis = "what its interface sends".to_owned();
            capacity
                .parts
                .push(part("I/O server, read from", read, near.rate, basis));
        }
        if traffic.serve == Serve::One {
            let both = |server: usize| asked.written[server] + asked.read[server];
            let demand = servers.map(both).fold(0.0, f64::max);
            let basis = "what one interface sends, reads or writes".to_owned();
            let name = "I/O server, one request at a time";
            (capacity.parts).push(part(name, demand, near.rate, basis));
        }
    }
    let nodes = fabric.node_count();
    let at = |server: u32| server as usize;
    let full = devices.and_then(|devices| devices.fullest(traffic, layout, near.rate, nodes, at));
    if let Some(full) = full {
        let (supply, count) = (full.supply, layout.servers.len());
        let name = "device of an I/O server";
        capacity::device(&mut capacity, traffic, name, full);
        if supply < rules.wire_rate() * own {
            capacity.remarks.push(format!(
                "{count} I/O servers together move at most {}: their devices, not the network, are \
                 the limit.",
                bandwidth(supply * MB * count as f64)
            ));
        }
    }
    capacity.parts.extend(kinds.into_values().map(link));
    capacity.remarks.extend(left_out(traffic));
    if devices.is_none() && traffic.serve == Serve::All {
        (capacity.remarks).extend(fair_share_remarks(fabric, &rules, traffic, layout));
    }
    if fabric.node_count() > NODES_MAX {
        capacity.remarks.push(format!(
            "Links between switches are left out in networks of more than {NODES_MAX} nodes."
        ));
    } else if !fabric.is_followed() {
        let why = match fabric.choices() {
            None => "routes depend on the queues".to_owned(),
            Some(_) => format!("there are more than {RANDOM_ROUTES_MAX} random routes"),
        };
        (capacity.remarks).push(format!(
            "Single links between switches are left out: {why}."
        ));
    }
    capacity
}

/// Return remarks on limits of a node's send rate other than its link.
fn remarks(fabric: &impl Fabric, rules: &Rules) -> Vec<String> {
    let link = bandwidth(rules.link.bandwidth * MB);
    let link = match node_links(fabric) {
        1.0 => format!("{link} link"),
        links => format!("{links} links of {link}"),
    };
    let (near, far) = (1, fabric.switches_at_most());
    let spec = fabric.network().spec();
    let mut remarks = Vec::new();
    let bound = sending(fabric, *rules, near);
    let most = bandwidth(bound.rate * MB);
    match bound.limit {
        Limit::Wire => {}
        Limit::Dma => remarks.push(format!(
            "A node can send at most {most}: its interface ({}), not its {link}, is the limit.",
            engine(spec)
        )),
        Limit::Circuits => remarks.push(format!(
            "A node can send at most {most}: waiting for acknowledgements ({}), not its {link}, is \
             the limit.",
            circuits(fabric, rules, near)
        )),
    }
    remarks.extend(short_buffers(fabric, rules));
    remarks.extend(unused(fabric));
    // The closed-form estimates do not cover routes over links with delays.
    if fabric.longest_delay() > Time::ZERO {
        return remarks;
    }
    let distant = sending(fabric, *rules, far);
    if distant.limit == Limit::Circuits && distant.rate < 0.99 * bound.rate {
        remarks.push(format!(
            "Over {far} switches it can send at most {}: {}.",
            bandwidth(distant.rate * MB),
            circuits(fabric, rules, far)
        ));
    }
    remarks
}

/// Return a remark if buffers are too small for the longest link.
fn short_buffers(fabric: &impl Fabric, rules: &Rules) -> Option<String> {
    let (delay, packet_ps) = (fabric.longest_delay(), packet_ps(rules));
    let credits = Credits::of(fabric, packet_ps, delay, false)?;
    let share = credits.share(packet_ps, 1.0);
    if share >= 1.0 {
        return None;
    }
    let link = match delay {
        Time::ZERO => "A link".to_owned(),
        delay => format!("A link of {delay}"),
    };
    let layer = match fabric.routes().classes() {
        0 | 1 => "",
        _ => " with packets of one layer",
    };
    let of = if layer.is_empty() {
        "packets"
    } else {
        "of these"
    };
    let round_ps = credits.round_ps(packet_ps);
    Some(format!(
        "{link} carries at most {}% of its bandwidth{layer}: buffers hold {} {of} where {} \
         fit into its round trip of {} us; raise machine.buffer.",
        number(share * 100.0),
        credits.places(packet_ps),
        (round_ps / packet_ps).ceil(),
        number(round_ps / 1e6),
    ))
}

/// Return a remark if some virtual channels stay unused, because they do not divide evenly among the layers of the
/// routes.
fn unused(fabric: &impl Fabric) -> Option<String> {
    let (channels, classes) = (
        fabric.network().spec().virtual_channels,
        fabric.routes().classes().max(1),
    );
    let left = channels % classes;
    (left > 0).then(|| {
        let stay = if left == 1 { "stays" } else { "stay" };
        format!("Of {channels} virtual channels {left} {stay} unused: the routes are in {classes} layers.")
    })
}

/// Return the explanation, in words, of the send rate that the DMA engine of a node allows.
fn engine(spec: &NetworkSpec) -> String {
    let nic = &spec.nic;
    let blocks = nic.payload.get().div_ceil(nic.padding.get().max(1));
    let ns = (nic.dma_period.ps() + blocks * nic.dma_block.ps()) as f64 / 1e3;
    format!("{} ns for each packet of {}", number(ns), nic.payload)
}

/// Return an explanation in words of the maximum rate at which a node sends packets as circuits over `switches`
/// switches.
fn circuits(fabric: &impl Fabric, rules: &Rules, switches: u32) -> String {
    let spec = fabric.network().spec();
    let flying = match spec.switching {
        Switching::Circuit { .. } => {
            let circuits = rules.link.circuits * node_links(fabric);
            rules.interface.in_flight.min(circuits)
        }
        Switching::CutThrough { .. } => 0.0,
    };
    let ns = number(rules.circuit_ns(switches));
    format!("{flying} packets of {} in each {ns} ns", spec.nic.payload)
}

/// Of all links of one kind, the link with the highest ratio of demand to supply.
struct Busiest {
    name: String,
    /// Demand on the link in GB/s.
    demand: f64,
    /// Share of the link's bandwidth that the buffer behind the link sustains.
    share: f64,
}

/// Return the busiest link of each kind. The keys are the ranks of the kinds: see [`super::Link::order`].
fn busiest(
    fabric: &impl Fabric,
    rules: &Rules,
    asked: &NodeDemand,
) -> BTreeMap<(u8, u32), Busiest> {
    let packet_ps = packet_ps(rules);
    let mut kinds: BTreeMap<(u8, u32), Busiest> = BTreeMap::new();
    for LinkLoad {
        bundle,
        demand,
        spread,
    } in asked.links(fabric)
    {
        let credits = Credits::of(fabric, packet_ps, bundle.delay, bundle.into_node);
        let share = credits.map_or(1.0, |credits| credits.share(packet_ps, spread));
        let found = Busiest {
            name: bundle.name,
            demand,
            share,
        };
        match kinds.entry(bundle.order) {
            Entry::Vacant(entry) => drop(entry.insert(found)),
            Entry::Occupied(mut entry) => {
                let busiest = entry.get_mut();
                if demand * busiest.share > busiest.demand * share {
                    *busiest = found;
                }
            }
        }
    }
    kinds
}

/// Return the time of a full packet on a link, in ps.
fn packet_ps(rules: &Rules) -> f64 {
    rules.packet_ns(rules.interface.payload) * 1e3
}
