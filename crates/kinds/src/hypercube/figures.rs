//! Summary of a hypercube and utilisation of its channels, for the results.

use crate::jobs::behind;
use isthmus_experiment::subject::{Counted, Counts, Occupancy, Overlay, occupancy};
use isthmus_experiment::uses::{Part, Uses, find_bottleneck, rows};
use isthmus_kernel::Cycles;
use isthmus_machine::hypercube::spec::{FaultSpec, HypercubeSpec};
use isthmus_machine::hypercube::{ChannelKind, DeadlockProof, Machine};
use isthmus_topology::RoutingScheme;
use serde::Serialize;

/// Return the occupancy of each channel: the cycles for which messages occupied it, and the number of messages.
pub(super) fn held(cycles: &[Cycles], messages: impl Iterator<Item = u64>) -> Vec<Occupancy> {
    let channels = cycles.iter().zip(messages);
    channels
        .map(|(&cycles, times)| Occupancy {
            cycles,
            times,
            asked: cycles,
        })
        .collect()
}

/// Properties of a binary hypercube with I/O nodes, as the results list them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HypercubeSummary {
    /// Dimension of the PE hypercube.
    pub dimension: u32,
    /// Number of PEs.
    pub pes: u32,
    /// PEs with an I/O node in ascending order; the index in this list is the number of the I/O node.
    pub io_nodes: Vec<u32>,
    /// Number of the I/O node that serves each PE, `None` for a failed PE; empty above 4096 PEs.
    pub servers: Vec<Option<u32>>,
    /// Name and number of lanes of each kind of link: pe (k), link, io_node (m), io_source (r), io_link (b),
    /// io_to_pe (n).
    pub lanes: Vec<(String, u32)>,
    /// Length of one cycle in microseconds.
    pub cycle_us: f64,
    /// Result of the deadlock check of the routing, in words.
    pub deadlock: String,
    /// Failed parts, in words; empty if no part has failed.
    pub faults: Vec<String>,
}

/// Maximum number of PEs for which the results list the I/O node of each PE.
const SERVERS_LISTED_MAX: u32 = 4096;

/// Return the properties of a hypercube, as the results list them.
pub(super) fn summary(spec: &HypercubeSpec, machine: &Machine) -> HypercubeSummary {
    let placement = machine.placement();
    let layout = machine.layout();
    let lanes = [
        ("pe", ChannelKind::PeInject),
        ("link", ChannelKind::Link),
        ("io_node", ChannelKind::IoNodeIn),
        ("io_source", ChannelKind::IoInject),
        ("io_link", ChannelKind::IoLink),
        ("io_to_pe", ChannelKind::IoToPe),
    ];
    HypercubeSummary {
        dimension: spec.dimension,
        pes: placement.pe_count(),
        io_nodes: placement.io_nodes().to_vec(),
        servers: if placement.pe_count() <= SERVERS_LISTED_MAX {
            let pes = machine.cube().nodes();
            pes.map(|pe| machine.serves(pe)).collect()
        } else {
            Vec::new()
        },
        lanes: lanes
            .into_iter()
            .map(|(name, kind)| {
                let absent = layout.of_kind(kind).is_empty() && !machine.has_io_network();
                (name.to_owned(), if absent { 0 } else { layout.lanes(kind) })
            })
            .collect(),
        cycle_us: machine.clock().cycle_us(),
        deadlock: deadlock(machine),
        faults: faults(&spec.faults, machine),
    }
}

/// Return the result of the deadlock check in words.
fn deadlock(machine: &Machine) -> String {
    match machine.check_deadlock() {
        Ok(DeadlockProof::Numbered) => {
            "free of deadlock: the channels can be numbered so that every route rises".to_owned()
        }
        Ok(DeadlockProof::ByDimensionOrder) => {
            "free of deadlock: every route crosses its dimensions in falling order".to_owned()
        }
        Ok(DeadlockProof::ByConstruction) => {
            "free of deadlock: no route around a fault closes a cycle of channels".to_owned()
        }
        Err((network, cycle)) => format!("{network} network: {cycle}"),
    }
}

