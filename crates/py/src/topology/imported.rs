//! Networks of any shape, from a file.

use super::deadlock::{Alternative, Deadlock, NUMBERED, UP_DOWN};
use super::{Answer, IoNetwork, Kind, Question};
use crate::faults;
use crate::graph::GraphQuestion;
use crate::place::Choice;
use crate::question::Refusal;
use isthmus_topology::deadlock::DependencyCycle;
use isthmus_topology::graph::{Channels, ShortestPaths, UpDown};
use isthmus_topology::{Graph, distance};

/// Elementary steps of walking a graph from every node up to which it is done, once for distances and
/// once for each routing: about four seconds in all.
const STEPS_MAX: u64 = 1 << 29;

pub(super) fn describe(question: Question) -> Result<Answer, Refusal> {
    if question.dimension.is_some() {
        let problem = "only \"kind\": \"hypercube\" has it; leave it out";
        return Err(Refusal::at("dimension", problem));
    }
    if !question.faults.is_none() {
        let problem = "only hypercubes have them; leave what has failed out of the graph";
        return Err(Refusal::at("faults", problem));
    }
    let (Some(format), Some(text)) = (question.format, question.text) else {
        let problem = "missing; a graph needs its format (graphml or edge-list) and its text";
        let field = question.format.map_or("format", |_| "text");
        return Err(Refusal::at(field, problem));
    };
    let file = question.file;
    let graph = GraphQuestion { format, text, file }.read("")?;
    let choice = Choice::of_graph(question.placement, "placement.")?;
    let placement = choice.on_graph(&graph)?.placement;
    let io = match question.io_network.unwrap_or(false) {
        true => super::whole_io_network(faults::io_cube(&placement)),
        false => IoNetwork::NONE,
    };
    let nodes = 0..graph.node_count();
    let walks = distance::walk_steps(graph.node_count(), graph.edge_count()) <= STEPS_MAX;
    let distances = match walks {
        true => distance::histogram(&graph, nodes.clone()),
        false => Vec::new(),
    };
    let (_, unreachable) = distance::largest_part(&graph, nodes);
    let edges = match graph.node_count() <= crate::LISTED_MAX {
        true => graph.edges().map(|(from, to, _)| (from, to)).collect(),
        false => Vec::new(),
    };
    let coverage = placement.coverage();
    Ok(Answer {
        kind: Kind::Graph,
        nodes: graph.node_count(),
        links: graph.edge_count(),
        dimension: None,
        diameter: super::diameter(&distances),
        connected: unreachable.is_empty(),
        names: Some(graph.nodes().map(|node| node.name.clone()).collect()),
        edges,
        io_nodes: placement.io_nodes().to_vec(),
        servers: super::servers(&placement),
        io_edges: io.edges,
        coverage: coverage.distance_histogram().to_vec(),
        pes_per_io_node: coverage.served_range(),
        distances,
        io_distances: io.distances,
        deadlock: deadlock(&graph, walks),
        broadcast: None,
        io_broadcast: io.broadcast,
        faults: Vec::new(),
        unreachable,
    })
}

fn deadlock(graph: &Graph, walks: bool) -> Deadlock {
    let channels = Channels::new(graph);
    let up_down = "up*/down* from the lowest node, shortest allowed paths";
    if !walks {
        // Shortest paths cannot be judged without walking them all; this one needs no walk.
        return Deadlock {
            free: true,
            routing: up_down.to_owned(),
            channels: channels.count(),
            dependencies: None,
            proof: UP_DOWN.to_owned(),
            cycle: Vec::new(),
            alternative: None,
        };
    }
    let dependencies = ShortestPaths::new(graph).dependencies();
    let cycle = dependencies.check().err();
    let alternative = cycle.is_some().then(|| {
        let found = UpDown::new(graph).walk();
        let free = found.dependencies.check().is_ok();
        Alternative {
            routing: up_down.to_owned(),
            free,
            dependencies: found.dependencies.len() as u64,
            proof: if free { NUMBERED } else { "" }.to_owned(),
            hops: found.hops,
        }
    });
    Deadlock {
        free: cycle.is_none(),
        routing: "shortest paths, of equal ones over the lowest next node".to_owned(),
        channels: channels.count(),
        dependencies: Some(dependencies.len() as u64),
        proof: if cycle.is_none() { NUMBERED } else { "" }.to_owned(),
        cycle: cycle
            .map(|cycle| names(&channels, &cycle))
            .unwrap_or_default(),
        alternative,
    }
}

/// The channels of a cycle by the names of their ends.
fn names(channels: &Channels<'_>, cycle: &DependencyCycle) -> Vec<String> {
    let name = |node| &channels.graph().node(node).name;
    let text = |&channel: &usize| {
        let (from, to) = channels.ends(channel);
        format!("{} to {}", name(from), name(to))
    };
    cycle.channels.iter().map(text).collect()
}
