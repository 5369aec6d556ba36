//! A hypercube and the use of its channels, in figures.

use crate::result::{ChannelUse, HypercubeSummary};
use crate::subject::{Counted, Overlay};
use isthmus_machine::hypercube::spec::{FaultSpec, HypercubeSpec};
use isthmus_machine::hypercube::{ChannelKind, DeadlockProof, Machine};
use isthmus_topology::RoutingScheme;

/// Largest machine whose table of servers is written into results.
const SERVERS_LISTED_MAX: u32 = 4096;

/// The machine in figures.
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
            placement.servers().to_vec()
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

fn faults(faults: &FaultSpec, machine: &Machine) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    words.extend(faults.pes.iter().map(|pe| format!("PE {pe}")));
    words.extend(
        faults
            .io_nodes
            .iter()
            .map(|&node| format!("I/O node {node}, served by {}", machine.attends(node))),
    );
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

/// Largest machine, in channels, whose channels are listed one by one.
const CHANNELS_LISTED_MAX: usize = 20_000;

/// The mean channel of each kind, then each channel.
pub(super) fn channels(
    counted: &[Counted],
    machine: &Machine,
    overlay: &Overlay,
) -> Vec<ChannelUse> {
    let layout = machine.layout();
    let utilisation = |channel: usize, lanes: u32| {
        let sum: f64 = counted
            .iter()
            .map(|counted| counted.counts.channels[channel] as f64 / counted.cycles as f64)
            .sum();
        sum / counted.len() as f64 / f64::from(lanes)
    };
    let (mut means, mut single) = (Vec::new(), Vec::new());
    for kind in ChannelKind::ALL {
        let lanes = layout.lanes(kind);
        let (mut sum, mut highest, mut count) = (0.0, 0.0f64, 0);
        for channel in layout.of_kind(kind) {
            let Some(name) = layout.name(channel, machine.placement().io_nodes()) else {
                continue;
            };
            let used = utilisation(channel as usize, lanes);
            sum += used;
            highest = highest.max(used);
            count += 1;
            single.push(ChannelUse {
                kind: kind.name().to_owned(),
                from: Some(name.from),
                to: Some(name.to),
                utilisation: used,
                highest: None,
                analytic: None,
            });
        }
        if count > 0 {
            means.push(ChannelUse {
                kind: kind.name().to_owned(),
                from: None,
                to: None,
                utilisation: sum / f64::from(count),
                highest: Some(highest),
                analytic: overlay.utilisation.get(kind.name()).copied(),
            });
        }
    }
    if single.len() <= CHANNELS_LISTED_MAX {
        means.append(&mut single);
    }
    means
}
