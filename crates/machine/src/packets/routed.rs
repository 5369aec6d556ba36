//! A network in any form, with the routes through it.

use super::network::{Network, NetworkError};
use isthmus_packet::routes::{Header, LocalView, Routes, Run};
use isthmus_topology::Wiring;
use isthmus_topology::deadlock::{Dependencies, DependencyCycle};
use std::sync::Arc;
use thiserror::Error;

/// Why packets cannot be sent through a network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoutedError {
    /// Fewer virtual channels than classes of them.
    #[error(
        "routes take {classes} classes of virtual channels and links have {channels}, so that packets could \
         wait for one another in a circle"
    )]
    Classes {
        /// Virtual channels that there are.
        channels: u32,
        /// How many there must be.
        classes: u32,
    },
    /// Packets that hold channels could wait for one another in a circle.
    #[error("packets could wait for one another in a circle, at switches {}", named(.switches))]
    Circle {
        /// The switches at which they would, in the order of the circle.
        switches: Vec<u32>,
    },
    /// A route that is longer than [`Routes::longest_route`].
    #[error("the way from node {from} to node {to} does not end")]
    Endless {
        /// Where it begins.
        from: u32,
        /// Where it should end.
        to: u32,
    },
    /// Its links, switches or interfaces cannot be.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// Most switches of a circle that are named.
const NAMED_MAX: usize = 12;

fn named(switches: &[u32]) -> String {
    let some = switches.iter().take(NAMED_MAX).map(u32::to_string);
    let some: Vec<String> = some.collect();
    let more = if switches.len() > NAMED_MAX {
        ", ..."
    } else {
        ""
    };
    format!("{}{more}", some.join(", "))
}

/// A network and the routes that packets take through it, free of deadlock.
#[derive(Debug)]
pub struct Routed<W> {
    wiring: Arc<Wiring>,
    routes: Arc<W>,
    network: Network,
}

impl<W: Routes> Routed<W> {
    /// A network with these links and routes. All routes are followed, to see that no packets can wait for one
    /// another in a circle, which takes time in the pairs of nodes; they must not be drawn by lot.
    ///
    /// # Errors
    /// A circle, a route that does not end, fewer virtual channels than the routes have classes, rules that
    /// contradict one another.
    pub fn new(
        wiring: impl Into<Arc<Wiring>>,
        routes: W,
        network: Network,
    ) -> Result<Self, RoutedError> {
        let routed = Self::proven(wiring, routes, network)?;
        routed.check_waiting()?;
        Ok(routed)
    }

    /// The same with routes of which it is known that no packets can wait for one another in a circle.
    ///
    /// # Errors
    /// Fewer virtual channels than the routes have classes, rules that contradict one another.
    pub fn proven(
        wiring: impl Into<Arc<Wiring>>,
        routes: W,
        network: Network,
    ) -> Result<Self, RoutedError> {
        let (channels, classes) = (network.spec().virtual_channels, routes.classes());
        if channels < classes {
            return Err(RoutedError::Classes { channels, classes });
        }
        network.check_on(&routes)?;
        Ok(Self {
            wiring: wiring.into(),
            routes: Arc::new(routes),
            network,
        })
    }

    /// The first theorem of Dally and Seitz, over the classes of channels of all links.
    fn check_waiting(&self) -> Result<(), RoutedError> {
        let classes = self.routes.classes();
        let channel = |&(run, class): &(Run, u16)| (run.first * classes) as usize + class as usize;
        let mut waits = Dependencies::new((self.wiring.link_count() * classes) as usize);
        let nodes = self.wiring.node_count();
        for from in 0..nodes {
            for to in (0..nodes).filter(|&to| to != from) {
                let route = follow(&*self.routes, from, to);
                let last = route.last().map(|&(run, _)| self.wiring.target(run.first));
                if last != Some(to) {
                    return Err(RoutedError::Endless { from, to });
                }
                waits.add_path(route.iter().map(channel));
            }
        }
        let circle = |cycle: DependencyCycle| RoutedError::Circle {
            switches: cycle
                .channels
                .iter()
                .map(|&channel| self.wiring.target(channel as u32 / classes) - nodes)
                .collect(),
        };
        waits.check().map_err(circle)?;
        Ok(())
    }
}

impl<W> Routed<W> {
    /// Nodes, switches and links.
    pub fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Where packets may go.
    pub fn routes(&self) -> &Arc<W> {
        &self.routes
    }

    /// Its links, switches and interfaces.
    pub fn network(&self) -> &Network {
        &self.network
    }
}

/// The runs of links that a packet takes and the class of channels on each, where nothing is drawn by lot;
/// no further than [`Routes::longest_route`].
pub fn follow<W: Routes>(routes: &W, from: u32, to: u32) -> Vec<(Run, u16)> {
    walk(routes, from, to, [0, 0])
}

/// All routes of a packet, each as likely as the others, where chance decides among so many when the packet is injected,
/// and among so many, or a part of them, at a link. It must not follow what links hold.
pub fn follow_all<W: Routes>(
    routes: &W,
    from: u32,
    to: u32,
    [first, next]: [u32; 2],
) -> impl Iterator<Item = Vec<(Run, u16)>> {
    // The middle of each part of all lots.
    let lot = |place: u32, of: u32| {
        let part = u64::MAX / u64::from(of);
        part * u64::from(place) + part / 2
    };
    (0..first).flat_map(move |place| {
        let first = lot(place, first);
        (0..next).map(move |place| walk(routes, from, to, [first, lot(place, next)]))
    })
}

/// The route by these lots, the one at the injection and that at each link.
fn walk<W: Routes>(routes: &W, from: u32, to: u32, [first, next]: [u64; 2]) -> Vec<(Run, u16)> {
    let mut header = Header {
        from,
        to,
        links: 0,
        state: routes.initial_state(from, to),
        class: 0,
    };
    let run = routes.first_links(&mut header, || next);
    header.state = routes.choose_route(&header, &Idle, || first);
    let mut route = vec![(run, header.class)];
    while let Some(&(run, _)) = route.last() {
        let end = routes.end(run.first);
        if end.vertex == to || route.len() > routes.longest_route() as usize {
            break;
        }
        header.links += 1;
        let run = routes.next_links(&mut header, end, || next);
        route.push((run, header.class));
    }
    route
}

/// A network without packets.
struct Idle;

impl LocalView for Idle {
    fn occupied(&self, _: u32) -> u64 {
        0
    }

    fn waiting(&self, _: u32) -> u64 {
        0
    }
}
