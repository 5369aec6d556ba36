//! What jobs ask of the interfaces, servers and links of a network of packets, and what these can do.
//!
//! A node sends P bytes of payload for each packet, as fast as its link carries it, L = P / (w / B) with w
//! the packet's length on the wire and B the bandwidth, or its engine makes it, E = P / D, or circuits come
//! back, min(v, n) P / T with T from the packet's start to its acknowledgement (section 4.1 of the QsNET
//! paper; [`Rules::one_way`]). A server takes in what its link carries, and gives what a node can send.
//! What a job asks of a link is what its nodes ask for, times the share of their ways that leads
//! over it.

use super::{Bundle, Fabric, outstanding, rules};
use crate::jobs::behind::Devices;
use crate::jobs::capacity::{self, Foretold, MB, NODES_MAX, foretold, left_out};
use crate::jobs::is_io;
use isthmus_analytic::fattree::{Limit, Rules};
use isthmus_experiment::capacity::{Capacity, bandwidth, number};
use isthmus_machine::packets::spec::{NetworkSpec, Switching};
use isthmus_machine::packets::ways::Ways;
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Demand against supply.
pub(crate) fn capacity(
    fabric: &impl Fabric,
    traffic: &JobsTraffic,
    layout: &Layout,
    devices: Option<&Devices>,
) -> Capacity {
    let spec = fabric.network().spec();
    let classes = fabric.ways().classes();
    let Ok(rules) = rules(spec, classes).checked() else {
        return Capacity::default();
    };
    let near = rules.one_way(1);
    let mut capacity = Capacity {
        remarks: remarks(fabric, &rules),
        ..Capacity::default()
    };
    (capacity.remarks).extend(outstanding::remarks(
        fabric, &rules, traffic, layout, devices,
    ));
    let asked = Asked::new(fabric, traffic, layout, near.rate);
    let senders = asked.sent.iter().copied().fold(0.0, f64::max);
    let interface = match near.limit {
        Limit::Wire => "as fast as its link".to_owned(),
        Limit::Dma => engine(spec),
        Limit::Circuits => circuits(spec, &rules, 1),
    };
    let part = |name: &str, demand: f64, supply: f64, basis: String| {
        capacity::part(traffic, name, demand, supply, basis)
    };
    let wire = format!(
        "{} of {} on the wire",
        spec.nic.payload,
        number(rules.packet_ns(rules.interface.payload) * rules.link.bandwidth) + " B"
    );
    capacity
        .parts
        .push(part("interface of a node", senders, near.rate, interface));
    capacity.parts.push(part(
        "link of a node",
        senders,
        rules.wire_rate(),
        wire.clone(),
    ));
    let servers = layout.servers.iter().map(|&server| server as usize);
    let most = |of: &[f64]| servers.clone().map(|server| of[server]).fold(0.0, f64::max);
    if !layout.servers.is_empty() {
        let (written, read) = (most(&asked.written), most(&asked.read));
        if written > 0.0 {
            let basis = "what its link carries".to_owned();
            capacity.parts.push(part(
                "I/O server, written to",
                written,
                rules.wire_rate(),
                basis,
            ));
        }
        if read > 0.0 {
            let basis = "what its interface sends".to_owned();
            capacity
                .parts
                .push(part("I/O server, read from", read, near.rate, basis));
        }
    }
    let nodes = fabric.node_count();
    let at = |server: u32| server as usize;
    let full = devices.and_then(|devices| devices.fullest(traffic, layout, near.rate, nodes, at));
    if let Some(full) = full {
        let (supply, count) = (full.supply, layout.servers.len());
        let name = "device of an I/O server";
        capacity::device(&mut capacity, traffic, name, full);
        if supply < rules.wire_rate() {
            capacity.remarks.push(format!(
                "{count} I/O servers together move at most {}: their devices, not the network, are \
                 the limit.",
                bandwidth(supply * MB * count as f64)
            ));
        }
    }
    for (name, demand, delay) in asked.links {
        let credits = Credits::of(fabric, &rules, delay).filter(|credits| credits.share < 1.0);
        let share = credits.map_or(1.0, |credits| credits.share);
        let basis = match share {
            1.0 => wire.clone(),
            _ => format!("{wire}, {}% of the time", number(share * 100.0)),
        };
        let supply = rules.wire_rate() * share;
        capacity.parts.push(part(&name, demand, supply, basis));
    }
    capacity.remarks.extend(left_out(traffic));
    if fabric.is_drawn() {
        capacity.remarks.push(
            "Links between switches are left out: which of them a packet takes is drawn by lot."
                .to_owned(),
        );
    } else if fabric.node_count() > NODES_MAX {
        capacity.remarks.push(format!(
            "Links between switches are left out in networks of more than {NODES_MAX} nodes."
        ));
    }
    capacity
}

