//! Errors of the daemon. Each is one line with the location, the problem and the remedy.

use std::fmt;

/// Why a daemon does not start, or why it ended.
#[derive(Debug)]
pub enum Error {
    /// The server refuses: an address, a setting, or the system.
    Server(isthmus_wire::Error),
    /// The driver of the streams refuses.
    Net(isthmus_stream_net::Error),
}

/// A value, or the reason why there is none.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(error) => error.fmt(f),
            Self::Net(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Server(error) => error,
            Self::Net(error) => error,
        })
    }
}

impl From<isthmus_wire::Error> for Error {
    fn from(error: isthmus_wire::Error) -> Self {
        Self::Server(error)
    }
}

impl From<isthmus_stream_net::Error> for Error {
    fn from(error: isthmus_stream_net::Error) -> Self {
        Self::Net(error)
    }
}
