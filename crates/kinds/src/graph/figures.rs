//! Summary of a network of switches, for the results.

use isthmus_machine::graph::Machine;
use isthmus_machine::graph::spec::{Form, Routing, Shape};
use isthmus_machine::packets::routes::Routes;
use isthmus_topology::switches::{Shortest, UpDown};
use serde::Serialize;

/// Maximum number of nodes for which the results list the cables.
const NODES_LISTED_MAX: u32 = 4096;
/// Maximum number of links for which the results list the cables.
const LINKS_LISTED_MAX: u32 = 20_000;

/// Properties of a network of switches that results contain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphSummary {
    /// Name of the topology, such as `4 x 4 torus`.
    pub graph: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of switches.
    pub switches: u32,
    /// Number of directed links.
    pub links: u32,
    /// The two switches of each cable between switches; empty above 4096 nodes or 20,000 links.
    pub cables: Vec<(u32, u32)>,
    /// Names of the switches in the file; empty if the switches have only numbers or if cables are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// For each node, the number of the switch to which it is connected; empty if there are more than 4096 nodes.
    pub at: Vec<u32>,
    /// Text that describes how packets are routed.
    pub routing: String,
    /// Length of one simulation cycle in microseconds.
    pub cycle_us: f64,
    /// Sentence that says why the routing cannot deadlock.
    pub deadlock: String,
}

/// Return the properties of a network of switches that results contain.
pub(super) fn summary<W: Routes>(machine: &Machine<W>) -> GraphSummary {
    let wiring = machine.wiring();
    let nodes = wiring.node_count();
    let listed = nodes <= NODES_LISTED_MAX;
    let all = listed && wiring.link_count() <= LINKS_LISTED_MAX;
    let ends = |link: u32| (wiring.target(wiring.reverse(link)), wiring.target(link));
    let between = (0..wiring.link_count())
        .map(ends)
        .filter(|&(a, b)| nodes <= a && a < b);
    GraphSummary {
        graph: name(&machine.spec().shape),
        names: match &machine.spec().shape {
            Shape::Switches { form, .. } if all => names(form),
            _ => Vec::new(),
        },
        nodes,
        switches: wiring.switch_count(),
        links: wiring.link_count(),
        cables: match all {
            true => between.map(|(a, b)| (a - nodes, b - nodes)).collect(),
            false => Vec::new(),
        },
        at: match listed {
            true => (0..nodes)
                .map(|node| wiring.target(wiring.out_of(node).start) - nodes)
                .collect(),
            false => Vec::new(),
        },
        routing: routing(&machine.spec().shape).to_owned(),
        cycle_us: machine.network().tick_us(),
        deadlock: machine.deadlock().to_owned(),
    }
}

/// Return the names of the switches in the scenario file; empty if the switches have only numbers.
fn names(form: &Form) -> Vec<String> {
    match form {
        Form::Cables { names, .. } => (0..)
            .zip(names)
            .map(|(at, _)| form.shortened_name(at))
            .collect(),
        _ => Vec::new(),
    }
}

/// Return the name of the topology, such as `4 x 4 torus`.
fn name(shape: &Shape) -> String {
    match shape {
        Shape::Switches { form, .. } => form.to_string(),
        Shape::Dragonfly {
            nodes,
            routers,
            groups,
            ..
        } => {
            let counted =
                |count: u32, what| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let (groups, routers) = (counted(*groups, "group"), counted(*routers, "router"));
            format!(
                "dragonfly of {groups} of {routers} of {}",
                counted(*nodes, "node")
            )
        }
    }
}

/// Return a description of the routing of packets in a network of this shape, as words of a sentence.
fn routing(shape: &Shape) -> &'static str {
    use isthmus_machine::graph::spec::DragonflyRouting;
    match shape {
        Shape::Switches { routing, .. } => match routing {
            Routing::Minimal => Shortest::NAME,
            Routing::UpDown => UpDown::NAME,
            Routing::Table(_) => "as a table lists them",
        },
        Shape::Dragonfly { routing, .. } => match routing {
            DragonflyRouting::Minimal => "over a link between the two groups",
            DragonflyRouting::Valiant => "by a third group, drawn by lot",
            DragonflyRouting::Ugal => "by a third group where queues promise that it is faster",
        },
    }
}
