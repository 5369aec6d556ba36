//! Packet networks of switches: everything that follows from their wiring and their routes, such as the kinds of links
//! and the loads of links.

use super::loads::RANDOM_ROUTES_MAX;
use super::{Bundle, Crossed, Fabric, Link, estimate, flaw, routed};
use isthmus_experiment::Flaw;
use isthmus_experiment::subject::Overlay;
use isthmus_machine::packets::routes::Routes;
use isthmus_machine::packets::{Network, Routed, RoutedError, follow};
use isthmus_topology::Wiring;
use isthmus_units::Time;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// A network of switches with a known wiring and known routes, which determine its [`Fabric`].
pub trait Switches: Debug + Send + Sync + 'static {
    /// Type of the routes that packets may take.
    type Routes: Routes + Debug + Send + Sync + 'static;

    /// Return the network and its routes.
    fn routed(&self) -> &Routed<Self::Routes>;

    /// Return the kind of the links from one switch to another, as results name it, and the rank of the kind. Ranks
    /// start at 1 and have the order in which packets cross links.
    fn between(&self, _from: u32, _to: u32) -> (&'static str, u8) {
        ("switch_link", 1)
    }

    /// Return the group of a switch, if switches form groups: packets leave a group only over links between groups.
    /// `None` by default.
    fn group(&self, _switch: u32) -> Option<u32> {
        None
    }

    /// Return the numbers of outcomes of the random choices of routes, as [`Fabric::choices`] does. By default both are
    /// 1: nothing is chosen at random.
    fn choices(&self) -> Option<[u32; 2]> {
        Some([1, 1])
    }

    /// Return the signal delay of the longest link. Zero by default.
    fn longest_delay(&self) -> Time {
        Time::ZERO
    }

    /// Return the signal delay of a link from one switch to another: by default the delay of the longest link.
    fn delay(&self, _from: u32, _to: u32) -> Time {
        self.longest_delay()
    }

    /// Return the maximum number of channel classes that packets use on a link between two switches. By default this
    /// is the number of all classes.
    fn classes(&self, _from: u32, _to: u32) -> u32 {
        self.routed().routes().classes()
    }
}

impl<W: Routes + Debug + Send + Sync + 'static> Switches for Routed<W> {
    /// Type of the routes that packets may take.
    type Routes = W;

    /// Return the network of switches with its routes.
    fn routed(&self) -> &Self {
        self
    }
}

impl<S: Switches> Fabric for S {
    /// Type of the routes that packets may take.
    type Routes = S::Routes;

    /// Return the routes of packets, which simulations share.
    fn routes(&self) -> &Arc<S::Routes> {
        self.routed().routes()
    }

    /// Return the parameters of links, switches and interfaces.
    fn network(&self) -> &Network {
        self.routed().network()
    }

    /// Return all links in the order of their numbers.
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
                classes: between(self, from, to, self.routed().routes().classes(), S::classes),
            }
        })
    }

    /// Return the number of switches on a route between two nodes.
    fn switches_between(&self, from: u32, to: u32) -> u32 {
        follow(&**self.routed().routes(), from, to).len() as u32 - 1
    }

    /// Return the largest number of switches on any route.
    fn switches_at_most(&self) -> u32 {
        self.routed().routes().longest_route() - 1
    }

    /// Return two numbers of equally likely outcomes: of the random choice of a route at injection, and of that at a
    /// link. Return `None` if routes depend on the load.
    fn choices(&self) -> Option<[u32; 2]> {
        self.choices()
    }

    /// Return whether all routes can be followed link by link.
    fn is_followed(&self) -> bool {
        followed_choices(self).is_some()
    }

    /// Return the signal delay of the longest link.
    fn longest_delay(&self) -> Time {
        self.longest_delay()
    }

    /// Return the bundles of links that packets from node `from` to the nodes `to` cross, with the share of the packets
    /// that cross each. If routes depend on queues or are too many to follow, these are only the links of nodes and,
    /// for each group and direction, one bundle of all links between groups.
    fn crossed_bundles(&self, from: u32, to: &[u32]) -> Vec<Crossed> {
        let routes = &**self.routed().routes();
        match followed_choices(self) {
            Some(choices) => routed(routes, from, to, choices),
            None => {
                let mut links = routed(routes, from, to, [1, 1]);
                let wiring = self.routed().wiring();
                let nodes = wiring.node_count();
                links.retain(|crossed| {
                    let (from, to) = ends(wiring, crossed.bundle);
                    from < nodes || to < nodes
                });
                links.extend(cuts(self, from, to));
                links
            }
        }
    }

    /// Return a bundle by its number: the parallel links between two vertices if it is the number of the first of
    /// them; for numbers above those of all links, all links out of a group or into it.
    fn bundle(&self, first: u32) -> Bundle {
        let wiring = self.routed().wiring();
        if let Some(cut) = first.checked_sub(wiring.link_count()) {
            return cut_bundle(self, cut);
        }
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

    /// Return the analytic estimates for jobs on the nodes of `layout`.
    fn overlay(&self, traffic: &JobsTraffic, layout: &Layout) -> Overlay {
        estimate::overlay(self, traffic, layout)
    }
}

