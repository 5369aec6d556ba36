//! Fat trees as packet networks: their links, the routes of packets, and the distances between nodes.

use super::{FatTree, FatTreeSummary, figures};
use crate::jobs;
use crate::packets::{self, Bundle, Crossed, Fabric, Link, TopologyGroup};
use isthmus_experiment::subject::{Overlay, Subject};
use isthmus_experiment::{Flaw, Kind};
use isthmus_machine::fattree::spec::FatTreeSpec;
use isthmus_machine::fattree::{Machine, MachineError};
use isthmus_machine::packets::{Network, routes};
use isthmus_topology::trees::{LinkKind, Tree, Vertex};
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::sync::Arc;

impl Kind for FatTree {
    /// Fat tree that is ready to be simulated.
    type Built = Arc<Machine>;
    /// Properties of the fat tree that results contain.
    type Summary = FatTreeSummary;

    /// Build the fat tree that a scenario describes.
    fn build(spec: &FatTreeSpec) -> Result<Arc<Machine>, Flaw> {
        Machine::new(spec)
            .map(Arc::new)
            .map_err(|error| match error {
                MachineError::Tree(error) => Flaw {
                    field: "machine",
                    problem: error.to_string(),
                    hint: "give other sizes".to_owned(),
                    line: None,
                },
                MachineError::Network(error) => packets::flaw(&error),
            })
    }

    /// Combine the fat tree with the jobs to a point of a sweep, which experiments simulate and measure.
    fn subject(machine: &Arc<Machine>, work: &JobsTraffic) -> Result<Arc<dyn Subject>, Flaw> {
        packets::subject(machine, work)
    }

    /// Return the properties of the fat tree that results contain.
    fn summary(machine: &Arc<Machine>) -> FatTreeSummary {
        figures::summary(machine)
    }

    /// Return the names of all latencies that are measured under this workload.
    fn measures(work: &JobsTraffic) -> Vec<String> {
        jobs::names(work)
    }
}

impl Fabric for Machine {
    /// Type of the routes that packets may take.
    type Routes = routes::FatTree;

    /// Return the routes of packets, which simulations share.
    fn routes(&self) -> &Arc<routes::FatTree> {
        self.routes()
    }

    /// Return the parameters of links, switches and interfaces.
    fn network(&self) -> &Network {
        self.network()
    }

    /// Return all links in the order of their numbers.
    fn links(&self) -> impl Iterator<Item = Link> {
        let tree = self.tree();
        (0..tree.link_count()).map(|number| {
            let link = tree.link(number);
            Link {
                kind: link.to_string(),
                from: vertex_number(tree, link.from),
                to: vertex_number(tree, link.to),
                order: (rank(link.kind), link.level),
                out_of_node: link.kind == LinkKind::Inject,
                delay: Time::ZERO,
                classes: 1,
            }
        })
    }

    /// Return the number of switches on a route between two nodes.
    fn switches_between(&self, from: u32, to: u32) -> u32 {
        2 * self.tree().level_between(from, to) - 1
    }

    /// Return the largest number of switches on any route.
    fn switches_at_most(&self) -> u32 {
        2 * self.tree().level_count() - 1
    }

    /// Return the bundles of links that packets from node `from` to the nodes `to` cross. A bundle
    /// is all links between a subtree and the rest of the tree, or a single link if the routing
    /// rule determines it.
    fn crossed_bundles(&self, from: u32, to: &[u32]) -> Vec<Crossed> {
        if self.spec().ascent.is_spread() {
            let shares = self.tree().bundle_shares(from, to).into_iter();
            return shares
                .map(|(bundle, share)| Crossed {
                    bundle,
                    before: None,
                    class: 0,
                    share,
                })
                .collect();
        }
        packets::routed(&**self.routes(), from, to, [1, 1])
    }

    /// Return the bundle of parallel links with this number.
    fn bundle(&self, number: u32) -> Bundle {
        let tree = self.tree();
        let links = match self.spec().ascent.is_spread() {
            true => tree.bundle_links(number).collect(),
            false => vec![number],
        };
        let link = tree.link(links[0]);
        let name = match link.kind {
            LinkKind::Inject => "link of a node".to_owned(),
            LinkKind::Up | LinkKind::Down => format!("link {link}, busiest"),
            LinkKind::Eject => "link into a node, busiest".to_owned(),
        };
        let level = match link.kind {
            LinkKind::Down => u32::MAX - link.level,
            _ => link.level,
        };
        Bundle {
            name,
            order: (rank(link.kind), level),
            links,
            delay: Time::ZERO,
            into_node: link.kind == LinkKind::Eject,
        }
    }

    /// Return the analytic estimates for jobs on the nodes of `layout`.
    fn overlay(&self, traffic: &JobsTraffic, layout: &Layout) -> Overlay {
        packets::paces(self, traffic, layout, TopologyGroup::FatTrees)
    }
}

/// Return the position of a kind of links (such as up or down) on the path of a packet.
fn rank(kind: LinkKind) -> u8 {
    match kind {
        LinkKind::Inject => 0,
        LinkKind::Up => 1,
        LinkKind::Down => 2,
        LinkKind::Eject => 3,
    }
}

/// Return the number of a vertex of the tree: nodes have the lowest numbers, then come the switches.
fn vertex_number(tree: &Tree, vertex: Vertex) -> u32 {
    match vertex {
        Vertex::Node(node) => node,
        Vertex::Switch(switch) => tree.node_count() + switch,
    }
}
