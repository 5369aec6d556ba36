//! Error messages for jobs that do not fit on the machine.

use isthmus_scenario::format::{Problem, Settings};
use isthmus_workload::jobs::LayoutError;
use isthmus_workload::jobs::spec::{JobsTraffic, Servers};

/// Convert a layout error to a problem of the field that causes the error.
pub(super) fn misfit(settings: &Settings, traffic: &JobsTraffic, error: &LayoutError) -> Problem {
    let name = error
        .job()
        .map_or("", |job| traffic.jobs[job].name.as_str());
    let key = |field: &str| format!("workload.jobs.{name}.{field}");
    let problem = error.to_string();
    let missing = |node: u32| format!("node {node} does not exist");
    let range = |nodes: u32| format!("there are nodes 0 to {}", nodes - 1);
    let shared = "or set workload.mapping = \"shared\"";
    let (key, problem, hint) = match *error {
        LayoutError::ServerOutside { node, nodes }
            if matches!(traffic.servers, Servers::Listed(_)) =>
        {
            let key = "workload.servers.nodes".to_owned();
            (key, missing(node), range(nodes))
        }
        LayoutError::ServerOutside { node, .. } => (
            "workload.servers.count".to_owned(),
            format!("the servers go beyond the last node: {}", missing(node)),
            "give fewer servers, a smaller stride or a smaller offset".to_owned(),
        ),
        LayoutError::ServerCount { nodes, .. } => (
            "workload.servers.count".to_owned(),
            problem,
            format!("give 1 to {nodes}"),
        ),
        LayoutError::NoStride => (
            "workload.servers.stride".to_owned(),
            problem,
            "give 1 or more".to_owned(),
        ),
        LayoutError::ServerTwice { .. } => (
            "workload.servers.nodes".to_owned(),
            problem,
            "list it once".to_owned(),
        ),
        LayoutError::NodeOutside { node, nodes, .. } => (key("nodes"), missing(node), range(nodes)),
        LayoutError::NodeTwice { .. } => (key("nodes"), problem, "list it once".to_owned()),
        LayoutError::OnServer { node, .. } => (
            key("nodes"),
            format!("node {node} is an I/O server, which workload.mapping keeps free of jobs"),
            format!("list other nodes, {shared}"),
        ),
        LayoutError::Overlap { first, node, .. } => (
            key("nodes"),
            format!(
                "node {node} belongs to {} already, and workload.mapping keeps jobs apart",
                traffic.jobs[first].name
            ),
            format!("give each job nodes of its own, such as \"part 1 of 2\", {shared}"),
        ),
        LayoutError::NoPart { .. } => (key("nodes"), problem, "name another part".to_owned()),
        LayoutError::TooFewNodes { nodes, needed, .. } => {
            let word = settings.text(&key("traffic"));
            let nodes = match nodes {
                0 => "no node that can send".to_owned(),
                1 => "1 node".to_owned(),
                nodes => format!("{nodes} nodes"),
            };
            (
                key("nodes"),
                format!("{nodes}, but traffic = \"{word}\" needs {needed}"),
                format!("give {needed} or more"),
            )
        }
        LayoutError::NoServers { .. } => (
            key("traffic"),
            "there are no I/O servers".to_owned(),
            "set workload.servers.placement and workload.servers.count".to_owned(),
        ),
        LayoutError::HotNodeOutside { node, nodes, .. } => {
            (key("hot_node"), missing(node), range(nodes))
        }
        LayoutError::Grid { nodes, .. } => (
            key("grid"),
            problem,
            format!("give a grid of {nodes} nodes, or none for one that fits"),
        ),
        LayoutError::ToItself { nodes, .. } => (
            key("offset"),
            problem,
            format!("give another number, such as {}", nodes / 2),
        ),
        LayoutError::RankOutside { nodes, .. } => (
            key("messages"),
            problem,
            format!(
                "give ranks 0 to {}, or the job more nodes",
                nodes.max(1) - 1
            ),
        ),
        LayoutError::NoSuchServer { servers, .. } => (
            key("messages"),
            problem,
            match servers {
                0 => "set workload.servers.placement and workload.servers.count".to_owned(),
                _ => format!("give servers 0 to {}", servers - 1),
            },
        ),
        LayoutError::ToOwnNode { .. } => (
            key("messages"),
            problem,
            "leave out what stays where it is".to_owned(),
        ),
        LayoutError::OddNodes { .. } => (
            key("nodes"),
            problem,
            "give an even number of nodes".to_owned(),
        ),
    };
    settings.problem(&key, problem, hint)
}
