//! Describes the networks of a machine: their nodes, links, distances and faults.

mod deadlock;
mod hypercube;
mod imported;

use crate::faults::FaultsQuestion;
use crate::graph::Format;
use crate::place::PlacementQuestion;
use crate::question::{Whole, answer};
use deadlock::Deadlock;
use isthmus_topology::{BroadcastTree, CubeFaults, IncompleteHypercube, Placement, distance};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

/// Maximum number of elementary steps to search a hypercube with faults from every node: about two
/// seconds.
const STEPS_MAX: u64 = 1 << 30;

/// A kind of network that a request may describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Hypercube,
    Graph,
}

/// The request about the networks of a machine, in JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    kind: Kind,
    dimension: Option<Whole>,
    format: Option<Format>,
    text: Option<String>,
    file: Option<String>,
    io_network: Option<bool>,
    #[serde(default)]
    placement: PlacementQuestion,
    #[serde(default)]
    faults: FaultsQuestion,
}

/// The answer to a request about the networks of a machine, sent to Python as JSON.
#[derive(Serialize)]
struct Answer {
    kind: Kind,
    nodes: u32,
    links: usize,
    dimension: Option<u32>,
    diameter: Option<usize>,
    connected: bool,
    names: Option<Vec<String>>,
    edges: Vec<(u32, u32)>,
    io_nodes: Vec<u32>,
    servers: Vec<Option<u32>>,
    io_edges: Vec<(u32, u32)>,
    coverage: Vec<u32>,
    pes_per_io_node: (u32, u32),
    distances: Vec<u64>,
    io_distances: Vec<u64>,
    deadlock: Deadlock,
    broadcast: Option<Broadcast>,
    io_broadcast: Option<Broadcast>,
    faults: Vec<String>,
    unreachable: Vec<u32>,
}

/// A broadcast in a network: its number of steps, the minimum of that number, and its root, in
/// JSON.
#[derive(Serialize)]
struct Broadcast {
    steps: u32,
    lower_bound: u32,
    root: u32,
}

impl Broadcast {
    /// Compute the broadcast from the lowest working node of the network's largest component;
    /// return `None` if no node works.
    fn over(faults: &CubeFaults) -> Option<Self> {
        let (part, _) = distance::largest_part(faults, faults.working_nodes());
        let tree = BroadcastTree::new(faults, *part.first()?).ok()?;
        Some(Self {
            steps: tree.step_count(),
            lower_bound: tree.lower_bound(),
            root: tree.root(),
        })
    }
}

/// The network among the I/O nodes of a placement; it has size zero if there is none.
struct IoNetwork {
    edges: Vec<(u32, u32)>,
    distances: Vec<u64>,
    broadcast: Option<Broadcast>,
}

impl IoNetwork {
    /// The empty network of a machine whose I/O nodes are not connected with each other.
    const NONE: Self = Self {
        edges: Vec::new(),
        distances: Vec::new(),
        broadcast: None,
    };

    /// Create the network from its working `links`. In `nodes`, nodes that do not forward a
    /// broadcast count as failed.
    fn new(links: &CubeFaults, nodes: &CubeFaults) -> Self {
        Self {
            edges: edges(links),
            distances: distances(links),
            broadcast: Broadcast::over(nodes),
        }
    }
}

/// Describe a machine's networks, and return the description as JSON.
#[pyfunction]
pub(crate) fn topology(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question: Question, _| match question.kind {
        Kind::Hypercube => hypercube::describe(question),
        Kind::Graph => imported::describe(question),
    })
}

/// Return the working links of a hypercube as pairs of nodes, the lower one first; empty for large
/// hypercubes.
fn edges(faults: &CubeFaults) -> Vec<(u32, u32)> {
    if faults.cube().node_count() > crate::LISTED_MAX {
        return Vec::new();
    }
    faults.working_links().collect()
}

/// Return the number of ordered pairs of working nodes, by the number of hops between them; empty
/// if a hypercube with faults is too large to search.
fn distances(faults: &CubeFaults) -> Vec<u64> {
    let cube = faults.cube();
    if faults.is_none() {
        cube.distance_histogram()
    } else if distance::walk_steps(cube.node_count(), faults.working_links().count()) <= STEPS_MAX {
        distance::histogram(faults, faults.working_nodes())
    } else {
        Vec::new()
    }
}

/// Return the longest distance in a histogram of distances.
fn diameter(distances: &[u64]) -> Option<usize> {
    distances.len().checked_sub(1)
}

/// Return the I/O node that serves each PE; an empty list if there are too many PEs.
fn servers(placement: &Placement) -> Vec<Option<u32>> {
    if placement.pe_count() > crate::LISTED_MAX {
        return Vec::new();
    }
    placement.servers().iter().copied().map(Some).collect()
}

/// Describe the network among the I/O nodes of a graph, which is a hypercube without faults.
fn whole_io_network(cube: IncompleteHypercube) -> IoNetwork {
    let none = CubeFaults::none(cube);
    IoNetwork::new(&none, &none)
}