/// What limits a node, where that is not its link.
fn remarks(fabric: &impl Fabric, rules: &Rules) -> Vec<String> {
    let link = bandwidth(rules.link.bandwidth * MB);
    let (near, far) = (1, fabric.switches_at_most());
    let spec = fabric.network().spec();
    let mut remarks = Vec::new();
    let bound = rules.one_way(near);
    let most = bandwidth(bound.rate * MB);
    match bound.limit {
        Limit::Wire => {}
        Limit::Dma => remarks.push(format!(
            "A node can send at most {most}: its interface ({}), not its {link} link, is the limit.",
            engine(spec)
        )),
        Limit::Circuits => remarks.push(format!(
            "A node can send at most {most}: waiting for acknowledgements ({}), not its {link} link, is \
             the limit.",
            circuits(spec, rules, near)
        )),
    }
    remarks.extend(short_buffers(fabric, rules));
    remarks.extend(unused(fabric));
    // Of a way over links with delays the closed forms know nothing.
    if fabric.longest_delay() > Time::ZERO {
        return remarks;
    }
    let distant = rules.one_way(far);
    if distant.limit == Limit::Circuits && distant.rate < 0.99 * bound.rate {
        remarks.push(format!(
            "Over {far} switches it can send at most {}: {}.",
            bandwidth(distant.rate * MB),
            circuits(spec, rules, far)
        ));
    }
    remarks
}

/// Of a link with a delay, what credits let through: they come back for a place of a buffer after a flight
/// along the link, the switch, the packet's time on the next link, what a credit takes, and a flight
/// back. Fewer places than fit into that leave the link idle.
struct Credits {
    /// Packets that a buffer holds.
    places: u32,
    packet_ps: f64,
    round_ps: f64,
    /// Share of its bandwidth that the link can carry, if it is below 1.
    share: f64,
}

impl Credits {
    fn of(fabric: &impl Fabric, rules: &Rules, delay: Time) -> Option<Self> {
        let spec = fabric.network().spec();
        let Switching::CutThrough { buffer, credit, .. } = spec.switching else {
            return None;
        };
        let packet_ps = rules.packet_ns(rules.interface.payload) * 1e3;
        let others_ps =
            spec.switch_latency.ps() as f64 + 2.0 * delay.ps() as f64 + credit.ps() as f64;
        let round_ps = others_ps + packet_ps;
        let channels = spec.virtual_channels.max(1);
        let classes = fabric.ways().classes().max(1);
        let places = buffer / channels * (channels / classes * classes);
        (delay > Time::ZERO).then(|| Self {
            places,
            packet_ps,
            round_ps,
            share: f64::from(places) * packet_ps / round_ps,
        })
    }
}

/// That buffers are too small for the longest link.
fn short_buffers(fabric: &impl Fabric, rules: &Rules) -> Option<String> {
    let delay = fabric.longest_delay();
    let credits = Credits::of(fabric, rules, delay).filter(|credits| credits.share < 1.0)?;
    Some(format!(
        "A link of {delay} carries at most {}% of its bandwidth: buffers hold {} packets where {} \
         fit into its round trip of {} us; raise machine.buffer.",
        number(credits.share * 100.0),
        credits.places,
        (credits.round_ps / credits.packet_ps).ceil(),
        number(credits.round_ps / 1e6),
    ))
}

