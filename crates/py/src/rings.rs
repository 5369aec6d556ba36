//! Describes the ring fabrics of SCI machines in a scenario.

use crate::question::{ScenarioText, answer};
use isthmus_experiment::Kind;
use isthmus_kinds::sci::{Sci, SciSummary};
use isthmus_machine::sci::Machine;
use isthmus_topology::rings::Fabric;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

/// The description of one ring fabric of the scenario, in JSON.
#[derive(Serialize)]
struct Described {
    summary: SciSummary,
    sizes: Option<Vec<u32>>,
    /// Pairs of a ring's length in nodes and the number of rings with this length, in ascending
    /// order.
    ring_lengths: Vec<(u32, u32)>,
    /// Minimum and maximum number of rings to which a node belongs.
    rings_per_node: (u32, u32),
    links: u32,
    /// Share of packets by the number of links that they cross, if all destinations are equally
    /// frequent.
    distances: Vec<f64>,
    deadlock: Deadlock,
}

/// The verdict whether a ring fabric is free of deadlock, in JSON.
#[derive(Serialize)]
struct Deadlock {
    free: bool,
    /// Nodes whose queues form a cycle of waiting packets, if there is one.
    nodes: Vec<u32>,
}

/// Describe the SCI fabrics of a scenario, as JSON.
#[pyfunction]
pub(crate) fn rings(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |given: ScenarioText, progress| {
        let experiment = given.build(progress)?;
        let fabrics = experiment
            .built::<Sci>()
            .map(|built| described(Sci::summary(built), built.machine()));
        Ok(json!({"fabrics": fabrics.collect::<Vec<_>>()}))
    })
}

/// Describe the rings of a fabric in JSON form: its summary, ring lengths and possible deadlocks.
fn described(summary: SciSummary, machine: &Machine) -> Described {
    let fabric = machine.fabric();
    let waiting = machine.routes().check_waiting();
    let mut lengths: BTreeMap<u32, u32> = BTreeMap::new();
    for ring in fabric.rings() {
        *lengths.entry(ring.len() as u32).or_default() += 1;
    }
    Described {
        summary,
        sizes: fabric.sizes().map(<[u32]>::to_vec),
        ring_lengths: lengths.into_iter().collect(),
        rings_per_node: rings_per_node(fabric),
        links: fabric.links().len() as u32,
        distances: machine.routes().uniform_averages().distances,
        deadlock: Deadlock {
            free: waiting.is_ok(),
            nodes: match &waiting {
                Ok(()) => Vec::new(),
                Err(cycle) => cycle.places.iter().map(|&(_, node)| node).collect(),
            },
        },
    }
}

/// Return the minimum and maximum number of rings to which a node of the fabric belongs.
fn rings_per_node(fabric: &Fabric) -> (u32, u32) {
    let counts = (0..fabric.node_count()).map(|node| fabric.links_from(node).len() as u32);
    let (fewest, most) = counts.fold((u32::MAX, 0), |(fewest, most), count| {
        (fewest.min(count), most.max(count))
    });
    (fewest.min(most), most)
}
