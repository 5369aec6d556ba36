//! Networks of packets, whatever their form: what files say of their links and jobs, and what is
//! measured. A kind of machine brings the form, as a [`Fabric`].

mod capacity;
mod credits;
mod estimate;
mod figures;
mod followed;
mod format;
mod latencies;
mod lengths;
mod loads;
mod message;
mod network;
mod no_effect;
mod outstanding;
mod paces;
mod presets;
mod rules;
mod sent;
mod subject;
mod switches;
mod table;

pub use crate::jobs::names;
pub use format::tables;
pub use loads::Crossed;
pub(crate) use loads::routed;
pub(crate) use message::{Route, Times};
pub use network::{derived, network};
pub use no_effect::watch;
pub(crate) use paces::{Limits, paces};
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

/// The jobs of a file, checked against the network of so many nodes that they run on.
///
/// # Errors
/// Jobs that do not lie on it, or contradict themselves.
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

/// The form of a network: where links lead, which packets take, and how far it is.
pub trait Fabric: Debug + Send + Sync + 'static {
    /// Where packets may go.
    type Routes: Routes + Debug + Send + Sync + 'static;

    /// The same, shared by simulations.
    fn routes(&self) -> &Arc<Self::Routes>;

    /// Links, switches and interfaces.
    fn network(&self) -> &Network;

    /// Number of nodes.
    fn node_count(&self) -> u32 {
        self.routes().node_count()
    }

    /// All links, in the order of their numbers.
    fn links(&self) -> impl Iterator<Item = Link>;

    /// Switches between two different nodes.
    fn switches_between(&self, from: u32, to: u32) -> u32;

    /// The most of them.
    fn switches_at_most(&self) -> u32;

    /// Among how many routes chance decides at the injection, and at a link: see
    /// [`follow_all`](isthmus_machine::packets::follow_all). `None` where packets follow what links hold. By default
    /// there is one route, up to links that do alike.
    fn choices(&self) -> Option<[u32; 2]> {
        Some([1, 1])
    }

    /// Whether [`shares`](Self::shares) knows of all links. Yes by default.
    fn is_followed(&self) -> bool {
        true
    }

    /// What a signal takes along the longest link. None by default.
    fn longest_delay(&self) -> Time {
        Time::ZERO
    }

    /// The bundles that packets of `from` to any of `to` cross, each destination as likely as the others. A link that
    /// a rule gives, and no other, is a bundle of its own.
    fn shares(&self, from: u32, to: &[u32]) -> Vec<Crossed>;

    /// What a bundle is.
    fn bundle(&self, number: u32) -> Bundle;

    /// What closed forms say of jobs on it.
    fn overlay(&self, traffic: &JobsTraffic, layout: &Layout) -> Overlay;
}

/// A link in one direction.
#[derive(Debug)]
pub struct Link {
    /// Its kind, as results name it.
    pub kind: String,
    /// Where it begins: a node, or above the nodes a switch.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// The place of its kind among the others, in the order in which packets cross them.
    pub order: (u8, u32),
    /// Whether it leads out of a node.
    pub out_of_node: bool,
    /// What a signal takes along it.
    pub delay: Time,
    /// Classes of channels that packets take on it, at most.
    pub classes: u32,
}

/// The place of links out of nodes among the kinds of links.
pub const OUT_OF_NODE: (u8, u32) = (0, 0);

/// Links over which packets are spread evenly: any of them does.
#[derive(Debug)]
pub struct Bundle {
    /// Their kind in words.
    pub name: String,
    /// The place of that among the others.
    pub order: (u8, u32),
    /// The links.
    pub links: Vec<u32>,
    /// What a signal takes along each.
    pub delay: Time,
    /// Whether they lead into a node.
    pub into_node: bool,
}