/// Virtual channels that do not go into the layers of the routes.
fn unused(fabric: &impl Fabric) -> Option<String> {
    let (channels, classes) = (
        fabric.network().spec().virtual_channels,
        fabric.ways().classes().max(1),
    );
    let left = channels % classes;
    (left > 0).then(|| {
        let stay = if left == 1 { "stays" } else { "stay" };
        format!("Of {channels} virtual channels {left} {stay} unused: the routes are in {classes} layers.")
    })
}

fn engine(spec: &NetworkSpec) -> String {
    let nic = &spec.nic;
    let blocks = nic.payload.get().div_ceil(nic.padding.get().max(1));
    let ns = (nic.dma_period.ps() + blocks * nic.dma_block.ps()) as f64 / 1e3;
    format!("{} ns for each packet of {}", number(ns), nic.payload)
}

fn circuits(spec: &NetworkSpec, rules: &Rules, switches: u32) -> String {
    let flying = match spec.switching {
        Switching::Circuit { .. } => rules.interface.in_flight.min(rules.link.circuits),
        Switching::CutThrough { .. } => 0.0,
    };
    let ns = number(rules.circuit_ns(switches));
    format!("{flying} packets of {} in each {ns} ns", spec.nic.payload)
}

/// What is asked for, in GB/s.
struct Asked {
    /// Of each node to send.
    sent: Vec<f64>,
    /// Of each node to take in for I/O.
    written: Vec<f64>,
    /// Of each node to give for I/O.
    read: Vec<f64>,
    /// Of the busiest link of each kind between switches, and into a node, and what a signal takes along it.
    links: Vec<(String, f64, Time)>,
}

impl Asked {
    fn new(fabric: &impl Fabric, traffic: &JobsTraffic, layout: &Layout, alone: f64) -> Self {
        let nodes = fabric.node_count() as usize;
        let with_links = fabric.node_count() <= NODES_MAX;
        let mut bundles: BTreeMap<u32, f64> = BTreeMap::new();
        let mut asked = Self {
            sent: vec![0.0; nodes],
            written: vec![0.0; nodes],
            read: vec![0.0; nodes],
            links: Vec::new(),
        };
        for Foretold {
            number,
            job,
            message,
        } in foretold(traffic)
        {
            let rate = message.offered.unwrap_or(alone);
            let reads = message.reads;
            // Of those that clients have in common, whether each node is one.
            let mut among: (Arc<[u32]>, BTreeSet<u32>) = (Arc::default(), BTreeSet::new());
            for partners in layout.partners(number, job) {
                let client = partners.client;
                let others = || {
                    let all = partners.others.iter().copied();
                    all.filter(|&other| other != client)
                };
                if !Arc::ptr_eq(&among.0, &partners.others) {
                    let nodes = partners.others.iter().copied().collect();
                    among = (Arc::clone(&partners.others), nodes);
                }
                let count = partners.others.len() - usize::from(among.1.contains(&client));
                if count == 0 {
                    continue;
                }
                asked.sent[client as usize] += rate * (1.0 - reads);
                let each = rate / count as f64;
                // Only servers are asked for anything, and hot nodes that are read from.
                if is_io(layout, job) || reads > 0.0 {
                    for other in others() {
                        asked.sent[other as usize] += each * reads;
                        asked.written[other as usize] += each * (1.0 - reads);
                        asked.read[other as usize] += each * reads;
                    }
                }
                if !with_links {
                    continue;
                }
                let mut add = |shares: Vec<(u32, f64)>, part: f64| {
                    for (bundle, share) in shares {
                        *bundles.entry(bundle).or_default() += part * share;
                    }
                };
                if reads < 1.0 {
                    let shares = fabric.shares(client, &partners.others);
                    add(shares, rate * (1.0 - reads));
                }
                if reads > 0.0 {
                    for other in others() {
                        add(fabric.shares(other, &[client]), each * reads);
                    }
                }
            }
        }
        asked.links = busiest(fabric, &bundles);
        asked
    }
}

