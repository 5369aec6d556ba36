//! Routes through a network of switches, listed as text.

mod error;
mod follow;
mod read;
mod route;

pub use error::RouteError;
pub use route::Listing;

use super::{Form, has_nodes};
use crate::Wiring;
use follow::UsedChannels;
use read::Reader;
use route::Route;

/// A list of routes. An entry consists of a switch, its destinations, the next switch, and the layer of virtual
/// channels on the link to the next switch. Packets wait for all parallel links between two switches together.
///
/// ```
/// use isthmus_topology::switches::{Form, Routes};
///
/// let ring = Form::Ring { switches: 4 };
/// // Around the ring in one direction, in layer 1 until the link from 3 to 0.
/// let text = "0 * 1\n1 0 2 1\n1 * 2\n2 0-1 3 layer=1\n2 3 3\n3 * 0 1\n";
/// let routes = Routes::read(text, &ring)?;
/// let ways = routes.ways(&ring, &ring.wiring(1))?;
/// assert_eq!((ways.next(3, 2), ways.next(0, 2)), (Some((0, 1)), Some((1, 0))));
/// assert_eq!(ways.layers(), 2);
/// # Ok::<(), isthmus_topology::switches::RouteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes {
    /// All routes, ordered by switch and first destination; the route of a switch for all other destinations is its
    /// last.
    routes: Vec<Route>,
}

impl Routes {
    /// Read one or several routes per line: a switch, a destination, the next switch, and optionally a layer.
    /// Separators and comments are those of edge lists
    /// ([`Graph::from_edge_list`](crate::graph::Graph::from_edge_list)). A destination is a switch, a range of numbers
    /// that are names (`3-7`, without the switch itself), or `*` for all destinations without another route.
    ///
    /// # Errors
    /// The first invalid line of the list.
    ///
    /// # Panics
    /// If the form has a cable from a switch to itself.
    pub fn read(text: &str, form: &Form) -> Result<Self, RouteError> {
        let mut reader = Reader::new(form);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, text) in (1..).zip(text.lines()) {
            reader.read_line(line, text)?;
        }
        let mut routes = reader.routes;
        // Sort by switch, then by first destination; the route for all other destinations is the last.
        routes.sort_by_key(|route| (route.at, route.to.is_none(), route.to));
        Ok(Self { routes })
    }

    /// Follow the routes from every switch with nodes to every other one through `wiring`. The wiring must belong to
    /// the form for which the routes were read.
    ///
    /// # Errors
    /// The first switch without a route to a destination, a cycle of routes, or packets that could deadlock (the first
    /// theorem of Dally and Seitz, applied to the layers of all links).
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
        let mut used = UsedChannels::new(wiring);
        for &to in &ends {
            let layers = used.follow(&ways, &ends, to);
            ways.layers = ways
                .layers
                .max(layers.map_err(|lost| lost.route_error(&ways, form, to))?);
        }
        used.check(&ways, &ends)
            .map_err(|(line, circle)| RouteError::Deadlock {
                line,
                circle: circle.iter().map(|&at| form.shortened_name(at)).collect(),
            })?;
        Ok(ways)
    }
}
