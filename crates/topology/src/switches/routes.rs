//! Routes as a text lists them.

use super::neighbors::Neighbors;
use super::{Form, has_nodes};
use crate::Wiring;
use crate::deadlock;
use crate::graph::{GraphProblem, Word, words};
use std::collections::HashMap;
use std::fmt;
use thiserror::Error;

/// Layers of virtual channels that a list may name.
const LAYERS_MAX: u16 = 256;

/// Characters of a word that an error shows.
const WORD_MAX: usize = 60;

/// Most switches that an error names.
const NAMED_MAX: usize = 12;

/// Why a list makes no routes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// A line that cannot be read.
    #[error("{problem}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: GraphProblem,
    },
    /// A line of another form.
    #[error("{found} words; a route has three and perhaps a layer")]
    Words {
        /// The line.
        line: usize,
        /// How many there are.
        found: usize,
    },
    /// A switch that there is not.
    #[error("no switch is called {name:?}")]
    Unknown {
        /// The line.
        line: usize,
        /// What is written.
        name: String,
        /// A switch that there is.
        first: String,
    },
    /// Destinations of which the last comes before the first.
    #[error("\"{first}-{last}\" runs backwards")]
    Backwards {
        /// The line.
        line: usize,
        /// The first.
        first: u32,
        /// The last.
        last: u32,
    },
    /// A layer that is none.
    #[error("a layer of {word:?}")]
    Layer {
        /// The line.
        line: usize,
        /// What is written.
        word: String,
    },
    /// A route that leads nowhere.
    #[error("a route from {name:?} to itself")]
    Itself {
        /// The line.
        line: usize,
        /// The switch.
        name: String,
    },
    /// Two switches that are not beside one another.
    #[error("no cable leads from {from:?} to {next:?}")]
    NoCable {
        /// The line.
        line: usize,
        /// The one.
        from: String,
        /// The other.
        next: String,
        /// Those beside the one.
        beside: Vec<String>,
    },
    /// A destination that a switch has two routes to.
    #[error("the route from {from:?} to {to:?} is given twice")]
    Twice {
        /// The line of the second.
        line: usize,
        /// The switch.
        from: String,
        /// The destination.
        to: String,
    },
    /// A switch where packets are lost.
    #[error("switch {at:?} has no route to {to:?}: nobody reaches that from {from:?}")]
    Missing {
        /// The line of the route that leads there, if one does.
        line: Option<usize>,
        /// The switch.
        at: String,
        /// The destination.
        to: String,
        /// A switch with nodes whose packets come there.
        from: String,
    },
    /// Routes that never arrive.
    #[error("the routes to {to:?} lead around in a circle, at switches {}", named(.circle))]
    Loop {
        /// The line of one of them.
        line: usize,
        /// The destination.
        to: String,
        /// The switches, in the order of the routes.
        circle: Vec<String>,
    },
    /// Packets that hold channels could wait for one another.
    #[error("packets could wait for one another in a circle, at switches {}", named(.circle))]
    Deadlock {
        /// The line of one of the routes.
        line: usize,
        /// The switches, in the order of the circle.
        circle: Vec<String>,
    },
}

fn named(switches: &[String]) -> String {
    let some = switches[..switches.len().min(NAMED_MAX)].join(", ");
    match switches.len() {
        n if n > NAMED_MAX => format!("{some}, ..."),
        _ => some,
    }
}

impl RouteError {
    /// The line of the list, from 1, if it is one.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Line { line, .. }
            | Self::Words { line, .. }
            | Self::Unknown { line, .. }
            | Self::Backwards { line, .. }
            | Self::Layer { line, .. }
            | Self::Itself { line, .. }
            | Self::NoCable { line, .. }
            | Self::Twice { line, .. }
            | Self::Loop { line, .. }
            | Self::Deadlock { line, .. } => Some(*line),
            Self::Missing { line, .. } => *line,
        }
    }

    /// What would be right.
    pub fn hint(&self) -> String {
        match self {
            Self::Line { .. } | Self::Words { .. } => {
                "write a switch, a destination, or * for all others, and the next switch".to_owned()
            }
            Self::Unknown { first, .. } => {
                format!("name a switch of the network, such as {first:?}")
            }
            Self::Backwards { first, last, .. } => format!("write \"{last}-{first}\""),
            Self::Layer { .. } => format!("give a layer of 0 to {}", LAYERS_MAX - 1),
            Self::Itself { .. } | Self::Twice { .. } => "remove it".to_owned(),
            Self::NoCable { beside, .. } => {
                format!("go on to a switch beside it: {}", named(beside))
            }
            Self::Missing { at, to, .. } => {
                format!(
                    "add a line: {}, {} or *, and the next switch",
                    written(at),
                    written(to)
                )
            }
            Self::Loop { to, .. } => format!("let one of them go on towards {to:?}"),
            Self::Deadlock { .. } => {
                "put some of these routes into another layer, or choose up*/down* ones".to_owned()
            }
        }
    }
}

/// A name as a list has it.
fn written(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_.:/".contains(c);
    match name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}

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

