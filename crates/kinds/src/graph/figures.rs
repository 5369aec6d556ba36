//! A network of switches in figures.

use isthmus_machine::graph::Machine;
use isthmus_machine::graph::spec::{Form, Routing, Shape};
use isthmus_machine::packets::ways::Ways;
use isthmus_topology::switches::{Shortest, UpDown};
use serde::Serialize;

/// Most nodes of which cables are listed.
const NODES_LISTED_MAX: u32 = 4096;
/// Most links of which the cables are.
const LINKS_LISTED_MAX: u32 = 20_000;

/// A network of switches.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphSummary {
    /// What it is, in words: `4 x 4 torus`.
    pub graph: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of switches.
    pub switches: u32,
    /// Directed links.
    pub links: u32,
    /// The two switches of each cable between switches; empty above 4096 nodes or 20,000 links.
    pub cables: Vec<(u32, u32)>,
    /// What the file calls its switches; empty where they have numbers, and where cables are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The switch of each node; empty above 4096 nodes.
    pub at: Vec<u32>,
    /// Which ways packets take, in words.
    pub routing: String,
    /// Length of one cycle, what times are counted in.
    pub cycle_us: f64,
    /// Why routing is free of deadlock.
    pub deadlock: String,
}

/// The network in figures.
pub(super) fn summary<W: Ways>(machine: &Machine<W>) -> GraphSummary {
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

/// What a list calls its switches.
fn names(form: &Form) -> Vec<String> {
    match form {
        Form::Cables { names, .. } => (0..)
            .zip(names)
            .map(|(at, _)| form.shortened_name(at))
            .collect(),
        _ => Vec::new(),
    }
}

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
            DragonflyRouting::Ugal => "by a third group where queues promise that it is quicker",
        },
    }
}
