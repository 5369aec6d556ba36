//! Errors in a list of routes.

use super::route::LAYERS_MAX;
use crate::graph::GraphProblem;
use thiserror::Error;

/// Maximum number of switches that an error message names.
pub(super) const NAMED_MAX: usize = 12;

/// A reason why a list describes no valid routes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// A line cannot be read.
    #[error("{problem}")]
    Line {
        /// Line number, from 1, of the error in the list of routes.
        line: usize,
        /// The problem in the line.
        problem: GraphProblem,
    },
    /// A line has a wrong number of words.
    #[error("{found} words; a route has three and perhaps a layer")]
    Words {
        /// Line number, from 1, of the error in the list of routes.
        line: usize,
        /// Number of words on the line.
        found: usize,
    },
    /// A line names a switch that does not exist.
    #[error("no switch is called {name:?}")]
    Unknown {
        /// Line number, from 1, of the error in the list of routes.
        line: usize,
        /// The name as written in the list.
        name: String,
        /// Name of a switch of the network, as an example.
        first: String,
    },
    /// The last number of a range of destinations is below the first.
    #[error("\"{first}-{last}\" runs backwards")]
    Backwards {
        /// Line number, from 1, of the error in the list of routes.
        line: usize,
        /// First number of the range.
        first: u32,
        /// Last number of the range.
        last: u32,
    },
    /// A route has an invalid layer.
    #[error("a layer of {word:?}")]
    Layer {
        /// Line number, from 1, of the error in the list of routes.
        line: usize,
        /// The layer as written in the list.
        word: String,
    },
    /// The destination of a route is the switch where the route starts.
    #[error("a route from {name:?} to itself")]
    Itself {
        /// Line number, from 1, of the error in the list of routes.
        line: usize,
        /// Name of the switch with this error.
        name: String,
    },
    /// A route leads to a next switch that is no neighbour.
    #[error("no cable leads from {from:?} to {next:?}")]
    NoCable {
        /// Line number, from 1, of the error in the list of routes.
        line: usize,
        /// Name of the switch where the route starts.
        from: String,
        /// Name of the next switch in the list.
        next: String,
        /// Names of the neighbours of the switch where the route starts.
        beside: Vec<String>,
    },
    /// A switch has two routes to one destination.
    #[error("the route from {from:?} to {to:?} is given twice")]
    Twice {
        /// Line number of the second route.
        line: usize,
        /// Name of the switch with this error.
        from: String,
        /// Name of the switch to which the routes lead.
        to: String,
    },
    /// A switch that packets reach has no route to their destination.
    #[error("switch {at:?} has no route to {to:?}: nobody reaches that from {from:?}")]
    Missing {
        /// Line number of the route that leads to the switch, or `None` if packets start there.
        line: Option<usize>,
        /// Name of the switch with this error.
        at: String,
        /// Name of the switch to which the routes lead.
        to: String,
        /// Name of a switch with nodes whose packets reach the switch without a route.
        from: String,
    },
    /// Routes form a cycle, so that packets never arrive.
    #[error("the routes to {to:?} lead around in a circle, at switches {}", named(.circle))]
    Loop {
        /// Line number, from 1, of one of the routes in the cycle.
        line: usize,
        /// Name of the switch to which the routes lead.
        to: String,
        /// Names of the switches in the cycle, in the order of the routes.
        circle: Vec<String>,
    },
    /// Packets that hold channels may wait for one another in a cycle.
    #[error("packets could wait for one another in a circle, at switches {}", named(.circle))]
    Deadlock {
        /// Line number, from 1, of one of the routes in the cycle.
        line: usize,
        /// Names of the switches in the cycle, in order.
        circle: Vec<String>,
    },
}

/// Return the names of switches as text, shortened if there are many.
fn named(switches: &[String]) -> String {
    let some = switches[..switches.len().min(NAMED_MAX)].join(", ");
    match switches.len() {
        n if n > NAMED_MAX => format!("{some}, ..."),
        _ => some,
    }
}

impl RouteError {
    /// Return the line number in the list, from 1, or `None` if the error belongs to no line.
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

    /// Return a text that suggests how to fix the list.
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
            Self::Deadlock { .. } => "put some of these routes into another layer".to_owned(),
        }
    }
}

/// Return a switch name as it is written in a list, in quotes if necessary.
fn written(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_.:/".contains(c);
    match name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}
