//! Why nothing was measured, in one line.

use std::fmt;

/// Why nothing was measured.
#[derive(Debug)]
pub enum Error {
    /// There is no such thing here: what.
    Missing(String),
    /// What runs streams refuses.
    Net(isthmus_stream_net::Error),
    /// The stream did not end well: how.
    Ended(String),
    /// What came is not what was sent: where.
    Wrong(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(what) | Self::Wrong(what) => f.write_str(what),
            Self::Net(error) => error.fmt(f),
            Self::Ended(how) => write!(f, "the stream ended before all was sent: {how}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<isthmus_stream_net::Error> for Error {
    fn from(error: isthmus_stream_net::Error) -> Self {
        Self::Net(error)
    }
}

impl From<isthmus_ring::Error> for Error {
    fn from(error: isthmus_ring::Error) -> Self {
        Self::Net(error.into())
    }
}