/// The switches of a form by their names.
struct Names<'f> {
    form: &'f Form,
    switches: u32,
    /// None if each is called by its number.
    numbers: Option<HashMap<String, u32>>,
}

impl<'f> Names<'f> {
    fn new(form: &'f Form) -> Self {
        let switches = form.switch_count();
        let own = (0..switches).all(|switch| form.name(switch) == switch.to_string());
        let names = (0..switches).map(|switch| (form.name(switch), switch));
        Self {
            form,
            switches,
            numbers: (!own).then(|| names.collect()),
        }
    }

    fn of(&self, name: &str) -> Option<u32> {
        match &self.numbers {
            Some(numbers) => numbers.get(name).copied(),
            // "01" is no name of switch 1.
            None => {
                let number = name.parse().ok().filter(|&number| number < self.switches);
                number.filter(|number: &u32| number.to_string() == name)
            }
        }
    }

    fn find(&self, name: &str, line: usize) -> Result<u32, RouteError> {
        self.of(name).ok_or_else(|| RouteError::Unknown {
            line,
            name: name.chars().take(WORD_MAX).collect(),
            first: self.form.name(0),
        })
    }

    fn number(&self, number: u32, line: usize) -> Result<u32, RouteError> {
        match self.numbers {
            None if number < self.switches => Ok(number),
            _ => self.find(&number.to_string(), line),
        }
    }

    /// The first and the last number of a word that is a run of them and no name.
    fn run(&self, word: &Word) -> Option<(u32, u32)> {
        let (first, last) = word.text.split_once('-').filter(|_| !word.quoted)?;
        let ends = first.parse().ok().zip(last.parse().ok())?;
        self.of(&word.text).is_none().then_some(ends)
    }
}

/// A list as it is read.
struct Reader<'f> {
    names: Names<'f>,
    beside: Neighbors,
    routes: Vec<Route>,
    /// By the switch and the destination whether there is a route; by itself, one for all others.
    given: Vec<bool>,
}

impl Reader<'_> {
    fn line(&mut self, line: usize, text: &str) -> Result<(), RouteError> {
        let (words, rest) = words(text).map_err(|problem| RouteError::Line { line, problem })?;
        let found = words.len() + usize::from(rest.is_some());
        let (at, to, next, layer) = match &words[..] {
            _ if found == 0 => return Ok(()),
            [at, to, next] if found == 3 => (at, to, next, 0),
            [at, to, next, layer] if found == 4 => (at, to, next, layer_of(layer, line)?),
            _ => return Err(RouteError::Words { line, found }),
        };
        let at = self.names.find(&at.text, line)?;
        let mut route = Route {
            at,
            to: None,
            next: at,
            layer,
            line: line as u32,
        };
        let run = match (to.quoted, to.text.as_str()) {
            (false, "*") => None,
            _ => Some(self.names.run(to)),
        };
        let one = match run {
            Some(None) => Some(self.names.find(&to.text, line)?),
            _ => None,
        };
        let name = |switch: u32| self.names.form.name(switch);
        if one == Some(at) {
            return Err(RouteError::Itself {
                line,
                name: name(at),
            });
        }
        route.next = self.names.find(&next.text, line)?;
        if self.beside.link(at, route.next).is_none() {
            let beside = self.beside.of(at);
            return Err(RouteError::NoCable {
                line,
                from: name(at),
                next: name(route.next),
                beside: beside
                    .iter()
                    .take(NAMED_MAX + 1)
                    .map(|&other| name(other))
                    .collect(),
            });
        }
        match (run.flatten(), one) {
            (Some((first, last)), _) if first > last => {
                return Err(RouteError::Backwards { line, first, last });
            }
            (Some((first, last)), _) => {
                for number in first..=last {
                    let to = self.names.number(number, line)?;
                    if to != at {
                        self.add(&route, Some(to))?;
                    }
                }
            }
            (None, to) => self.add(&route, to)?,
        }
        Ok(())
    }

    /// Adds a route to a destination, to the last one if that goes on with it.
    fn add(&mut self, route: &Route, to: Option<u32>) -> Result<(), RouteError> {
        let place = route.at * self.names.switches + to.unwrap_or(route.at);
        if std::mem::replace(&mut self.given[place as usize], true) {
            return Err(RouteError::Twice {
                line: route.line as usize,
                from: self.names.form.name(route.at),
                to: to.map_or("*".to_owned(), |to| self.names.form.name(to)),
            });
        }
        let last = self
            .routes
            .last_mut()
            .filter(|last| last.line == route.line);
        match (last.and_then(|last| last.to.as_mut()), to) {
            (Some((_, last)), Some(to)) if *last + 1 == to => *last = to,
            _ => self.routes.push(Route {
                to: to.map(|to| (to, to)),
                ..route.clone()
            }),
        }
        Ok(())
    }
}