/// Return the failed parts in words.
fn faults(faults: &FaultSpec, machine: &Machine) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    words.extend(faults.pes.iter().map(|pe| format!("PE {pe}")));
    words.extend(faults.io_nodes.iter().map(|&node| {
        format!(
            "I/O node {node}, served by {}",
            machine.serving_io_node(node)
        )
    }));
    words.extend(faults.links.iter().map(|(a, b)| format!("link {a}-{b}")));
    words.extend(
        faults
            .io_links
            .iter()
            .map(|(a, b)| format!("I/O link {a}-{b}")),
    );
    let (pe, io) = machine.schemes();
    for (network, scheme) in [("PE", pe), ("I/O", io)] {
        match scheme {
            None => {}
            Some(RoutingScheme::Unaffected) => {
                words.push(format!("{network} network: no route is affected"));
            }
            Some(RoutingScheme::Detours { affected }) => {
                words.push(format!("{network} network: {affected} pairs take a detour"));
            }
            Some(RoutingScheme::LocalDetours { .. }) => {
                words.push(format!(
                    "{network} network: messages go round each failed link"
                ));
            }
            Some(RoutingScheme::UpDown) => {
                words.push(format!(
                    "{network} network: all pairs use up*/down* routing"
                ));
            }
        }
    }
    words
}

/// Maximum number of channels for which the results list each channel.
const CHANNELS_LISTED_MAX: usize = 20_000;
/// Word by which results name the disks of I/O nodes.
pub(super) const DISK: &str = "disk";

/// Return the utilisation of each channel.
pub(super) fn channels(counted: &[Counted], machine: &Machine) -> Vec<Part> {
    let layout = machine.layout();
    let cycle_us = machine.clock().cycle_us();
    let utilisation = |channel: usize, lanes: u32| {
        let sum: f64 = counted
            .iter()
            .map(|counted| counted.counts.channels[channel] as f64 / counted.cycles as f64)
            .sum();
        (sum / counted.len() as f64 / f64::from(lanes)).min(1.0)
    };
    let mut parts = Vec::new();
    for kind in ChannelKind::ALL {
        let lanes = layout.lanes(kind);
        for channel in layout.of_kind(kind) {
            let Some(name) = layout.name(channel, machine.placement().io_nodes()) else {
                continue;
            };
            let channel = channel as usize;
            let (busy, held) = occupancy(counted, cycle_us, lanes, |counts| counts.held[channel]);
            parts.push(Part {
                kind: kind.name().to_owned(),
                from: name.from,
                to: Some(name.to),
                utilisation: utilisation(channel, lanes),
                busy,
                held: Some(held),
                let_through: None,
            });
        }
    }
    parts
}

/// Return the utilisation of channels and disks, and the bottleneck among them.
pub(super) fn uses(counted: &[Counted], machine: &Machine, overlay: &Overlay) -> Uses {
    let cycle_us = machine.clock().cycle_us();
    let mut disks = Vec::new();
    if machine.times().queued && !machine.times().hit.is_certain() {
        let io_nodes = 0..machine.placement().io_node_count();
        disks.extend(io_nodes.map(|node| {
            let disk = |counts: &Counts| counts.devices[node as usize];
            let (busy, held) = occupancy(counted, cycle_us, 1, disk);
            Part {
                kind: DISK.to_owned(),
                from: node,
                to: None,
                utilisation: busy,
                busy,
                held: Some(held),
                let_through: None,
            }
        }));
    }
    uses_of(channels(counted, machine), disks, overlay)
}

/// Return the utilisation of channels and devices as rows of results, and the bottleneck among these parts.
pub(super) fn uses_of(channels: Vec<Part>, devices: Vec<Part>, overlay: &Overlay) -> Uses {
    let listed = channels.len() <= CHANNELS_LISTED_MAX;
    let mut parts = channels;
    parts.extend(devices);
    let bottleneck = find_bottleneck(&parts).map(|part| {
        let holder = match part.kind.as_str() {
            DISK | behind::DEVICE => "request",
            _ => "message",
        };
        part.bottleneck(holder, None)
    });
    Uses {
        rows: rows(&parts, overlay, listed),
        bottleneck,
    }
}
