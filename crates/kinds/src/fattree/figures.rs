//! A fat tree and the use of its links and nodes, in figures.

use isthmus_experiment::result::NodeUse;
use isthmus_experiment::subject::{Counted, Counts, Overlay, taken};
use isthmus_experiment::uses::{Part, Uses, fullest, rows};
use isthmus_machine::fattree::Machine;
use isthmus_machine::fattree::spec::Switching;
use isthmus_topology::trees::{LinkKind, Tree, Vertex};
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

/// Most links that are listed one by one.
const LINKS_LISTED_MAX: u32 = 20_000;
/// Most nodes that are listed one by one.
const NODES_LISTED_MAX: usize = 4096;

/// How busy links, network interfaces and I/O servers were.
pub(super) fn uses(
    counted: &[Counted],
    machine: &Machine,
    servers: &[u32],
    overlay: &Overlay,
) -> Uses {
    let (tree, tick_us) = (machine.tree(), machine.tick_us());
    let share = |link: u32| -> f64 {
        let shares = counted
            .iter()
            .map(|counted| counted.counts.channels[link as usize] as f64 / counted.cycles as f64);
        shares.sum::<f64>() / counted.len() as f64
    };
    let mut links: Vec<(LinkKind, u32, Part)> = (0..tree.link_count())
        .map(|number| {
            let link = tree.link(number);
            let lanes = lanes(machine, link.kind);
            let of = |counts: &Counts| counts.held[number as usize];
            let (held, by) = taken(counted, tick_us, lanes, of);
            let carried = share(number);
            let part = Part {
                kind: link.to_string(),
                from: vertex(tree, link.from),
                to: Some(vertex(tree, link.to)),
                utilisation: carried,
                // A link is full when its lanes are, or when its transmitter never rests.
                busy: held.max(carried),
                held: Some(by),
            };
            (link.kind, link.level, part)
        })
        .collect();
    links.sort_by_key(|&(kind, level, _)| (rank(kind), level));
    let listed = tree.link_count() <= LINKS_LISTED_MAX;
    let interfaces = (0..tree.node_count()).map(|node| {
        let of = |counts: &Counts| counts.devices[node as usize];
        let (busy, by) = taken(counted, tick_us, 1, of);
        Part {
            kind: "interface".to_owned(),
            from: node,
            to: None,
            utilisation: busy,
            busy,
            held: Some(by),
        }
    });
    let mut parts: Vec<Part> = links.into_iter().map(|(.., part)| part).collect();
    parts.extend(interfaces);
    let server_of = |part: &Part| servers.iter().copied().find(|&server| part.is_at(server));
    let bottleneck = fullest(&parts).map(|part| part.bottleneck("packet", server_of(part)));
    let of_servers: Vec<Part> = servers
        .iter()
        .filter_map(|&server| {
            let own: Vec<Part> = parts
                .iter()
                .filter(|part| part.is_at(server))
                .cloned()
                .collect();
            fullest(&own).map(|part| Part {
                kind: "server".to_owned(),
                from: server,
                to: None,
                ..part.clone()
            })
        })
        .collect();
    parts.extend(of_servers);
    Uses {
        rows: rows(&parts, overlay, listed),
        bottleneck,
    }
}

/// Lanes of a link that packets can hold: circuits its virtual channels, those of a node no more
/// than its packets in flight; with cut-through a packet holds the transmitter.
fn lanes(machine: &Machine, kind: LinkKind) -> u32 {
    let spec = machine.spec();
    match (spec.switching, kind) {
        (Switching::Circuit { .. }, LinkKind::Inject) => {
            spec.virtual_channels.min(spec.nic.packets_in_flight).max(1)
        }
        (Switching::Circuit { .. }, _) => spec.virtual_channels,
        (Switching::CutThrough { .. }, _) => 1,
    }
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