/// Return the numbers of outcomes of the random choices of routes ([`Fabric::choices`]) if the model can follow all
/// routes; `None` if routes depend on the load or are too many.
fn followed_choices<S: Switches>(switches: &S) -> Option<[u32; 2]> {
    let nodes = u64::from(switches.routed().wiring().node_count());
    let is_few = |[first, next]: &[u32; 2]| {
        u64::from(*first) * u64::from(*next) * nodes * nodes <= RANDOM_ROUTES_MAX
    };
    (switches.choices()).filter(|choices| *choices == [1, 1] || is_few(choices))
}

/// Return the minimum shares of the packets from node `from` to the nodes `to` that cross cuts: the links out of the
/// group of `from`, and the links into each other group. Packets are spread evenly over the classes of channels.
fn cuts<S: Switches>(switches: &S, from: u32, to: &[u32]) -> Vec<Crossed> {
    let wiring = switches.routed().wiring();
    let nodes = wiring.node_count();
    let switch_of = |node: u32| wiring.target(wiring.out_of(node).start) - nodes;
    let others = || to.iter().copied().filter(|&other| other != from);
    let each = 1.0 / others().count().max(1) as f64;
    let start = switch_of(from);
    let mut shares = BTreeMap::new();
    for end in others().map(switch_of) {
        let (Some(out), Some(into)) = (switches.group(start), switches.group(end)) else {
            continue;
        };
        if out != into {
            let classes = switches.classes(start, end);
            for cut in [2 * out, 2 * into + 1] {
                for class in 0..classes as u16 {
                    *shares.entry((cut, class)).or_insert(0.0) += each / f64::from(classes);
                }
            }
        }
    }
    let crossed = |((cut, class), share)| Crossed {
        bundle: wiring.link_count() + cut,
        before: None,
        class,
        share,
    };
    shares.into_iter().map(crossed).collect()
}

/// Return whether the cut with this number consists of the links out of a group of switches (true), or of those into
/// the group (false).
fn is_out(cut: u32) -> bool {
    cut.is_multiple_of(2)
}

/// Return the links of a cut: those out of the group of switches `cut / 2`, or those into this group.
fn cut_links<S: Switches>(switches: &S, cut: u32) -> Vec<u32> {
    let wiring = switches.routed().wiring();
    let is_cut = |link: &u32| {
        let (from, to) = ends(wiring, *link);
        let ends = match is_out(cut) {
            true => (from, to),
            false => (to, from),
        };
        let group = |vertex: u32| switches.group(vertex.checked_sub(wiring.node_count())?);
        group(ends.0) == Some(cut / 2) && group(ends.1).is_some_and(|other| other != cut / 2)
    };
    (0..wiring.link_count()).filter(is_cut).collect()
}

/// Return the links of a cut, out of a group of switches or into it, as one bundle.
fn cut_bundle<S: Switches>(switches: &S, cut: u32) -> Bundle {
    let links = cut_links(switches, cut);
    let (from, to) = ends(switches.routed().wiring(), links[0]);
    let (kind, rank) = kind(switches, from, to);
    let (direction, place) = match is_out(cut) {
        true => ("out of", 1),
        false => ("into", 2),
    };
    Bundle {
        name: format!("{}s {direction} a group, at least", kind.replace('_', " ")),
        order: (rank, place),
        delay: between(switches, from, to, Time::ZERO, S::delay),
        links,
        into_node: false,
    }
}

/// Convert an error of a network or its routes to an error of the scenario field that causes it.
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

/// Return the vertices at the start and at the end of a link.
fn ends(wiring: &Wiring, link: u32) -> (u32, u32) {
    (wiring.target(wiring.reverse(link)), wiring.target(link))
}

/// Return the signal delay of a link.
pub(super) fn delay_of<S: Switches>(switches: &S, link: u32) -> Time {
    let (from, to) = ends(switches.routed().wiring(), link);
    between(switches, from, to, Time::ZERO, S::delay)
}

/// Return the kind of a link, and the rank of the kind in the order in which packets cross links.
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

/// Return `property` of the link between two vertices if both are switches, and `of_node` otherwise.
fn between<S: Switches, T>(
    switches: &S,
    from: u32,
    to: u32,
    of_node: T,
    property: impl Fn(&S, u32, u32) -> T,
) -> T {
    let nodes = switches.routed().wiring().node_count();
    match (from.checked_sub(nodes), to.checked_sub(nodes)) {
        (Some(from), Some(to)) => property(switches, from, to),
        _ => of_node,
    }
}
