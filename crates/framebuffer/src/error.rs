//! What screens and the page refuse, each in one line.

use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Why something was not done.
#[derive(Debug)]
pub enum Error {
    /// A name that no screen can have.
    Name(String),
    /// A form that no screen can have: what is wrong, and what would do.
    Geometry(String),
    /// There is no screen of this name; the names that there are.
    NoScreen(String, Vec<String>),
    /// Somebody draws on this screen.
    Drawn(String),
    /// There are as many screens as there can be.
    Screens(usize),
    /// Bytes that are none of the screen's next frame: which screen, and what.
    Bytes(String, String),
    /// The screen's form was changed while it was drawn on.
    Changed(String),
    /// An address that other machines reach.
    Address(SocketAddr),
    /// The system refuses: what, and its answer.
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
