//! Summary of an SCI fabric and utilisation of its links and nodes, for the results.

use crate::jobs::behind;
use isthmus_experiment::result::{ChannelUse, NodeUse};
use isthmus_experiment::subject::{Counted, Overlay};
use isthmus_experiment::uses::{Part, Uses, find_bottleneck, rows};
use isthmus_machine::sci::{Lengths, Machine};
use isthmus_topology::rings::Fabric;
use serde::Serialize;

/// Properties of a fabric of SCI rings, as results contain them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SciSummary {
    /// Name of the topology, such as `6 x 6 bidirectional torus`.
    pub fabric: String,
    /// Number of nodes, including those cut off.
    pub nodes: u32,
    /// The nodes of each ring in the order in which packets pass them; empty above 4096 nodes.
    pub rings: Vec<Vec<u32>>,
    /// Number of rings of the fabric.
    pub ring_count: u32,
    /// Numbers of the rings that are out of service because of failures.
    pub dead_rings: Vec<u32>,
    /// Coordinates x and y at which to draw each node; empty above 4096 nodes.
    pub places: Vec<(f64, f64)>,
    /// Rule by which packets choose among the shortest paths, in words.
    pub routing: String,
    /// Mean number of links of a path under uniform traffic.
    pub mean_links: f64,
    /// Mean number of ring changes on a path, if all pairs of nodes send equally.
    pub mean_ring_changes: f64,
    /// Length of one cycle in microseconds.
    pub cycle_us: f64,
    /// Result of the deadlock check of the queues, in words.
    pub deadlock: String,
    /// Descriptions of the failed parts of the fabric, in words; empty if no part has failed.
    pub faults: Vec<String>,
    /// Numbers of the nodes that faults have cut off from the others.
    pub cut_off: Vec<u32>,
}

/// Maximum number of nodes for which the results list rings, links and nodes.
const LISTED_MAX: u32 = 4096;

/// Return the utilisation of links and of devices behind servers: first the mean of each kind, for links also by
/// sends and echoes, then each part.
///
/// A link is busy while symbols pass. A packet occupies a link for its length and the idle symbol behind it, as a
/// mean over requests and responses. Without `lengths` the result has no time of occupation.
pub(super) fn uses(
    counted: &[Counted],
    machine: &Machine,
    lengths: Option<Lengths>,
    devices: Vec<Part>,
    overlay: &Overlay,
) -> Uses {
    let fabric = machine.fabric();
    let share = |at: usize| -> f64 {
        let shares = counted
            .iter()
            .map(|counted| counted.counts.channels[at] as f64 / counted.cycles as f64);
        shares.sum::<f64>() / counted.len() as f64
    };
    // Links in service, each with the two counts of its use: entry 2n counts the sends on link n, entry 2n + 1 the
    // echoes.
    let used: Vec<(usize, f64, f64)> = fabric
        .links()
        .iter()
        .enumerate()
        .filter(|(_, link)| fabric.is_in_service(link.ring))
        .map(|(at, _)| (at, share(2 * at), share(2 * at + 1)))
        .collect();
    let symbols = |lengths: Lengths| match lengths.response {
        Some(response) => f64::from(lengths.request + response) / 2.0,
        None => lengths.request.into(),
    };
    let cycle_us = machine.clock().cycle_us();
    let held = lengths.map(|lengths| ((symbols(lengths) + 1.0) * cycle_us, 1.0));
    let links = used.iter().map(|&(at, send, echo)| {
        let (link, carried) = (fabric.links()[at], send + echo);
        Part {
            kind: "link".to_owned(),
            from: link.from,
            to: Some(link.to),
            utilisation: carried,
            busy: carried,
            held,
            let_through: None,
        }
    });
    let parts: Vec<Part> = links.chain(devices).collect();
    let mut uses = rows(&parts, overlay, fabric.node_count() <= LISTED_MAX);
    /// Function that returns one of the two shares in a link's use: that of sends or that of echoes.
    type Pick = fn(&(usize, f64, f64)) -> f64;
    let kinds: [(&str, Pick); 2] = [
        ("send", |(_, send, _)| *send),
        ("echo", |(_, _, echo)| *echo),
    ];
    let by_kind = kinds.iter().map(|(kind, pick)| {
        let mean = used.iter().map(pick).sum::<f64>() / used.len().max(1) as f64;
        let highest = Some(used.iter().map(pick).fold(0.0, f64::max));
        ChannelUse {
            kind: (*kind).to_owned(),
            from: None,
            to: None,
            utilisation: mean,
            highest,
            busy: mean,
            busiest: highest,
            held_us: None,
            analytic: overlay.utilisation.get(*kind).copied(),
        }
    });
    let after_links = usize::from(!used.is_empty());
    uses.splice(after_links..after_links, by_kind);
    Uses {
        rows: uses,
        bottleneck: find_bottleneck(&parts).map(|part| {
            let holder = match part.kind.as_str() {
                behind::DEVICE => "request",
                _ => "packet",
            };
            part.bottleneck(holder, None)
        }),
    }
}

