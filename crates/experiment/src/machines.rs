//! The distinct machines of a sweep, built once each.

use crate::result::MachineSummary;
use isthmus_machine::hypercube::spec::{FaultSpec, HypercubeSpec};
use isthmus_machine::hypercube::{ChannelKind, DeadlockProof, Machine, MachineError};
use isthmus_topology::RoutingScheme;
use std::sync::Arc;

/// Largest machine whose table of servers is written into results.
const SERVERS_LISTED_MAX: u32 = 4096;

/// A machine with its description.
#[derive(Debug, Clone)]
pub(crate) struct Built {
    pub spec: HypercubeSpec,
    pub machine: Arc<Machine>,
}

/// The machines in order of first use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machines {
    built: Vec<Built>,
}

impl Machines {
    /// The position of the machine `spec`, built now if it is new.
    pub fn position(&mut self, spec: &HypercubeSpec) -> Result<usize, MachineError> {
        if let Some(at) = self.built.iter().position(|built| built.spec == *spec) {
            return Ok(at);
        }
        self.built.push(Built {
            spec: spec.clone(),
            machine: Arc::new(Machine::new(spec)?),
        });
        Ok(self.built.len() - 1)
    }

    pub fn get(&self, position: usize) -> &Built {
        &self.built[position]
    }

    /// All machines in figures.
    pub fn summaries(&self) -> Vec<MachineSummary> {
        self.built.iter().map(summary).collect()
    }
}

fn summary(built: &Built) -> MachineSummary {
    let Built { spec, machine } = built;
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
    MachineSummary {
        kind: "hypercube".to_owned(),
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
