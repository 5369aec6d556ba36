//! Networks of switches as packet networks: the routes of packets and the delays of links.

use super::Graph;
use super::figures::{self, GraphSummary};
use crate::packets::{self, CHANNELS_MAX, Switches};
use isthmus_experiment::subject::Subject;
use isthmus_experiment::{Flaw, Kind};
use isthmus_machine::graph::spec::{DragonflyRouting, GraphSpec, Shape};
use isthmus_machine::graph::{Built, Machine, MachineError};
use isthmus_machine::packets::routes::Routes;
use isthmus_machine::packets::{NetworkError, Routed};
use isthmus_topology::switches::RouteError;
use isthmus_units::Time;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::fmt::Debug;
use std::sync::Arc;

/// Return the number of equally likely outcomes of the random choice among up to `links` parallel links: the least
/// common multiple of 1 to `links` (at most 6), so that each link of a bundle gets the same number of outcomes.
fn link_choices(links: u32) -> u32 {
    [1, 1, 2, 6, 12, 60]
        .get(links as usize)
        .copied()
        .unwrap_or(60)
}

impl Kind for Graph {
    /// Type of a network of switches that has been built and can be simulated.
    type Built = Built;
    /// Properties of the network of switches that results contain.
    type Summary = GraphSummary;

    /// Build the network of switches that a scenario describes.
    fn build(spec: &GraphSpec) -> Result<Built, Flaw> {
        Built::new(spec).map_err(|error| flaw(spec, &error))
    }

    /// Combine the network of switches with the jobs to a point of a sweep, which experiments simulate and measure.
    fn subject(built: &Built, work: &JobsTraffic) -> Result<Arc<dyn Subject>, Flaw> {
        match built {
            Built::Switches(machine) => packets::subject(machine, work),
            Built::Dragonfly(machine) => packets::subject(machine, work),
        }
    }

    /// Return the properties of the network of switches that results contain.
    fn summary(built: &Built) -> GraphSummary {
        match built {
            Built::Switches(machine) => figures::summary(machine),
            Built::Dragonfly(machine) => figures::summary(machine),
        }
    }

    /// Return the names of the measures, such as latencies of each job, that a run with this workload yields.
    fn measures(work: &JobsTraffic) -> Vec<String> {
        packets::names(work)
    }
}

/// Convert an error in the construction of the network to an error of the scenario field that causes it.
fn flaw(spec: &GraphSpec, error: &MachineError) -> Flaw {
    let (field, hint) = match error {
        MachineError::Network(error) => return network_flaw(spec, error),
        MachineError::Routed(error) => return packets::unroutable(error),
        MachineError::Apart(_) => ("machine.cables", "join all switches".to_owned()),
        MachineError::Routes(error @ RouteError::Deadlock { .. }) => (
            "machine.routes",
            format!("{}, or set machine.routing = \"up-down\"", error.hint()),
        ),
        MachineError::Routes(error) => ("machine.routes", error.hint()),
        MachineError::Dragonfly(_) => ("machine.graph", "give other sizes".to_owned()),
        MachineError::Table(_) => ("machine.graph", "take fewer switches".to_owned()),
        MachineError::Layers { layers, .. } => (
            "machine.virtual_channels",
            match &spec.shape {
                Shape::Switches { .. } if *layers > CHANNELS_MAX => {
                    "set machine.routing = \"up-down\"".to_owned()
                }
                Shape::Switches { .. } => {
                    format!("give {layers} or more, or set machine.routing = \"up-down\"")
                }
                Shape::Dragonfly { .. } => format!("give {layers} or more"),
            },
        ),
    };
    let line = match error {
        MachineError::Routes(error) => error.line().map(|line| line as u32),
        _ => None,
    };
    Flaw {
        field,
        problem: error.to_string(),
        hint,
        line,
    }
}

/// Convert an error in the network parameters to one that names the scenario field with the invalid value. Links
/// between groups have a delay field of their own.
fn network_flaw(spec: &GraphSpec, error: &NetworkError) -> Flaw {
    let flaw = packets::flaw(error);
    match (error, &spec.shape) {
        (NetworkError::Delay { delay: found, .. }, Shape::Dragonfly { delay, .. })
            if found != delay =>
        {
            let field = "machine.global_delay";
            Flaw { field, ..flaw }
        }
        _ => flaw,
    }
}

impl<W: Routes + Debug + Send + Sync + 'static> Switches for Machine<W> {
    /// Type of the object that computes the routes of packets through the network.
    type Routes = W;

    /// Return the network of switches with its routes.
    fn routed(&self) -> &Routed<W> {
        self.routed()
    }

    /// Return the kind of the links between two switches, such as `global_link`, and the rank of the kind. Ranks start
    /// at 1 and have the order in which packets cross links.
    fn between(&self, from: u32, to: u32) -> (&'static str, u8) {
        match (self.group(from), self.group(to)) {
            (None, None) => ("switch_link", 1),
            (from, to) if from == to => ("local_link", 1),
            _ => ("global_link", 2),
        }
    }

    /// Return the number of the group of a switch; `None` without groups.
    fn group(&self, switch: u32) -> Option<u32> {
        match &self.spec().shape {
            Shape::Switches { .. } => None,
            Shape::Dragonfly { routers, .. } => Some(switch / routers),
        }
    }

    /// Return the numbers of alternatives among which the route of a packet is chosen at random: once when the packet
    /// is injected, and at each link. `None` if the choices depend on the load.
    fn choices(&self) -> Option<[u32; 2]> {
        let Shape::Dragonfly {
            routing,
            links,
            groups,
            ..
        } = &self.spec().shape
        else {
            return Some([1, 1]);
        };
        let at_links = link_choices(*links);
        match routing {
            DragonflyRouting::Minimal => Some([1, at_links]),
            DragonflyRouting::Valiant => Some([groups.saturating_sub(2).max(1), at_links]),
            DragonflyRouting::Ugal => None,
        }
    }

    /// Return the signal delay of the longest link.
    fn longest_delay(&self) -> Time {
        self.spec().shape.delays()[1]
    }

    /// Return the signal delay of a link between two switches.
    fn delay(&self, from: u32, to: u32) -> Time {
        match self.spec().shape {
            Shape::Switches { delay, .. } => delay,
            Shape::Dragonfly { delay, .. } if self.group(from) == self.group(to) => delay,
            Shape::Dragonfly { global_delay, .. } => global_delay,
        }
    }

    /// Return the number of virtual channel classes that packets use on the link between two switches. A link
    /// between groups needs one class less than the other links.
    fn classes(&self, from: u32, to: u32) -> u32 {
        let classes = self.routes().classes();
        match self.between(from, to) {
            ("global_link", _) => classes - 1,
            _ => classes,
        }
    }
}
