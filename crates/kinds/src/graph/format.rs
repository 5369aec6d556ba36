//! Format of scenario files of networks of switches: their tables, and the conversion of these to a machine and a
//! workload.

use super::table::{GraphTable, MachineTable, NODES_MAX, RoutingTable, SWITCHES_MAX, Switches};
use super::{Graph, no_effect};
use crate::packets;
use isthmus_machine::graph::spec::{Form, GraphSpec, Nodes, Routes, Routing, Shape};
use isthmus_machine::packets::spec::Adaptive;
use isthmus_scenario::format::Default::{Required, Value};
use isthmus_scenario::format::{Describe, Field, Format, Problem, Rows, Settings, Tables, Watch};
use isthmus_topology::switches::{ListError, Listed, listed};
use isthmus_units::Time;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::sync::Arc;

impl Format for Graph {
    /// Value of `machine.kind` in scenario files of this kind.
    const NAME: &'static str = "graph";
    /// Description of the tables of a scenario file of this kind.
    const TABLES: Tables = packets::tables(fields, Some(&packets::OF_GRAPHS));
    /// Type that describes a machine of this kind, a network of switches, in a scenario.
    type Machine = GraphSpec;
    /// Type that describes the workload: the jobs that run on the machine.
    type Work = JobsTraffic;

    /// Read the description of a network of switches from `[machine]` of a scenario file and check it.
    fn machine(settings: &Settings) -> Result<GraphSpec, Problem> {
        let MachineTable {
            graph,
            delay,
            network,
        } = MachineTable::read(settings, "machine");
        let each = |form: Form, at: Switches| {
            let nodes = Nodes::Each(at.nodes_per_switch);
            switches(settings, form, nodes, at.routing, delay)
        };
        let shape = match graph {
            GraphTable::Ring { switches, at } => each(Form::Ring { switches }, at)?,
            GraphTable::Torus(grid) => {
                if grid.size.contains(&1) {
                    return Err(settings.problem(
                        "machine.size",
                        "a ring of one switch",
                        "give 2 or more in each dimension, or set machine.graph = \"mesh\"",
                    ));
                }
                each(Form::Torus { sizes: grid.size }, grid.at)?
            }
            GraphTable::Mesh(grid) => each(Form::Mesh { sizes: grid.size }, grid.at)?,
            GraphTable::Cables { cables, at } => {
                each(Form::of_cables(checked_cables(settings, cables)?), at)?
            }
            GraphTable::Edges {
                edges,
                leaves,
                ignored,
                at,
            } => {
                let found = listed(&edges, leaves, &ignored);
                let (form, nodes) = switches_of_list(settings, found, at.nodes_per_switch)?;
                switches(settings, form, nodes, at.routing, delay)?
            }
            GraphTable::Dragonfly {
                nodes,
                routers,
                groups,
                global_links,
                global_delay,
                group_routing,
            } => Shape::Dragonfly {
                nodes,
                routers,
                groups,
                links: global_links,
                routing: group_routing,
                delay,
                global_delay,
            },
        };
        match shape.node_count() {
            Some(2..=NODES_MAX) => {}
            count => {
                let count = count.map_or("2^32 or more".to_owned(), |count| count.to_string());
                let hint = format!("give 2 to {NODES_MAX} nodes in all");
                return Err(settings.problem("machine.graph", format!("{count} nodes"), hint));
            }
        }
        let network = packets::network(settings, network, Adaptive::default())?;
        Ok(GraphSpec { shape, network })
    }

    /// Read the workload from `[workload]` of a scenario file and check it against the machine.
    fn work(settings: &Settings, machine: &GraphSpec) -> Result<JobsTraffic, Problem> {
        let nodes = machine.shape.node_count().unwrap_or(0);
        packets::jobs(settings, &machine.network, nodes)
    }

    /// Report to `watch` the fields of the scenario file that have no effect.
    fn watch(watch: &mut Watch<'_>, machine: &GraphSpec, work: &JobsTraffic) {
        let nodes = machine.shape.node_count().unwrap_or(0);
        no_effect::watch(watch, &machine.shape);
        packets::watch(watch, &machine.network, work, nodes);
    }

