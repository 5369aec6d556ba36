//! Plans of broadcasts.

use crate::faults::{self, FaultsQuestion};
use crate::place::{Choice, PlacementQuestion};
use crate::question::{Refusal, Whole, answer};
use isthmus_topology::{BroadcastTree, Hypercube, IncompleteHypercube};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Network {
    #[default]
    Pe,
    Io,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    dimension: Whole,
    #[serde(default)]
    network: Network,
    root: Option<Whole>,
    #[serde(default)]
    placement: Option<PlacementQuestion>,
    #[serde(default)]
    faults: FaultsQuestion,
}

#[derive(Serialize)]
struct Answer {
    network: Network,
    root: u32,
    nodes: u32,
    reached: u32,
    steps: u32,
    lower_bound: u32,
    reached_by_step: Vec<u32>,
    sends: Vec<(u32, u32, u32)>,
    unreached: Vec<u32>,
}

/// Plans a broadcast over the PE network or the I/O network.
#[pyfunction]
pub(crate) fn broadcast(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question, _| plan(question))
}

fn plan(question: Question) -> Result<Answer, Refusal> {
    let cube = Hypercube::new(question.dimension.0).map_err(|e| Refusal::at("dimension", e))?;
    let faults = match question.network {
        Network::Pe => {
            if question.placement.is_some() {
                let problem = "only a broadcast over \"network\": \"io\" needs it; leave it out";
                return Err(Refusal::at("placement", problem));
            }
            question.faults.pe_network(cube)?
        }
        Network::Io => {
            let choice = Choice::of_cube(question.placement.unwrap_or_default(), "placement.")?;
            let placement = choice.on_cube(cube)?.placement;
            let io_cube = faults::io_cube(&placement);
            let silent = question.faults.silent_io_nodes(cube, &placement)?;
            question.faults.io_network(io_cube, &silent)?
        }
    };
    let root = match question.root {
        Some(root) => root.0,
        None => {
            let first = faults.working_nodes().next();
            first.ok_or_else(|| Refusal::at("faults", "all nodes have failed"))?
        }
    };
    let tree = BroadcastTree::new(&faults, root).map_err(|e| Refusal::at("root", e))?;
    Ok(Answer {
        network: question.network,
        root,
        nodes: faults.working_nodes().count() as u32,
        reached: tree.reached_count(),
        steps: tree.step_count(),
        lower_bound: tree.lower_bound(),
        reached_by_step: tree.reached_by_step(),
        sends: sends(faults.cube(), &tree),
        unreached: faults
            .working_nodes()
            .filter(|&node| tree.step(node).is_none())
            .collect(),
    })
}

/// (step, from, to), ascending; empty in large networks.
fn sends(cube: IncompleteHypercube, tree: &BroadcastTree) -> Vec<(u32, u32, u32)> {
    if cube.node_count() > crate::LISTED_MAX {
        return Vec::new();
    }
    let send = |to| Some((tree.step(to)?, tree.parent(to)?, to));
    let mut sends: Vec<_> = cube.nodes().filter_map(send).collect();
    sends.sort_unstable();
    sends
}