/// A layer, as a number or as `layer=1`.
fn layer_of(word: &Word, line: usize) -> Result<u16, RouteError> {
    let number = word.text.strip_prefix("layer=").unwrap_or(&word.text);
    let layer = number.parse().ok().filter(|&layer| layer < LAYERS_MAX);
    layer.ok_or_else(|| RouteError::Layer {
        line,
        word: word.text.chars().take(WORD_MAX).collect(),
    })
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
        let names = Names::new(form);
        let mut reader = Reader {
            beside: Neighbors::new(&form.wiring(0)).sorted(),
            routes: Vec::new(),
            given: vec![false; (names.switches as usize).pow(2)],
            names,
        };
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

/// Where packets do not arrive.
enum Lost {
    /// From one switch they come to another without a route, from the third.
    Missing(u32, u32, Option<u32>),
    /// They come by these again and again.
    Circle(Vec<u32>),
}

impl Lost {
    fn told(self, ways: &Listing<'_>, form: &Form, to: u32) -> RouteError {
        let line = |at: u32| ways.route(at, to).map_or(0, |route| route.line as usize);
        match self {
            Self::Missing(from, at, before) => RouteError::Missing {
                line: before.map(line),
                at: form.name(at),
                to: form.name(to),
                from: form.name(from),
            },
            Self::Circle(circle) => RouteError::Loop {
                line: circle.iter().map(|&at| line(at)).min().unwrap_or(0),
                to: form.name(to),
                circle: circle.iter().map(|&at| form.name(at)).collect(),
            },
        }
    }
}

/// Channels that packets take, a layer of a link each, numbered as they come.
struct Used {
    beside: Neighbors,
    /// Of each link the layers that packets are in there, each with the number of the channel.
    numbers: Vec<Vec<(u16, u32)>>,
    /// Of each channel the switch that it leaves.
    from: Vec<u32>,
    /// Of each channel those that packets want while they hold it.
    wanted: Vec<Vec<u32>>,
    /// Of each switch the last destination that a way over it led to.
    crossed: Vec<u32>,
    way: Vec<u32>,
}

impl Used {
    fn new(wiring: &Wiring) -> Self {
        let beside = Neighbors::new(wiring).sorted();
        Self {
            numbers: vec![Vec::new(); beside.links()],
            from: Vec::new(),
            wanted: Vec::new(),
            crossed: vec![u32::MAX; beside.switches() as usize],
            beside,
            way: Vec::new(),
        }
    }

    /// The channel from a switch by a route.
    fn channel(&mut self, route: &Route) -> u32 {
        let link = self.beside.link(route.at, route.next).unwrap_or(0);
        let numbers = &mut self.numbers[link as usize];
        let known = numbers.iter().find(|&&(layer, _)| layer == route.layer);
        if let Some(&(_, number)) = known {
            return number;
        }
        let number = self.from.len() as u32;
        numbers.push((route.layer, number));
        self.from.push(route.at);
        self.wanted.push(Vec::new());
        number
    }

    /// Follows the ways from these switches to one; the layers that packets are in on them.
    fn follow(&mut self, ways: &Listing<'_>, ends: &[u32], to: u32) -> Result<u16, Lost> {
        let mut layers = 1;
        self.crossed[to as usize] = to;
        for &from in ends {
            let mut at = from;
            self.way.clear();
            while std::mem::replace(&mut self.crossed[at as usize], to) != to {
                let before = self.way.last().copied();
                let route = ways.route(at, to).ok_or(Lost::Missing(from, at, before))?;
                layers = layers.max(route.layer + 1);
                self.way.push(at);
                at = route.next;
            }
            if let Some(start) = self.way.iter().position(|&crossed| crossed == at) {
                return Err(Lost::Circle(self.way.split_off(start)));
            }
            while let Some(at) = self.way.pop() {
                if let Some((first, second)) = ways.pair(at, to) {
                    let [held, wanted] = [first, second].map(|route| self.channel(route));
                    let known = &mut self.wanted[held as usize];
                    if !known.contains(&wanted) {
                        known.push(wanted);
                    }
                }
            }
        }
        Ok(layers)
    }

    /// A circle of waiting: the line of a route, and the switches.
    fn check(&mut self, ways: &Listing<'_>, ends: &[u32]) -> Result<(), (usize, Vec<u32>)> {
        let after = |held: usize| self.wanted[held].iter().map(|&wanted| wanted as usize);
        let Err(circle) = deadlock::check(self.wanted.len(), after) else {
            return Ok(());
        };
        let from = circle
            .channels
            .iter()
            .map(|&channel| self.from[channel])
            .collect();
        let two = [0, 1 % circle.channels.len()].map(|place| circle.channels[place] as u32);
        let pairs = ends
            .iter()
            .flat_map(|&to| (0..ways.switches).map(move |at| (at, to)));
        let mut pairs = pairs.filter_map(|(at, to)| ways.pair(at, to));
        let waits = |(first, second): &(&Route, &Route)| {
            [*first, *second].map(|route| self.channel(route)) == two
        };
        let line = pairs
            .find(waits)
            .map_or(0, |(first, _)| first.line as usize);
        Err((line, from))
    }
}
