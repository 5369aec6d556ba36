//! Errors in a list of routes.

use super::route::LAYERS_MAX;
use crate::graph::GraphProblem;
use thiserror::Error;

/// Maximum number of switches in an error.
pub(super) const NAMED_MAX: usize = 12;

/// A reason why a list describes no valid routes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// A line that cannot be read.
    #[error("{problem}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The problem.
        problem: GraphProblem,
    },
    /// A line with a wrong number of words.
    #[error("{found} words; a route has three and perhaps a layer")]
    Words {
        /// The line.
        line: usize,
        /// Number of words.
        found: usize,
    },
    /// An unknown switch.
    #[error("no switch is called {name:?}")]
    Unknown {
        /// The line.
        line: usize,
        /// The text in the list.
        name: String,
        /// A switch of the network, as an example.
        first: String,
    },
    /// A range of destinations whose last number is below its first.
    #[error("\"{first}-{last}\" runs backwards")]
    Backwards {
        /// The line.
        line: usize,
        /// The first.
        first: u32,
        /// The last.
        last: u32,
    },
    /// An invalid layer.
    #[error("a layer of {word:?}")]
    Layer {
        /// The line.
        line: usize,
        /// The text in the list.
        word: String,
    },
    /// A route to its own switch.
    #[error("a route from {name:?} to itself")]
    Itself {
        /// The line.
        line: usize,
        /// The switch.
        name: String,
    },
    /// Two switches that are no neighbours.
    #[error("no cable leads from {from:?} to {next:?}")]
    NoCable {
        /// The line.
        line: usize,
        /// The first switch.
        from: String,
        /// The second switch.
        next: String,
        /// The neighbours of the first switch.
        beside: Vec<String>,
    },
    /// A second route from a switch to a destination.
    #[error("the route from {from:?} to {to:?} is given twice")]
    Twice {
        /// The line of the second route.
        line: usize,
        /// The switch.
        from: String,
        /// The destination.
        to: String,
    },
    /// A switch without a route to a destination.
    #[error("switch {at:?} has no route to {to:?}: nobody reaches that from {from:?}")]
    Missing {
        /// The line of the route that leads there, if there is one.
        line: Option<usize>,
        /// The switch.
        at: String,
        /// The destination.
        to: String,
        /// A switch with nodes whose packets arrive there.
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
    /// A possible deadlock of packets that hold channels.
    #[error("packets could wait for one another in a circle, at switches {}", named(.circle))]
    Deadlock {
        /// The line of one of the routes.
        line: usize,
        /// The switches, in the order of the cycle.
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
    /// Return the line of the list, from 1, if the error belongs to one.
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

    /// Return a suggestion.
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

/// Return a name as written in a list.
fn written(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_.:/".contains(c);
    match name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}