/// Return the offered and accepted load of each node in GB/s. `gb_per_s` is the load of one transaction per cycle.
pub(super) fn nodes(counted: &[Counted], gb_per_s: f64) -> Vec<NodeUse> {
    let count = counted.first().map_or(0, |first| first.counts.nodes.len());
    if count > LISTED_MAX as usize {
        return Vec::new();
    }
    let mean = |node: usize, pick: fn((u64, u64)) -> u64| -> f64 {
        let rates = counted
            .iter()
            .map(|counted| pick(counted.counts.nodes[node]) as f64 / counted.cycles as f64);
        rates.sum::<f64>() / counted.len() as f64 * gb_per_s
    };
    (0..count)
        .map(|node| NodeUse {
            node: node as u32,
            offered: Some(mean(node, |(offered, _)| offered)),
            accepted: mean(node, |(_, completed)| completed),
        })
        .collect()
}

/// Return the properties of an SCI fabric that results contain.
pub(super) fn summary(machine: &Machine) -> SciSummary {
    let fabric = machine.fabric();
    let averages = machine.routes().uniform_averages();
    let listed = fabric.node_count() <= LISTED_MAX;
    SciSummary {
        fabric: fabric.name().to_owned(),
        nodes: fabric.node_count(),
        rings: if listed {
            fabric.rings().to_vec()
        } else {
            Vec::new()
        },
        ring_count: fabric.ring_count(),
        dead_rings: fabric.rings_out_of_service().collect(),
        places: if listed { places(fabric) } else { Vec::new() },
        routing: machine.routes().description(),
        mean_links: averages.mean_links,
        mean_ring_changes: averages.mean_changes,
        cycle_us: machine.clock().cycle_us(),
        deadlock: match machine.routes().check_waiting() {
            Ok(()) => "free of deadlock: no queues can wait for one another in a cycle".to_owned(),
            Err(cycle) => cycle.to_string(),
        },
        faults: faults(fabric),
        cut_off: fabric.cut_off().to_vec(),
    }
}

/// Return descriptions of the failed parts of a fabric in words; none if no part has failed.
pub(super) fn faults(fabric: &Fabric) -> Vec<String> {
    let faults = fabric.faults();
    let nodes = faults.nodes.iter().map(|node| format!("node {node}"));
    let links = (faults.links.iter()).map(|(from, to)| format!("link {from}-{to}"));
    let mut words: Vec<String> = nodes.chain(links).collect();
    if !fabric.is_whole() {
        words.push(format!(
            "{} of {} rings out of service",
            fabric.rings_out_of_service().count(),
            fabric.ring_count(),
        ));
    }
    words
}

/// Return the coordinates at which to draw each node: on a grid if the fabric has two or more dimensions, with the
/// third and further dimensions along slanted axes, and on a circle otherwise.
fn places(fabric: &Fabric) -> Vec<(f64, f64)> {
    let count = fabric.node_count();
    let on_circle = |node: u32| {
        let angle = f64::from(node) / f64::from(count) * std::f64::consts::TAU;
        (angle.sin(), angle.cos())
    };
    (0..count)
        .map(|node| match fabric.coordinates(node).as_deref() {
            Some([x, y, further @ ..]) => {
                let mut place = (f64::from(*x), f64::from(*y));
                for (depth, &step) in (1..).zip(further) {
                    let slant = 0.38 / f64::from(depth);
                    place.0 += slant * f64::from(step);
                    place.1 += 0.8 * slant * f64::from(step);
                }
                place
            }
            _ => on_circle(node),
        })
        .collect()
}