    /// Return the fields whose values follow from other fields, each with its value as text.
    fn derived(machine: &GraphSpec) -> Vec<(&'static str, String)> {
        packets::derived(&machine.network)
    }
}

/// Adapt a field of packet networks to networks of switches: the age of packets has no limit by default, unlike in
/// the QsNET.
fn adapt_field(row: Field) -> Field {
    match &*row.key {
        "machine.age" => row.by_default(Value("\"unlimited\"")),
        "machine.age_limit" => row
            .by_default(Required)
            .meaning("Age beyond which all packets are equally old")
            .such_as("\"78 us\""),
        _ => row,
    }
}

/// Return the fields of `[machine]`. The preset comes first: its values replace the defaults of the other fields.
fn fields() -> Vec<Field> {
    let rows = Rows::of::<MachineTable>("machine").into_iter();
    [packets::preset()]
        .into_iter()
        .chain(rows.map(adapt_field))
        .collect()
}

/// Build a network of switches of any form except a dragonfly, with the routes that the scenario file selects.
fn switches(
    settings: &Settings,
    form: Form,
    nodes: Nodes,
    routing: RoutingTable,
    delay: Time,
) -> Result<Shape, Problem> {
    let routing = match routing {
        RoutingTable::Minimal => Routing::Minimal,
        RoutingTable::UpDown => Routing::UpDown,
        RoutingTable::Table { routes } => {
            let found = Routes::read(&routes, &form).map_err(|error| {
                let problem = settings.problem("machine.routes", error.to_string(), error.hint());
                at_line(problem, error.line())
            });
            Routing::Table(Arc::new(found?))
        }
    };
    Ok(Shape::Switches {
        form,
        nodes,
        routing,
        delay,
    })
}

/// Add to a problem the number of the wrong line in a scenario value of several lines.
fn at_line(problem: Problem, line: Option<usize>) -> Problem {
    match line {
        Some(line) => problem.below(line as u32),
        None => problem,
    }
}

/// Return the network of switches, and the nodes at the switches, that a list of edges describes.
fn switches_of_list(
    settings: &Settings,
    found: Result<Listed, ListError>,
    each: u32,
) -> Result<(Form, Nodes), Problem> {
    let key = "machine.edges";
    let found = found.map_err(|error| {
        let key = match error {
            ListError::Ignored { .. } => "machine.ignored",
            _ => key,
        };
        let problem = settings.problem(key, error.to_string(), error.hint());
        at_line(problem, error.line())
    })?;
    let switches = found.form.switch_count();
    if switches > SWITCHES_MAX {
        let problem = format!("{switches} switches are more than a table of routes holds");
        return Err(settings.problem(key, problem, format!("give {SWITCHES_MAX} at most")));
    }
    match found.nodes {
        None => Ok((found.form, Nodes::Each(each))),
        Some(_) if settings.given("machine.nodes_per_switch").is_some() => {
            let problem = "it has no effect where machine.edges has nodes";
            Err(settings.problem("machine.nodes_per_switch", problem, "remove it"))
        }
        Some(nodes) => Ok((found.form, nodes)),
    }
}

/// Check that each cable joins two switches whose numbers fit into a table of routes.
fn checked_cables(
    settings: &Settings,
    cables: Vec<(u32, u32)>,
) -> Result<Vec<(u32, u32)>, Problem> {
    let key = "machine.cables";
    if cables.is_empty() {
        return Err(settings.problem(key, "no cable at all", "join two switches or more"));
    }
    if let Some((switch, _)) = cables.iter().find(|(a, b)| a == b) {
        let problem = format!("a cable from switch {switch} to itself");
        return Err(settings.problem(key, problem, "join two different switches"));
    }
    let far = cables.iter().flat_map(|&(a, b)| [a, b]).max();
    match far.filter(|&far| far >= SWITCHES_MAX) {
        None => Ok(cables),
        Some(far) => Err(settings.problem(
            key,
            format!("switch {far} is beyond what a table of routes holds"),
            format!("give 0 to {}", SWITCHES_MAX - 1),
        )),
    }
}