/// The busiest link of each kind but those out of nodes, in the order in which packets cross them.
fn busiest(fabric: &impl Fabric, bundles: &BTreeMap<u32, f64>) -> Vec<(String, f64, Time)> {
    let mut kinds: BTreeMap<(u8, u32), (String, f64, Time)> = BTreeMap::new();
    for (&bundle, &demand) in bundles {
        let Some(Bundle {
            name,
            order,
            width,
            delay,
        }) = fabric.bundle(bundle)
        else {
            continue;
        };
        let each = demand / f64::from(width.max(1));
        let busiest = kinds.entry(order).or_insert((name, 0.0, delay));
        busiest.1 = busiest.1.max(each);
    }
    kinds.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_experiment::capacity::PartKind;
    use isthmus_machine::fattree::Machine;

    fn capacity_of(text: &str) -> Capacity {
        let scenario = crate::KINDS
            .parse(text, "s.toml", &[])
            .unwrap_or_else(|e| panic!("{e}"));
        let machine = Machine::new(scenario.machine.expect()).unwrap();
        let traffic = scenario.workload.expect();
        let layout = Layout::new(traffic, machine.tree().node_count()).unwrap();
        capacity(&machine, traffic, &layout, None)
    }

    fn part<'c>(capacity: &'c Capacity, name: &str) -> &'c PartKind {
        let found = capacity.parts.iter().find(|part| part.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {:?}", capacity.parts))
    }

    fn close(value: Option<f64>, expected: f64) {
        let value = value.unwrap();
        assert!(
            (value - expected).abs() < 1e-6 * expected,
            "{value} for {expected}"
        );
    }

    const QSNET: &str = r#"
version = 1
name = "x"
[machine]
kind = "fat-tree"
arity = 4
levels = 2
[workload.servers]
placement = "clustered"
count = 4
[workload.jobs.io]
traffic = "io"
load = "100 MB/s"
"#;

    /// 12 clients of 100 MB/s, 4 servers: 300 MB/s each. A packet of 320 B is 378 B on a link of 400 MB/s:
    /// 945 ns, 338.6 MB/s; the engine makes one in 955.2 ns, 335 MB/s. The servers are all nodes below one
    /// leaf switch: all 1200 MB/s pass its 4 links from above.
    #[test]
    fn by_hand_on_the_qsnet() {
        let found = capacity_of(QSNET);
        close(
            part(&found, "interface of a node").supply,
            320.0 / 955.2 * 1e3,
        );
        close(part(&found, "interface of a node").demand, 100.0);
        close(part(&found, "link of a node").supply, 320.0 / 945.0 * 1e3);
        let server = part(&found, "I/O server, written to");
        close(server.demand, 300.0);
        close(server.share(), 300.0 / (320.0 / 945.0 * 1e3));
        let down = found
            .parts
            .iter()
            .find(|part| part.name.starts_with("link down"))
            .unwrap();
        close(down.demand, 300.0);
        close(part(&found, "link into a node, busiest").demand, 300.0);
        assert!(!found.parts.iter().any(|part| part.at_most));
    }

    /// Faster links alone leave the interface what it is: 335 MB/s on links of 25 GB/s.
    #[test]
    fn the_interface_not_the_link_is_the_limit() {
        let found =
            capacity_of(&QSNET.replace("levels = 2", "levels = 2\nbandwidth = \"25 GB/s\""));
        assert_eq!(
            found.remarks[0],
            "A node can send at most 335 MB/s: its interface (955 ns for each packet of 320 B), not its \
             25 GB/s link, is the limit."
        );
        close(part(&found, "link of a node").supply, 320.0 / 378.0 * 25e3);
    }

    /// Reads: servers send what 12 clients ask for; a closed loop asks for no more than it can send.
    #[test]
    fn reads_and_closed_loops_by_hand() {
        let closed = QSNET.replace("load = \"100 MB/s\"", "read_ratio = 1");
        let found = capacity_of(&closed);
        let server = part(&found, "I/O server, read from");
        close(server.demand, 3.0 * 320.0 / 955.2 * 1e3);
        assert!(server.at_most);
        assert!(
            !found
                .parts
                .iter()
                .any(|part| part.name == "I/O server, written to")
        );
    }
}
