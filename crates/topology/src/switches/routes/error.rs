//! What can be wrong with a list of routes.

use super::route::LAYERS_MAX;
use crate::graph::GraphProblem;
use thiserror::Error;

/// Most switches that an error names.
pub(super) const NAMED_MAX: usize = 12;

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
            Self::Deadlock { .. } => "put some of these routes into another layer".to_owned(),
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
