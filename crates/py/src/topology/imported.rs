//! Describes networks of any shape, which are read from a file.

use super::deadlock::{Alternative, Deadlock};
use super::{Answer, IoNetwork, Kind, Question};
use crate::faults;
use crate::graph::GraphRequest;
use crate::place::Choice;
use crate::question::Refusal;
use isthmus_kinds::graph::SWITCHES_MAX;
use isthmus_topology::switches::{Form, Shortest, UpDown};
use isthmus_topology::{Graph, distance};

/// Maximum number of elementary steps to search a graph from every node, for distances and for each
/// routing.
const STEPS_MAX: u64 = 1 << 29;

/// Return the description of an imported network for a request, or the reason to refuse the
/// request.
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
    let graph = GraphRequest { format, text, file }.read("")?;
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

/// Check all connected components of a graph for deadlock, with the routes of a network of switches
/// that has a node at each switch.
fn deadlock(graph: &Graph, walks: bool) -> Deadlock {
    let neighbors = (0..graph.node_count()).map(|node| graph.neighbors(node).len());
    let up_down = format!("up*/down*: {}", UpDown::NAME);
    let mut found = Deadlock {
        free: true,
        routing: up_down.clone(),
        channels: neighbors.sum(),
        dependencies: None,
        layers: Some(1),
        proof: UpDown::REASON.to_owned(),
        cycle: Vec::new(),
        alternative: None,
    };
    if !walks || graph.node_count() > SWITCHES_MAX {
        // The construction of these routes excludes deadlock, so return them without a check.
        return found;
    }
    let parts = Form::of_parts(graph);
    found.routing = Shortest::NAME.to_owned();
    found.layers = None;
    for part in &parts {
        let routes = Shortest::new(part, &part.wiring(1)).expect("a part is joined");
        let layers = routes.layers(u32::MAX);
        if found.layers < Some(layers.count) {
            found.layers = Some(layers.count);
            found.proof = layers.reason().to_owned();
            found.cycle = circle(part, &layers.circle);
        }
    }
    found.alternative = (found.layers > Some(1)).then(|| Alternative {
        routing: up_down,
        free: true,
        proof: UpDown::REASON.to_owned(),
        hops: hops(&parts),
    });
    found
}

/// Return the number of ordered pairs of nodes, by the number of hops of their up*/down* route.
fn hops(parts: &[Form]) -> Vec<u64> {
    let mut pairs: Vec<u64> = Vec::new();
    for part in parts {
        let routes = UpDown::new(part, &part.wiring(1)).expect("a part is joined");
        pairs.resize(pairs.len().max(routes.hops().len()), 0);
        for (all, part) in pairs.iter_mut().zip(routes.hops()) {
            *all += part;
        }
    }
    pairs
}

/// Return the names of the channels between the switches of a cycle, by their ends.
fn circle(part: &Form, switches: &[u32]) -> Vec<String> {
    let next = switches.iter().cycle().skip(1);
    let ends = switches.iter().zip(next);
    ends.map(|(&from, &to)| format!("{} to {}", part.name(from), part.name(to)))
        .collect()
}
