//! Describes a hypercube with its I/O nodes, their network and its faults.

use super::deadlock::{self, CubeNetwork};
use super::{Answer, Broadcast, IoNetwork, Kind, Question};
use crate::faults::{self, FaultsQuestion};
use crate::place::Choice;
use crate::question::{Link, Refusal};
use isthmus_machine::hypercube::spec::{HypercubeSpec, PlacementSpec};
use isthmus_machine::hypercube::{Machine, MachineError};
use isthmus_topology::{CubeFaults, Hypercube, Placement, distance};

/// Compute the answer to a request about a hypercube.
pub(super) fn describe(question: Question) -> Result<Answer, Refusal> {
    let given = [
        ("format", question.format.is_some()),
        ("text", question.text.is_some()),
        ("file", question.file.is_some()),
    ];
    if let Some((field, _)) = given.into_iter().find(|&(_, given)| given) {
        let problem = "only \"kind\": \"graph\" has it; leave it out";
        return Err(Refusal::at(field, problem));
    }
    let dimension = question
        .dimension
        .ok_or_else(|| Refusal::at("dimension", "missing; a hypercube has 1 to 20 dimensions"))?;
    let cube = Hypercube::new(dimension.0).map_err(|e| Refusal::at("dimension", e))?;
    let choice = Choice::of_cube(question.placement, "placement.")?;
    let placement = choice.on_cube(cube)?.placement;
    let io_network = question.io_network.unwrap_or(true);
    if !io_network && !question.faults.io_links.is_empty() {
        let problem = "there is no I/O network (io_network is false) whose links could fail";
        return Err(Refusal::at("faults.io_links", problem));
    }

    let pe_faults = question.faults.pe_network(cube)?;
    let silent = question.faults.silent_io_nodes(cube, &placement)?;
    let io_cube = faults::io_cube(&placement);
    // Pass no failed I/O routers: the I/O router of a failed I/O node still works.
    let io_links = question.faults.io_network(io_cube, &[])?;
    let io_nodes = question.faults.io_network(io_cube, &silent)?;
    let serving = match question.faults.is_none() {
        true => None,
        false => Some(Serving::new(cube, choice.spec()?, &question.faults)?),
    };

    let distances = super::distances(&pe_faults);
    let links = pe_faults.working_links().count();
    let network = |name, faults, distances: &[u64]| CubeNetwork {
        name,
        faults,
        channels: 2 * faults.working_links().count(),
        pairs_at_two: distances.get(2).copied().unwrap_or(0),
    };
    let io = match io_network {
        true => IoNetwork::new(&io_links, &io_nodes),
        false => IoNetwork::NONE,
    };
    let mut networks = vec![network("PE", &pe_faults, &distances)];
    if io_network {
        networks.push(network("I/O", &io_links, &io.distances));
    }
    let (_, unreachable) = distance::largest_part(&pe_faults, pe_faults.working_nodes());
    let faults_text = faulted(&question.faults, &placement, serving.as_ref());
    let serving = serving.and_then(|serving| serving.by_pe);
    let loads = io_node_loads(cube, &placement, serving.as_deref(), &pe_faults);
    Ok(Answer {
        kind: Kind::Hypercube,
        nodes: cube.node_count(),
        links,
        dimension: Some(cube.dimension()),
        diameter: super::diameter(&distances),
        connected: unreachable.is_empty(),
        names: None,
        edges: super::edges(&pe_faults),
        io_nodes: placement.io_nodes().to_vec(),
        servers: match serving {
            Some(servers) if cube.node_count() <= crate::LISTED_MAX => servers,
            _ => super::servers(&placement),
        },
        io_edges: io.edges,
        coverage: loads.0,
        pes_per_io_node: loads.1,
        deadlock: deadlock::of_cubes(&networks),
        distances,
        io_distances: io.distances,
        broadcast: Broadcast::over(&pe_faults),
        io_broadcast: io.broadcast,
        faults: faults_text,
        unreachable,
    })
}

/// The assignment of PEs to the I/O nodes that serve them, when parts have failed.
struct Serving {
    /// The I/O node that serves each PE, `None` for a failed PE; the outer `None` means that the
    /// machine cannot run.
    by_pe: Option<Vec<Option<u32>>>,
    /// The I/O node that replaces each I/O node; the same one if it works.
    by_io_node: Vec<u32>,
    /// The reason for which the machine cannot run, if it cannot.
    problem: Option<MachineError>,
}

