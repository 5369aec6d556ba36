//! Reads the description of a fat tree from `[machine]` of a scenario file and checks it.

use super::table::{AscentTable, MachineTable, PortsTable, TreeTable};
use crate::packets::network;
use isthmus_machine::fattree::spec::{Ascent, FatTreeSpec, Shape};
use isthmus_machine::packets::spec::Adaptive;
use isthmus_scenario::format::{Describe, Problem, Settings};
use isthmus_topology::trees::{Ports, TreesError};

/// Read and check the description of the fat tree.
pub(super) fn build(settings: &Settings) -> Result<FatTreeSpec, Problem> {
    let table = MachineTable::read(settings, "machine");
    let (ascent, adaptive) = match table.ascent {
        AscentTable::Adaptive {
            ascent_load: load,
            ascent_tie: tie,
        } => (Ascent::Adaptive, Adaptive { load, tie }),
        AscentTable::Destination => (Ascent::Destination, Adaptive::default()),
        AscentTable::Source => (Ascent::Source, Adaptive::default()),
        AscentTable::Random => (Ascent::Random, Adaptive::default()),
    };
    // The shape comes first: its errors are reported before those of links.
    let shape = shape(settings, table.tree)?;
    Ok(FatTreeSpec {
        shape,
        ascent,
        network: network(settings, table.network, adaptive)?,
    })
}

/// Return the shape of the tree, or the problem of the field that prevents it.
fn shape(settings: &Settings, tree: TreeTable) -> Result<Shape, Problem> {
    match tree {
        TreeTable::KAry {
            arity,
            levels,
            taper,
        } => {
            let shape = Shape::KAry { arity, levels };
            shape
                .check()
                .map_err(|error| tree_problem(settings, "machine.levels", &error))?;
            match taper {
                1 => Ok(shape),
                taper => Shape::tapered(arity, levels, taper)
                    .map_err(|error| tree_problem(settings, "machine.taper", &error)),
            }
        }
        TreeTable::Ports { nodes, ports } => by_ports(settings, nodes, &ports),
        TreeTable::Generalised { down, up, parallel } => {
            let levels = down.len();
            let shape = Shape::Generalised {
                up,
                parallel: parallel.unwrap_or_else(|| vec![1; levels]),
                down,
            };
            shape.check().map_err(|error| {
                let key = match &error {
                    TreesError::Lengths { up, .. } if *up != levels => "machine.up",
                    TreesError::Lengths { .. } => "machine.parallel",
                    _ => "machine.down",
                };
                tree_problem(settings, key, &error)
            })?;
            Ok(shape)
        }
    }
}

/// Return the shape of the tree that connects `nodes` nodes by switches with these numbers of ports.
fn by_ports(settings: &Settings, nodes: u32, ports: &PortsTable) -> Result<Shape, Problem> {
    let PortsTable { down, up } = ports;
    if up.len() + 1 != down.len() {
        let problem = format!(
            "ports up of {} levels where machine.ports.down has {}",
            up.len(),
            down.len()
        );
        return Err(settings.problem(
            "machine.ports.up",
            problem,
            "give those of each level but the top, which has none",
        ));
    }
    let top = std::iter::once(&0);
    let ports = down.iter().zip(up.iter().chain(top));
    let ports: Vec<Ports> = ports.map(|(&down, &up)| Ports { down, up }).collect();
    Shape::from_ports(nodes, &ports).map_err(|error| {
        let key = match &error {
            TreesError::Nodes { .. } => "machine.nodes",
            _ => "machine.ports.down",
        };
        tree_problem(settings, key, &error)
    })
}

/// Convert an error of the tree topology to a problem of the scenario field `key`.
fn tree_problem(settings: &Settings, key: &str, error: &TreesError) -> Problem {
    settings.problem(key, error.problem(), error.hint())
}
