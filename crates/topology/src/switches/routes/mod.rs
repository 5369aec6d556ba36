//! Routes as a text lists them.

mod error;
mod follow;
mod read;

pub use error::RouteError;

use super::{Form, has_nodes};
use crate::Wiring;
use follow::Used;
use read::Reader;
use std::fmt;

/// Layers of virtual channels that a list may name.
const LAYERS_MAX: u16 = 256;

/// Where packets at a switch go on to a run of destinations.
#[derive(Clone, PartialEq, Eq)]
struct Route {
    at: u32,
    /// `None`: all destinations that no other route of the switch is for.
    to: Option<(u32, u32)>,
    next: u32,
    layer: u16,
    line: u32,
}

/// Short, for lists of millions.
impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.to.unwrap_or((u32::MAX, 0));
        write!(f, "{} {first} {last} {} {}", self.at, self.next, self.layer)
    }
}

/// A list of routes, as it stands: at a switch, for destinations, the next switch, and the layer of virtual
/// channels on the link to that. Packets wait for all links between the two switches together.
///
/// ```
/// use isthmus_topology::switches::{Form, Routes};
///
/// let ring = Form::Ring { switches: 4 };
/// // Around one way, in layer 1 as long as the link from 3 to 0 is still to come.
/// let text = "0 * 1\n1 0 2 1\n1 * 2\n2 0-1 3 layer=1\n2 3 3\n3 * 0 1\n";
/// let routes = Routes::read(text, &ring)?;
/// let ways = routes.ways(&ring, &ring.wiring(1))?;
/// assert_eq!((ways.next(3, 2), ways.next(0, 2)), (Some((0, 1)), Some((1, 0))));
/// assert_eq!(ways.layers(), 2);
/// # Ok::<(), isthmus_topology::switches::RouteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes {
    /// By the switch and the first destination, what is for all others last.
    routes: Vec<Route>,
}

impl Routes {
    /// Reads routes, one or a run of them a line: a switch, a destination, the next switch, and perhaps a layer,
    /// separated as in a list of edges ([`Graph::from_edge_list`](crate::graph::Graph::from_edge_list)), comments
    /// likewise. A destination is a switch, a run of numbers that are names (`3-7`, without the switch itself),
    /// or `*`, all that the switch has no other route to.
    ///
    /// # Errors
    /// The first line that is wrong.
    ///
    /// # Panics
    /// If the form has a cable from a switch to itself.
    pub fn read(text: &str, form: &Form) -> Result<Self, RouteError> {
        let mut reader = Reader::new(form);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, text) in (1..).zip(text.lines()) {
            reader.line(line, text)?;
        }
        let mut routes = reader.routes;
        // By first destination; what is for all others last.
        routes.sort_by_key(|route| (route.at, route.to.is_none(), route.to));
        Ok(Self { routes })
    }

    /// Follows the routes from every switch with nodes to every other, through this wiring of the form that they
    /// were read for.
    ///
    /// # Errors
    /// The first switch from which they do not lead on, a circle of routes, packets that could wait for one
    /// another in a circle (the first theorem of Dally and Seitz, over the layers of all links).
    pub fn ways(&self, form: &Form, wiring: &Wiring) -> Result<Listing<'_>, RouteError> {
        let switches = wiring.switch_count();
        let mut ways = Listing {
            routes: &self.routes,
            switches,
            of: vec![u32::MAX; (switches as usize).pow(2)],
            layers: 1,
        };
        for (number, route) in (0..).zip(&self.routes) {
            let (first, last) = route.to.unwrap_or((0, switches - 1));
            for to in first..=last {
                let of = &mut ways.of[(to * switches + route.at) as usize];
                if *of == u32::MAX {
                    *of = number;
                }
            }
        }
        let has_nodes = has_nodes(wiring);
        let ends: Vec<u32> = (0..switches).filter(|&at| has_nodes[at as usize]).collect();
        let mut used = Used::new(wiring);
        for &to in &ends {
            let layers = used.follow(&ways, &ends, to);
            ways.layers = ways
                .layers
                .max(layers.map_err(|lost| lost.told(&ways, form, to))?);
        }
        used.check(&ways, &ends)
            .map_err(|(line, circle)| RouteError::Deadlock {
                line,
                circle: circle.iter().map(|&at| form.name(at)).collect(),
            })?;
        Ok(ways)
    }
}

/// What routes are there from every switch to every other, of which those that packets take arrive and close no
/// circle of waiting.
#[derive(Debug)]
pub struct Listing<'r> {
    routes: &'r [Route],
    switches: u32,
    /// By the last switch and the present one the place of the route; none: `u32::MAX`.
    of: Vec<u32>,
    layers: u16,
}

impl Listing<'_> {
    fn route(&self, at: u32, to: u32) -> Option<&Route> {
        let place = self.of[(to * self.switches + at) as usize];
        self.routes.get(place as usize).filter(|_| at != to)
    }

    /// The routes at a switch and at the next on the way to another that is not that.
    fn pair(&self, at: u32, to: u32) -> Option<(&Route, &Route)> {
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