impl Serving {
    /// Assign each PE to a working I/O node, which serves it.
    fn new(
        cube: Hypercube,
        placement: PlacementSpec,
        faults: &FaultsQuestion,
    ) -> Result<Self, Refusal> {
        let mut spec = HypercubeSpec::paper(cube.dimension(), 1);
        spec.placement = placement;
        spec.faults = faults.spec();
        match Machine::new(&spec) {
            Ok(machine) => {
                let io_nodes = 0..machine.placement().io_node_count();
                Ok(Self {
                    by_pe: Some(cube.nodes().map(|pe| machine.serves(pe)).collect()),
                    by_io_node: io_nodes
                        .map(|io_node| machine.serving_io_node(io_node))
                        .collect(),
                    problem: None,
                })
            }
            Err(problem @ MachineError::Disconnected { .. }) => Ok(Self {
                by_pe: None,
                by_io_node: Vec::new(),
                problem: Some(problem),
            }),
            Err(error) => Err(Refusal::at("faults", error)),
        }
    }
}

/// Return the number of working PEs by distance from the PE of their I/O node, and the smallest and
/// largest number of PEs that a working I/O node serves.
fn io_node_loads(
    cube: Hypercube,
    placement: &Placement,
    serving: Option<&[Option<u32>]>,
    faults: &CubeFaults,
) -> (Vec<u32>, (u32, u32)) {
    let Some(servers) = serving else {
        let coverage = placement.coverage();
        return (
            coverage.distance_histogram().to_vec(),
            coverage.served_range(),
        );
    };
    let mut by_distance = Vec::new();
    let mut served = vec![0; placement.io_node_count() as usize];
    for pe in faults.working_nodes() {
        let Some(server) = servers[pe as usize] else {
            continue;
        };
        let server = server as usize;
        let hops = cube.distance(pe, placement.io_nodes()[server]) as usize;
        if by_distance.len() <= hops {
            by_distance.resize(hops + 1, 0);
        }
        by_distance[hops] += 1;
        served[server] += 1;
    }
    let working = served.iter().copied().filter(|&pes| pes > 0);
    let range = (
        working.clone().min().unwrap_or(0),
        working.max().unwrap_or(0),
    );
    (by_distance, range)
}

/// Describe the faults of a hypercube, and their effect on its I/O nodes.
fn faulted(
    faults: &FaultsQuestion,
    placement: &Placement,
    serving: Option<&Serving>,
) -> Vec<String> {
    let heir = |io_node: u32| {
        let by_io_node = serving.map(|serving| &serving.by_io_node);
        let heir = by_io_node.and_then(|heirs| heirs.get(io_node as usize));
        heir.copied().filter(|&heir| heir != io_node)
    };
    let mut faults_text = Vec::new();
    for pe in &faults.pes {
        faults_text.push(match placement.io_node_at(pe.0) {
            None => format!("PE {} has failed, with its router", pe.0),
            Some(io_node) => format!(
                "PE {} has failed, with its router and I/O node {io_node}; each of the PEs that it \
                 served asks the one nearest to it{}",
                pe.0,
                heir(io_node)
                    .map(|heir| format!(", and its blocks are reached through I/O node {heir}"))
                    .unwrap_or_default()
            ),
        });
    }
    for io_node in &faults.io_nodes {
        let pe = placement.io_nodes()[io_node.0 as usize];
        let heir = heir(io_node.0)
            .map(|heir| format!("; I/O node {heir} does its work"))
            .unwrap_or_default();
        faults_text.push(format!("I/O node {} (PE {pe}) has failed{heir}", io_node.0));
    }
    for (network, links) in [("PE", &faults.links), ("I/O", &faults.io_links)] {
        for Link(from, to) in links {
            faults_text.push(format!("{network} link {from}-{to} has failed"));
        }
    }
    if let Some(problem) = serving.and_then(|serving| serving.problem.as_ref()) {
        faults_text.push(format!("the machine cannot run: {problem}"));
    }
    faults_text
}
