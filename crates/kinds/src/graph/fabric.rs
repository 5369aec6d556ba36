//! Networks of switches as networks of packets.

use super::Graph;
use super::figures::{self, GraphSummary};
use crate::packets::{self, Bundle, CHANNELS_MAX, Fabric, Link};
use isthmus_experiment::subject::{Overlay, Subject};
use isthmus_experiment::{Flaw, Kind};
use isthmus_machine::graph::spec::{DragonflyRouting, GraphSpec, Shape};
use isthmus_machine::graph::{Built, Machine, MachineError};
use isthmus_machine::packets::Network;
use isthmus_machine::packets::ways::{Header, Run, Ways};
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

impl Kind for Graph {
    type Built = Built;
    type Summary = GraphSummary;

    fn build(spec: &GraphSpec) -> Result<Built, Flaw> {
        Built::new(spec).map_err(|error| flaw(spec, &error))
    }

    fn subject(built: &Built, work: &JobsTraffic) -> Result<Arc<dyn Subject>, Flaw> {
        match built {
            Built::Switches(machine) => packets::subject(machine, work),
            Built::Dragonfly(machine) => packets::subject(machine, work),
        }
    }

    fn summary(built: &Built) -> GraphSummary {
        match built {
            Built::Switches(machine) => figures::summary(machine),
            Built::Dragonfly(machine) => figures::summary(machine),
        }
    }

    fn measures(work: &JobsTraffic) -> Vec<String> {
        packets::names(work)
    }
}

/// The field behind an error of a machine, and what would be right.
fn flaw(spec: &GraphSpec, error: &MachineError) -> Flaw {
    let (field, hint) = match error {
        MachineError::Network(error) => return packets::flaw(error),
        MachineError::Apart(_) => ("machine.cables", "join all switches".to_owned()),
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
    Flaw {
        field,
        problem: error.to_string(),
        hint,
    }
}

/// The runs of links that a packet takes, where nothing is drawn by lot.
fn way<W: Ways>(ways: &W, from: u32, to: u32) -> Vec<Run> {
    let mut header = Header {
        from,
        to,
        links: 0,
        state: ways.state(from, to),
        class: 0,
    };
    let mut way = vec![ways.first(&mut header, || 0)];
    while let Some(run) = way.last() {
        let end = ways.end(run.first);
        if end.vertex == to {
            break;
        }
        header.links += 1;
        way.push(ways.next(&mut header, end, || 0));
    }
    way
}

impl<W: Ways + Debug + Send + Sync + 'static> Fabric for Machine<W> {
    type Ways = W;

    fn ways(&self) -> &Arc<W> {
        self.ways()
    }

    fn network(&self) -> &Network {
        self.network()
    }

    fn links(&self) -> impl Iterator<Item = Link> {
        let wiring = self.wiring();
        (0..wiring.link_count()).map(move |link| {
            let (from, to) = (wiring.target(wiring.reverse(link)), wiring.target(link));
            let (kind, rank) = kind_of(self, from, to);
            Link {
                kind: kind.to_owned(),
                from,
                to,
                order: (rank, 0),
                out_of_node: from < wiring.node_count(),
            }
        })
    }

    fn switches_between(&self, from: u32, to: u32) -> u32 {
        way(&**self.ways(), from, to).len() as u32 - 1
    }

    fn switches_at_most(&self) -> u32 {
        self.ways().longest() - 1
    }

    fn is_drawn(&self) -> bool {
        match &self.spec().shape {
            Shape::Switches { .. } => false,
            Shape::Dragonfly { routing, links, .. } => {
                *routing != DragonflyRouting::Minimal || *links > 1
            }
        }
    }

    fn longest_delay(&self) -> Time {
        self.spec().shape.delays()[1]
    }

    /// Where ways are drawn by lot, only the links of nodes.
    fn shares(&self, from: u32, to: &[u32]) -> Vec<(u32, f64)> {
        let others = || to.iter().copied().filter(|&other| other != from);
        let each = 1.0 / others().count().max(1) as f64;
        let mut shares = BTreeMap::new();
        for other in others() {
            let way = way(&**self.ways(), from, other);
            let ends = [0, way.len() - 1];
            for (place, run) in way.iter().enumerate() {
                if !self.is_drawn() || ends.contains(&place) {
                    *shares.entry(run.first).or_insert(0.0) += each;
                }
            }
        }
        shares.into_iter().collect()
    }

    fn bundle(&self, first: u32) -> Option<Bundle> {
        let wiring = self.wiring();
        let (from, to) = (wiring.target(wiring.reverse(first)), wiring.target(first));
        if from < wiring.node_count() {
            return None;
        }
        let (kind, rank) = kind_of(self, from, to);
        let beside = wiring
            .out_of(from)
            .filter(|&link| wiring.target(link) == to);
        Some(Bundle {
            name: match kind {
                "eject" => "link into a node, busiest".to_owned(),
                "switch_link" => "link between switches, busiest".to_owned(),
                kind => format!("{}, busiest", kind.replace('_', " ")),
            },
            order: (rank, 0),
            width: beside.count() as u32,
        })
    }

    fn overlay(&self, _: &JobsTraffic, _: &Layout) -> Overlay {
        Overlay::default()
    }
}

/// The kind of a link, and its place in the order in which packets cross them.
fn kind_of<W>(machine: &Machine<W>, from: u32, to: u32) -> (&'static str, u8) {
    let nodes = machine.wiring().node_count();
    match &machine.spec().shape {
        _ if from < nodes => ("inject", 0),
        _ if to < nodes => ("eject", 3),
        Shape::Dragonfly { routers, .. } if (from - nodes) / routers == (to - nodes) / routers => {
            ("local_link", 1)
        }
        Shape::Dragonfly { .. } => ("global_link", 2),
        Shape::Switches { .. } => ("switch_link", 1),
    }
}
