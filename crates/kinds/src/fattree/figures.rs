//! Summary of a fat tree, for the results.

use isthmus_machine::fattree::Machine;
use isthmus_topology::trees::Vertex;
use serde::Serialize;

/// The part of a result that describes the fat tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FatTreeSummary {
    /// Name of the tree, such as `4-ary 3-tree`.
    pub tree: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of switches of each level, the leaves first.
    pub switches: Vec<u32>,
    /// Number of links down from a switch, for each level.
    pub links_down: Vec<u32>,
    /// Number of links up from a switch, for each level; 0 at the top.
    pub links_up: Vec<u32>,
    /// Number of directed links.
    pub links: u32,
    /// Length of one simulation cycle in microseconds.
    pub cycle_us: f64,
    /// Result of the deadlock check of the routing, in words.
    pub deadlock: String,
}

/// Return the properties of a fat tree that results contain.
pub(super) fn summary(machine: &Machine) -> FatTreeSummary {
    let tree = machine.tree();
    let levels = 1..=tree.level_count();
    let first = |level: u32| Vertex::Switch(tree.switches_of(level).start);
    FatTreeSummary {
        tree: tree.name(),
        nodes: tree.node_count(),
        switches: levels
            .clone()
            .map(|level| tree.switches_of(level).len() as u32)
            .collect(),
        links_down: levels
            .clone()
            .map(|level| tree.all_descents(first(level)).len() as u32)
            .collect(),
        links_up: levels
            .map(|level| tree.ascents(first(level)).len() as u32)
            .collect(),
        links: tree.link_count(),
        cycle_us: machine.network().tick_us(),
        deadlock: match tree.check_deadlock() {
            Ok(_) => "free of deadlock: link numbers rise along every route".to_owned(),
            Err(cycle) => cycle.to_string(),
        },
    }
}
