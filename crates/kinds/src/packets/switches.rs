//! Networks of switches whose form is a wiring.

use super::{Bundle, Crossed, Fabric, Link, estimate, flaw, routed};
use isthmus_experiment::Flaw;
use isthmus_experiment::subject::Overlay;
use isthmus_machine::packets::ways::Ways;
use isthmus_machine::packets::{Network, Routed, RoutedError, follow};
use isthmus_topology::Wiring;
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::fmt::Debug;
use std::sync::Arc;

/// A network of switches: a [`Fabric`] by its wiring and its ways.
pub trait Switches: Debug + Send + Sync + 'static {
    /// Where packets may go.
    type Ways: Ways + Debug + Send + Sync + 'static;

    /// The network and its ways.
    fn routed(&self) -> &Routed<Self::Ways>;

    /// The kind of the links from one switch to another, as results name it, and its place among the
    /// others in the order in which packets cross them, from 1.
    fn between(&self, _from: u32, _to: u32) -> (&'static str, u8) {
        ("switch_link", 1)
    }

    /// Whether which switches packets pass is drawn by lot. No by default.
    fn is_drawn(&self) -> bool {
        false
    }

    /// Among how many ways chance decides at the injection, and at a link: see
    /// [`follow_all`](isthmus_machine::packets::follow_all). `None` where packets follow what links hold. By default
    /// there is one way.
    fn choices(&self) -> Option<[u32; 2]> {
        Some([1, 1])
    }

    /// What a signal takes along the longest link. None by default.
    fn longest_delay(&self) -> Time {
        Time::ZERO
    }

    /// What a signal takes along a link from one switch to another. As along the longest by default.
    fn delay(&self, _from: u32, _to: u32) -> Time {
        self.longest_delay()
    }

    /// Classes of channels that packets take at most on a link from one switch to another. All by default.
    fn classes(&self, _from: u32, _to: u32) -> u32 {
        self.routed().ways().classes()
    }
}

impl<W: Ways + Debug + Send + Sync + 'static> Switches for Routed<W> {
    type Ways = W;

    fn routed(&self) -> &Self {
        self
    }
}

impl<S: Switches> Fabric for S {
    type Ways = S::Ways;

    fn ways(&self) -> &Arc<S::Ways> {
        self.routed().ways()
    }

    fn network(&self) -> &Network {
        self.routed().network()
    }

    fn links(&self) -> impl Iterator<Item = Link> {
        let wiring = self.routed().wiring();
        (0..wiring.link_count()).map(move |link| {
            let (from, to) = ends(wiring, link);
            let (kind, rank) = kind(self, from, to);
            Link {
                kind: kind.to_owned(),
                from,
                to,
                order: (rank, 0),
                out_of_node: from < wiring.node_count(),
                delay: between(self, from, to, Time::ZERO, S::delay),
                classes: between(self, from, to, self.routed().ways().classes(), S::classes),
            }
        })
    }

    fn switches_between(&self, from: u32, to: u32) -> u32 {
        follow(&**self.routed().ways(), from, to).len() as u32 - 1
    }

    fn switches_at_most(&self) -> u32 {
        self.routed().ways().longest() - 1
    }

    fn is_drawn(&self) -> bool {
        self.is_drawn()
    }

    fn longest_delay(&self) -> Time {
        self.longest_delay()
    }

    /// Where ways are drawn by lot, only the links of nodes.
    fn shares(&self, from: u32, to: &[u32]) -> Vec<Crossed> {
        let is_kept = |place, count| !self.is_drawn() || place == 0 || place + 1 == count;
        routed(&**self.routed().ways(), from, to, is_kept)
    }

    /// Links between the same two vertices, by the first of them.
    fn bundle(&self, first: u32) -> Bundle {
        let wiring = self.routed().wiring();
        let (from, to) = ends(wiring, first);
        let (kind, rank) = kind(self, from, to);
        let beside = wiring
            .out_of(from)
            .filter(|&link| wiring.target(link) == to);
        Bundle {
            name: match kind {
                "inject" => "link of a node".to_owned(),
                "eject" => "link into a node, busiest".to_owned(),
                "switch_link" => "link between switches, busiest".to_owned(),
                kind => format!("{}, busiest", kind.replace('_', " ")),
            },
            order: (rank, 0),
            links: beside.collect(),
            delay: between(self, from, to, Time::ZERO, S::delay),
            into_node: to < wiring.node_count(),
        }
    }

    fn overlay(&self, traffic: &JobsTraffic, layout: &Layout) -> Overlay {
        estimate::overlay(self, traffic, layout)
    }
}

/// The field behind an error of a network in a form of its own, and what would be right.
pub fn unroutable(error: &RoutedError) -> Flaw {
    let (field, hint) = match error {
        RoutedError::Network(error) => return flaw(error),
        RoutedError::Classes { classes, .. } => (
            "machine.virtual_channels",
            format!("give {classes} or more"),
        ),
        RoutedError::Circle { .. } | RoutedError::Endless { .. } => {
            ("machine", "take other sizes".to_owned())
        }
    };
    Flaw {
        field,
        problem: error.to_string(),
        hint,
        line: None,
    }
}

/// Where a link begins and ends.
fn ends(wiring: &Wiring, link: u32) -> (u32, u32) {
    (wiring.target(wiring.reverse(link)), wiring.target(link))
}

/// What a signal takes along a link.
pub(super) fn delay_of<S: Switches>(switches: &S, link: u32) -> Time {
    let (from, to) = ends(switches.routed().wiring(), link);
    between(switches, from, to, Time::ZERO, S::delay)
}

/// The kind of a link, and its place in the order in which packets cross them.
fn kind<S: Switches>(switches: &S, from: u32, to: u32) -> (&'static str, u8) {
    let nodes = switches.routed().wiring().node_count();
    if from < nodes {
        ("inject", 0)
    } else if to < nodes {
        ("eject", u8::MAX)
    } else {
        switches.between(from - nodes, to - nodes)
    }
}

/// What is said of the link from one vertex to another, if both are switches.
fn between<S: Switches, T>(
    switches: &S,
    from: u32,
    to: u32,
    of_node: T,
    said: impl Fn(&S, u32, u32) -> T,
) -> T {
    let nodes = switches.routed().wiring().node_count();
    match (from.checked_sub(nodes), to.checked_sub(nodes)) {
        (Some(from), Some(to)) => said(switches, from, to),
        _ => of_node,
    }
}
