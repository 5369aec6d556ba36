//! A network of any topology, with its routes.

use super::network::{Network, NetworkError};
use isthmus_packet::routes::{Header, LocalView, Routes, Run};
use isthmus_topology::Wiring;
use isthmus_topology::deadlock::{Dependencies, DependencyCycle};
use std::sync::Arc;
use thiserror::Error;

/// Reason why a network with these routes cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoutedError {
    /// The routes need more classes of virtual channels than the links have channels.
    #[error(
        "routes take {classes} classes of virtual channels and links have {channels}, so that packets could \
         wait for one another in a circle"
    )]
    Classes {
        /// Number of virtual channels of a link.
        channels: u32,
        /// Number of classes of virtual channels that the routes need.
        classes: u32,
    },
    /// The routes can deadlock: the dependencies between channels form a cycle.
    #[error("packets could wait for one another in a circle, at switches {}", list_switches(.switches))]
    Circle {
        /// The switches of the cycle, in order.
        switches: Vec<u32>,
    },
    /// The route between two nodes did not end within the maximum length of a route.
    #[error("the way from node {from} to node {to} does not end")]
    Endless {
        /// Source of the route.
        from: u32,
        /// Destination of the route.
        to: u32,
    },
    /// The links, switches or interfaces are invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// Maximum number of switches of a dependency cycle that an error message lists.
const NAMED_MAX: usize = 12;

/// Return the first switches of a cycle as text for an error message: their numbers, and "..." if there are more.
fn list_switches(switches: &[u32]) -> String {
    let some = switches.iter().take(NAMED_MAX).map(u32::to_string);
    let some: Vec<String> = some.collect();
    let more = if switches.len() > NAMED_MAX {
        ", ..."
    } else {
        ""
    };
    format!("{}{more}", some.join(", "))
}

/// A network of links and switches with deadlock-free routes of type `W`.
#[derive(Debug)]
pub struct Routed<W> {
    wiring: Arc<Wiring>,
    routes: Arc<W>,
    network: Network,
}

impl<W: Routes> Routed<W> {
    /// Return a network with these links and routes, after a check that the routes cannot deadlock. The
    /// check follows the routes of all pairs of nodes. The routes must not be random.
    ///
    /// # Errors
    /// If routes can deadlock, a route does not end, links have fewer virtual channels than routes have
    /// classes, or parameters contradict one another.
    pub fn new(
        wiring: impl Into<Arc<Wiring>>,
        routes: W,
        network: Network,
    ) -> Result<Self, RoutedError> {
        let routed = Self::proven(wiring, routes, network)?;
        routed.check_waiting()?;
        Ok(routed)
    }

    /// Return a network with these links and routes without checking the routes, which must be known to be free of
    /// deadlock.
    ///
    /// # Errors
    /// If links have fewer virtual channels than routes have classes, or parameters contradict one another.
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

    /// Check that packets cannot deadlock, by the first theorem of Dally and Seitz: the dependencies between all
    /// virtual channel classes of all links must form no cycle.
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
    /// Return the wiring: the nodes, the switches and the links between them.
    pub fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Return the rules by which packets are routed.
    pub fn routes(&self) -> &Arc<W> {
        &self.routes
    }

    /// Return the properties of the network's links, switches and interfaces.
    pub fn network(&self) -> &Network {
        &self.network
    }
}

/// Return the route of a packet, as runs of parallel links, each with the class of channels that the packet uses. The
/// routes must not be random. A longer route than [`Routes`] allows is cut off.
pub fn follow<W: Routes>(routes: &W, from: u32, to: u32) -> Vec<(Run, u16)> {
    walk(routes, from, to, [0, 0])
}

/// Return all routes that a packet may take, which are equally likely. At the injection, a random number decides among
/// `first` choices; at the links, another one decides among `next` choices, or a divisor of them. The routes must not
/// adapt to the load of links.
pub fn follow_all<W: Routes>(
    routes: &W,
    from: u32,
    to: u32,
    [first, next]: [u32; 2],
) -> impl Iterator<Item = Vec<(Run, u16)>> {
    // The random number in the middle of range number `index`, if all random numbers are divided into `parts` equal
    // ranges.
    let number = |index: u32, parts: u32| {
        let width = u64::MAX / u64::from(parts);
        width * u64::from(index) + width / 2
    };
    (0..first).flat_map(move |index| {
        let first = number(index, first);
        (0..next).map(move |index| walk(routes, from, to, [first, number(index, next)]))
    })
}

/// Return the links and virtual channel classes of a packet's route. Its random numbers are given: `first` for the
/// injection, and `next` for all links.
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

/// The load of links in a network without packets, for adaptive routing: 0 on every link.
struct Idle;

impl LocalView for Idle {
    /// Return the bytes in flight on a link: always 0.
    fn occupied(&self, _: u32) -> u64 {
        0
    }

    /// Return the bytes that wait for a group of parallel links: 0, as routes do not depend on the load.
    fn waiting(&self, _: u32) -> u64 {
        0
    }
}
