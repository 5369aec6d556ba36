//! Routes as a text lists them.

mod error;
mod follow;
mod read;
mod route;

pub use error::RouteError;
pub use route::Listing;

use super::{Form, has_nodes};
use crate::Wiring;
use follow::Used;
use read::Reader;
use route::Route;

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
                .max(layers.map_err(|lost| lost.route_error(&ways, form, to))?);
        }
        used.check(&ways, &ends)
            .map_err(|(line, circle)| RouteError::Deadlock {
                line,
                circle: circle.iter().map(|&at| form.shown(at)).collect(),
            })?;
        Ok(ways)
    }
}
