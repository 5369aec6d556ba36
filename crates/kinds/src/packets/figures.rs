//! Computes the utilisation of the links and nodes of a packet network, for the results.

use super::Fabric;
use super::credits::Spread;
use crate::jobs::behind;
use isthmus_experiment::subject::{Counted, Counts, Overlay, occupancy};
use isthmus_experiment::uses::{Part, Uses, find_bottleneck, rows};
use isthmus_machine::packets::routes::Routes;
use isthmus_machine::packets::spec::{NetworkSpec, Switching};
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;

/// Maximum number of links for which the results list each link.
const LINKS_LISTED_MAX: usize = 20_000;

/// Return the utilisation of links, network interfaces and I/O servers, and the bottleneck.
pub(crate) fn uses(
    counted: &[Counted],
    fabric: &impl Fabric,
    traffic: &JobsTraffic,
    layout: &Layout,
    overlay: &Overlay,
) -> Uses {
    let (network, tick_us) = (fabric.network(), fabric.network().tick_us());
    let (servers, storage) = (&layout.servers, &traffic.storage);
    let spread = Spread::of(fabric, traffic, layout);
    let classes = fabric.routes().classes();
    let share = |link: u32| -> f64 {
        let shares = counted
            .iter()
            .map(|counted| counted.counts.channels[link as usize] as f64 / counted.cycles as f64);
        shares.sum::<f64>() / counted.len() as f64
    };
    let mut links: Vec<((u8, u32), Part)> = (fabric.links().zip(0u32..))
        .map(|(link, number)| {
            let into_node = link.to < fabric.node_count();
            let lanes = lanes(network.spec(), classes, link.out_of_node, into_node);
            let link_count = |counts: &Counts| counts.held[number as usize];
            let (held, by) = occupancy(counted, tick_us, lanes, link_count);
            let carried = share(number);
            let packet_us = packet_ticks(counted, number) * tick_us;
            let let_through = spread.let_through(fabric, &link, number, packet_us * 1e6);
            // Mean share of occupied buffer slots, by Little's law, if packets wait there only for the link.
            let buffer_use = let_through.map_or(0.0, |most| (carried / most).min(1.0));
            let part = Part {
                kind: link.kind,
                from: link.from,
                to: Some(link.to),
                utilisation: carried,
                // A link counts as full if its lanes are held, its transmitter is busy or its buffer is full all the
                // time.
                busy: held.max(carried).max(buffer_use),
                held: Some(by),
                let_through,
            };
            (link.order, part)
        })
        .collect();
    links.sort_by_key(|&(order, _)| order);
    let listed = links.len() <= LINKS_LISTED_MAX;
    let interfaces = (0..fabric.node_count()).map(|node| {
        let engine_count = |counts: &Counts| counts.devices[node as usize];
        let (busy, by) = occupancy(counted, tick_us, 1, engine_count);
        Part {
            kind: "interface".to_owned(),
            from: node,
            to: None,
            utilisation: busy,
            busy,
            held: Some(by),
            let_through: None,
        }
    });
    let mut parts: Vec<Part> = links.into_iter().map(|(.., part)| part).collect();
    parts.extend(interfaces);
    let nodes = fabric.node_count() as usize;
    parts.extend(behind::parts(counted, nodes, servers, tick_us, storage));
    let server_of = |part: &Part| servers.iter().copied().find(|&server| part.is_at(server));
    let bottleneck = find_bottleneck(&parts).map(|part| {
        let holder = match part.kind.as_str() {
            behind::DEVICE => "request",
            _ => "packet",
        };
        part.bottleneck(holder, server_of(part))
    });
    let of_servers: Vec<Part> = servers
        .iter()
        .filter_map(|&server| {
            let own: Vec<Part> = parts
                .iter()
                .filter(|part| part.is_at(server))
                .cloned()
                .collect();
            find_bottleneck(&own).map(|part| Part {
                kind: "server".to_owned(),
                from: server,
                to: None,
                ..part.clone()
            })
        })
        .collect();
    parts.extend(of_servers);
    Uses {
        rows: rows(&parts, overlay, listed),
        bottleneck,
    }
}

/// Return the mean time for which a packet occupies a link, in ticks; 0 if the link had no packets.
fn packet_ticks(counted: &[Counted], link: u32) -> f64 {
    let counts = counted.iter().map(|counted| &counted.counts);
    let (ticks, packets) = counts.fold((0, 0), |(ticks, packets), counts| {
        let link = link as usize;
        (
            ticks + counts.channels[link],
            packets + counts.held[link].times,
        )
    });
    ticks as f64 / packets.max(1) as f64
}

/// Return the number of packets that can occupy a link at a time. With circuits, this is the number of virtual
/// channels, divided equally among classes; a link of a node uses one class. A link out of a node carries at most the
/// packets in flight of the node. With cut-through, one packet at a time occupies the transmitter.
fn lanes(spec: &NetworkSpec, classes: u32, out_of_node: bool, into_node: bool) -> u32 {
    let each = spec.virtual_channels / classes.max(1);
    match spec.switching {
        Switching::Circuit { .. } if out_of_node => each.min(spec.nic.packets_in_flight).max(1),
        Switching::Circuit { .. } if into_node => each.max(1),
        Switching::Circuit { .. } => each * classes,
        Switching::CutThrough { .. } => 1,
    }
}
