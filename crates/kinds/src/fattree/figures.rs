//! A fat tree in figures.

use isthmus_machine::fattree::Machine;
use isthmus_topology::trees::Vertex;
use serde::Serialize;

/// A fat tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FatTreeSummary {
    /// What it is, in words: `4-ary 3-tree`.
    pub tree: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Switches of each level, the leaves first.
    pub switches: Vec<u32>,
    /// Links down of a switch of each level.
    pub links_down: Vec<u32>,
    /// Links up of a switch of each level; none at the top.
    pub links_up: Vec<u32>,
    /// Directed links.
    pub links: u32,
    /// Length of one cycle, what times are counted in.
    pub cycle_us: f64,
    /// Whether routing was proven free of deadlock, and how.
    pub deadlock: String,
}

/// The tree in figures.
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
