//! A routing table, entry by entry, and a list of the routes from every switch to every other.

use std::fmt;

/// Maximum number of layers of virtual channels in a list, which is the maximum number of channels per link.
pub(super) const LAYERS_MAX: u16 = 16;

/// An entry of a routing table: at switch `at`, the next switch for a range of destinations.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub at: u32,
    /// First and last destination; `None` stands for all destinations without another route from the switch.
    pub to: Option<(u32, u32)>,
    pub next: u32,
    pub layer: u16,
    pub line: u32,
}

/// Formats a route in a short form, because debug output may list millions of routes.
impl fmt::Debug for Route {
    /// Write the switch, the range of destinations, the next switch and the layer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.to.unwrap_or((u32::MAX, 0));
        write!(f, "{} {first} {last} {} {}", self.at, self.next, self.layer)
    }
}

/// A complete list of routes between switches. Every route that a packet uses leads to its destination, and the routes
/// cannot deadlock.
#[derive(Debug)]
pub struct Listing<'r> {
    pub(super) routes: &'r [Route],
    pub(super) switches: u32,
    /// Index in `routes` of the route from each switch to each destination switch, the destinations first; `u32::MAX`
    /// if no route exists.
    pub(super) of: Vec<u32>,
    pub(super) layers: u16,
}

impl Listing<'_> {
    /// Return the entry for the route at switch `at` to switch `to`; `None` if none exists or the two are the same.
    pub(super) fn route(&self, at: u32, to: u32) -> Option<&Route> {
        let place = self.of[(to * self.switches + at) as usize];
        self.routes.get(place as usize).filter(|_| at != to)
    }

    /// For destination `to`, return the route at switch `at` and the route at the next switch. Return `None` if one of
    /// the two switches is the destination.
    pub(super) fn consecutive_routes(&self, at: u32, to: u32) -> Option<(&Route, &Route)> {
        let first = self.route(at, to)?;
        Some((first, self.route(first.next, to)?))
    }

    /// Return the next switch after `at` for destination `to`, and the layer of the link to it; `None` at the
    /// destination.
    pub fn next(&self, at: u32, to: u32) -> Option<(u32, u16)> {
        self.route(at, to).map(|route| (route.next, route.layer))
    }

    /// Return the number of layers of virtual channels: the highest used layer plus one.
    pub fn layers(&self) -> u16 {
        self.layers
    }
}
