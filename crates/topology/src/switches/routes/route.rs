//! One route, and the routes from every switch to every other.

use std::fmt;

/// Layers of virtual channels that a list may name: as many as links may have channels.
pub(super) const LAYERS_MAX: u16 = 16;

/// Where packets at a switch go on to a run of destinations.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub at: u32,
    /// `None`: all destinations that no other route of the switch is for.
    pub to: Option<(u32, u32)>,
    pub next: u32,
    pub layer: u16,
    pub line: u32,
}

/// Short, for lists of millions.
impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.to.unwrap_or((u32::MAX, 0));
        write!(f, "{} {first} {last} {} {}", self.at, self.next, self.layer)
    }
}

/// What routes are there from every switch to every other, of which those that packets take arrive and close no
/// circle of waiting.
#[derive(Debug)]
pub struct Listing<'r> {
    pub(super) routes: &'r [Route],
    pub(super) switches: u32,
    /// By the last switch and the present one the place of the route; none: `u32::MAX`.
    pub(super) of: Vec<u32>,
    pub(super) layers: u16,
}

impl Listing<'_> {
    pub(super) fn route(&self, at: u32, to: u32) -> Option<&Route> {
        let place = self.of[(to * self.switches + at) as usize];
        self.routes.get(place as usize).filter(|_| at != to)
    }

    /// The routes at a switch and at the next on the way to another that is not that.
    pub(super) fn pair(&self, at: u32, to: u32) -> Option<(&Route, &Route)> {
        let first = self.route(at, to)?;
        Some((first, self.route(first.next, to)?))
    }

    /// The switch to go to at `at` on the way to `to`, and the layer of the link; `None` there.
    pub fn next(&self, at: u32, to: u32) -> Option<(u32, u16)> {
        self.route(at, to).map(|route| (route.next, route.layer))
    }

    /// Layers of virtual channels, those below the highest that packets are in included.
    pub fn layers(&self) -> u16 {
        self.layers
    }
}
