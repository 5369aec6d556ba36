//! Errors of screens and the page, each one line.

use std::fmt;
use std::io;
use std::net::SocketAddr;

/// An error of a screen or the page.
#[derive(Debug)]
pub enum Error {
    /// An invalid name of a screen.
    Name(String),
    /// An invalid geometry: the problem, and the remedy.
    Geometry(String),
    /// No screen has this name; the existing names.
    NoScreen(String, Vec<String>),
    /// The screen has a painter already.
    Drawn(String),
    /// The maximum number of screens is reached.
    Screens(usize),
    /// Bytes out of order: the screen, and the problem.
    Bytes(String, String),
    /// The geometry of the screen changed during drawing.
    Changed(String),
    /// An address that other machines reach.
    Address(SocketAddr),
    /// The system refuses: the operation, and its error.
    System(String, io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(
                f,
                "screen {name:?}: a name has 1 to 64 letters, digits, dots, dashes, underscores"
            ),
            Self::Geometry(what) => f.write_str(what),
            Self::NoScreen(name, known) if known.is_empty() => {
                write!(f, "screen {name}: its geometry is set first, and none is")
            }
            Self::NoScreen(name, known) => write!(
                f,
                "screen {name}: its geometry is set first; it is of {}",
                known.join(", ")
            ),
            Self::Drawn(name) => write!(f, "screen {name}: another connection draws on it"),
            Self::Screens(most) => write!(f, "{most} screens are the most"),
            Self::Bytes(name, what) => write!(f, "screen {name}: {what}"),
            Self::Changed(name) => {
                write!(f, "screen {name}: its geometry was changed meanwhile")
            }
            Self::Address(at) => write!(
                f,
                "{at}: the page has no password and is shown on this machine only; give an address \
                 such as 127.0.0.1:0, and reach it from elsewhere by `ssh -L`"
            ),
            Self::System(what, error) => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for Error {}
