//! Packet networks of any topology: scenario tables of their links and jobs, estimates and measures. A kind of
//! machine provides the topology as a [`Fabric`].

mod capacity;
// Analytic estimate for closed loops: clients with a limit on their messages in flight.
mod closed_loops;
// Throughput that the buffer behind a link sustains.
mod credits;
// Analytic estimate of the performance of networks of switches.
mod estimate;
// Computes the utilisation of links and nodes for results.
mod figures;
// For each pair of nodes, the route that their messages follow, link by link.
mod followed;
// Scenario fields that all packet networks have in common.
mod format;
mod latencies;
// Computes the number of packets of messages whose length varies.
mod lengths;
// Load that jobs put on nodes and links.
mod loads;
// Times that a message takes on an otherwise idle network.
mod message;
// Reads the parameters of a packet network from a scenario file.
mod network;
// Reports those fields of a scenario that have no effect.
mod no_effect;
// Remarks on limits on the number of messages in flight.
mod outstanding;
mod presets;
// Parameters for the closed-form estimates.
mod rules;
// The messages of a job, with their routes and latencies.
mod sent;
// Starts simulations of packet networks with jobs, for experiments.
mod subject;
// Topologies that consist of switches, as packet networks.
mod switches;
// Scenario fields of links, switches and interfaces.
mod table;

pub use crate::jobs::names;
pub(crate) use closed_loops::{TopologyGroup, paces};
pub use format::tables;
pub use loads::Crossed;
pub(crate) use loads::routed;
pub(crate) use message::{Route, Times};
pub use network::{derived, network};
pub use no_effect::watch;
pub(crate) use presets::{OF_GRAPHS, OF_TREES, preset};
pub(crate) use rules::rules;
pub use subject::{flaw, subject};
pub use switches::{Switches, unroutable};
pub(crate) use table::CHANNELS_MAX;
pub use table::NetworkTable;

use crate::devices::{self, DEVICE, StorageTable};
use crate::jobs::{Nodes, WorkloadTable, check_start};
use isthmus_experiment::subject::Overlay;
use isthmus_machine::packets::Network;
use isthmus_machine::packets::routes::Routes;
use isthmus_machine::packets::spec::{NetworkSpec, Switching};
use isthmus_scenario::format::{Describe as _, Problem, Settings};
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::fmt::Debug;
use std::sync::Arc;

/// Read the jobs of a file and check them against the network of `nodes` nodes that they run on.
///
/// # Errors
/// If jobs do not fit on the network or contradict themselves.
pub fn jobs(
    settings: &Settings,
    network: &NetworkSpec,
    nodes: u32,
) -> Result<JobsTraffic, Problem> {
    let machine = Nodes {
        count: nodes,
        can_send: network.injection_bandwidth(),
        one_by_one: matches!(network.switching, Switching::Circuit { .. }),
    };
    let (common, servers, serve) = WorkloadTable::read(settings, "workload").split();
    let mut traffic = crate::jobs::jobs(settings, &common, servers, machine)?;
    check_start(settings, &traffic, nodes, None)?;
    traffic.serve = serve;
    traffic.storage = devices::storage(settings, StorageTable::read(settings, DEVICE), DEVICE)?;
    if no_effect::requests(&traffic, nodes) {
        network::check_request(settings, network.nic.payload)?;
    }
    Ok(traffic)
}

/// A topology, for the analysis of packet networks: its links, the routes of packets and the distances between nodes.
pub trait Fabric: Debug + Send + Sync + 'static {
    /// Type of the routes that packets may take.
    type Routes: Routes + Debug + Send + Sync + 'static;

    /// Return the routing rules, which all simulations of the network share.
    fn routes(&self) -> &Arc<Self::Routes>;

    /// Return the parameters of the network's links, switches and interfaces.
    fn network(&self) -> &Network;

    /// Return the number of nodes.
    fn node_count(&self) -> u32 {
        self.routes().node_count()
    }

    /// Return all links of the network, in the order of their numbers.
    fn links(&self) -> impl Iterator<Item = Link>;

    /// Return the number of switches on a route between two different nodes.
    fn switches_between(&self, from: u32, to: u32) -> u32;

    /// Return the largest number of switches on any route.
    fn switches_at_most(&self) -> u32;

    /// Return the number of random choices at the injection, and at a link: see
    /// [`follow_all`](isthmus_machine::packets::follow_all). `None` if routes depend on the load of links. By default
    /// there is one route, except for the choice among parallel links.
    fn choices(&self) -> Option<[u32; 2]> {
        Some([1, 1])
    }

    /// Return whether [`crossed_bundles`](Self::crossed_bundles) returns all links that packets cross, so that the load of each link is
    /// known. True by default.
    fn is_followed(&self) -> bool {
        true
    }

    /// Return the largest signal delay of any link of the network. Zero by default.
    fn longest_delay(&self) -> Time {
        Time::ZERO
    }

    /// Return the bundles of parallel links that packets from node `from` to the nodes `to` cross, each with the share
    /// of the packets that crosses it, if all these destinations are equally likely. Where the routing determines one
    /// of several parallel links, that link is a bundle by itself.
    fn crossed_bundles(&self, from: u32, to: &[u32]) -> Vec<Crossed>;

    /// Return the bundle of parallel links with the number `number`.
    fn bundle(&self, number: u32) -> Bundle;

    /// Return the analytic estimates for jobs on the nodes of `layout`.
    fn overlay(&self, traffic: &JobsTraffic, layout: &Layout) -> Overlay;
}

/// A link in one direction.
#[derive(Debug)]
pub struct Link {
    /// Kind of the link, by its name in results.
    pub kind: String,
    /// Vertex at which the link starts: a node, or a switch numbered after the nodes.
    pub from: u32,
    /// Vertex at which the link ends: a node, or a switch numbered after the nodes.
    pub to: u32,
    /// Position of this kind of link in the order in which packets cross the kinds of links.
    pub order: (u8, u32),
    /// Whether the link starts at a node.
    pub out_of_node: bool,
    /// Signal delay of the link.
    pub delay: Time,
    /// Maximum number of virtual channel classes that packets use on the link.
    pub classes: u32,
}

/// Value of [`Link::order`] for links that start at nodes: packets cross them first.
pub const OUT_OF_NODE: (u8, u32) = (0, 0);

/// Bundle of parallel links, over which packets are spread evenly.
#[derive(Debug)]
pub struct Bundle {
    /// Name of this kind of links, in words.
    pub name: String,
    /// Value of [`Link::order`] for this kind of links.
    pub order: (u8, u32),
    /// Numbers of the links of the bundle.
    pub links: Vec<u32>,
    /// Signal delay of each link.
    pub delay: Time,
    /// Whether the links end at a node.
    pub into_node: bool,
}
