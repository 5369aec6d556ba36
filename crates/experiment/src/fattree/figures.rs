//! A fat tree and the use of its links and nodes, in figures.

use crate::result::{ChannelUse, FatTreeSummary, NodeUse};
use crate::subject::{Counted, Overlay};
use isthmus_machine::fattree::Machine;
use isthmus_topology::trees::{LinkKind, Tree, Vertex};
use std::collections::BTreeMap;

/// Most links that are listed one by one.
const LINKS_LISTED_MAX: u32 = 20_000;
/// Most nodes that are listed one by one.
const NODES_LISTED_MAX: usize = 4096;

/// How busy the links were: the mean link of each kind and level, then each link.
pub(super) fn channels(
    counted: &[Counted],
    machine: &Machine,
    overlay: &Overlay,
) -> Vec<ChannelUse> {
    let tree = machine.tree();
    let share = |link: u32| -> f64 {
        let shares = counted
            .iter()
            .map(|counted| counted.counts.channels[link as usize] as f64 / counted.cycles as f64);
        shares.sum::<f64>() / counted.len() as f64
    };
    let mut kinds: BTreeMap<(u8, u32), (String, Vec<f64>)> = BTreeMap::new();
    let mut single = Vec::new();
    for number in 0..tree.link_count() {
        let (link, used) = (tree.link(number), share(number));
        let kind = link.to_string();
        let of_kind = kinds.entry((rank(link.kind), link.level)).or_default();
        of_kind.0.clone_from(&kind);
        of_kind.1.push(used);
        single.push(ChannelUse {
            kind,
            from: Some(vertex(tree, link.from)),
            to: Some(vertex(tree, link.to)),
            utilisation: used,
            highest: None,
            analytic: None,
        });
    }
    let mut uses: Vec<ChannelUse> = kinds
        .into_values()
        .map(|(kind, used)| ChannelUse {
            analytic: overlay.utilisation.get(&kind).copied(),
            kind,
            from: None,
            to: None,
            utilisation: used.iter().sum::<f64>() / used.len() as f64,
            highest: Some(used.iter().copied().fold(0.0, f64::max)),
        })
        .collect();
    if tree.link_count() <= LINKS_LISTED_MAX {
        uses.append(&mut single);
    }
    uses
}

/// In the order in which packets cross them.
fn rank(kind: LinkKind) -> u8 {
    match kind {
        LinkKind::Inject => 0,
        LinkKind::Up => 1,
        LinkKind::Down => 2,
        LinkKind::Eject => 3,
    }
}

/// Nodes first, then switches.
fn vertex(tree: &Tree, vertex: Vertex) -> u32 {
    match vertex {
        Vertex::Node(node) => node,
        Vertex::Switch(switch) => tree.node_count() + switch,
    }
}

/// What arrived for the processes of each node, given the MB/s that a byte per tick is.
pub(super) fn nodes(counted: &[Counted], mb_per_s: f64) -> Vec<NodeUse> {
    let count = counted.first().map_or(0, |first| first.counts.nodes.len());
    if count > NODES_LISTED_MAX {
        return Vec::new();
    }
    (0..count)
        .map(|node| {
            let rates = counted
                .iter()
                .map(|counted| counted.counts.nodes[node].1 as f64 / counted.cycles as f64);
            NodeUse {
                node: node as u32,
                offered: None,
                accepted: rates.sum::<f64>() / counted.len() as f64 * mb_per_s,
            }
        })
        .collect()
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
        cycle_us: machine.tick_us(),
        deadlock: match tree.check_deadlock() {
            Ok(_) => "free of deadlock: link numbers rise along every route".to_owned(),
            Err(cycle) => cycle.to_string(),
        },
    }
}
