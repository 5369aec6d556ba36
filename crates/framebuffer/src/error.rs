//! Errors of screens and of the web page that shows them. Each message is one line.

use std::io;
use std::net::SocketAddr;

/// An error of a screen or of the web page that shows screens.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name of the screen is invalid. The field is the name.
    #[error("screen {0:?}: a name has 1 to 64 letters, digits, dots, dashes, underscores")]
    Name(String),
    /// An invalid geometry: the problem, and the remedy.
    #[error("{0}")]
    Geometry(String),
    /// No screen has this name. The fields are the name and the names of the existing screens.
    #[error("screen {}: its geometry is set first{}", .0, known(.1))]
    NoScreen(String, Vec<String>),
    /// The screen with this name already has a painter.
    #[error("screen {0}: another connection draws on it")]
    Drawn(String),
    /// Another screen would exceed the maximum number of screens. The field is the maximum.
    #[error("{0} screens are the most")]
    Screens(usize),
    /// The bytes for a screen do not continue those before. The fields are the name of the screen and the problem.
    #[error("screen {0}: {1}")]
    Bytes(String, String),
    /// The geometry of the screen with this name changed during drawing.
    #[error("screen {0}: its geometry was changed meanwhile")]
    Changed(String),
    /// The address for the web page is refused, because other machines can reach it.
    #[error(
        "{0}: the page has no password and is shown on this machine only; give an address such as \
         127.0.0.1:0, and reach it from elsewhere by `ssh -L`"
    )]
    Address(SocketAddr),
    /// The system refused an operation: the operation, and its error.
    #[error("{0}: {1}")]
    System(String, #[source] io::Error),
}

/// Format the names of the existing screens for a message.
fn known(names: &[String]) -> String {
    match names {
        [] => ", and none is".to_owned(),
        names => format!("; it is of {}", names.join(", ")),
    }
}
