//! Errors of a driver, each a message of one line that names the problem and its position.

use isthmus_stream::LinkId;
use std::fmt;
use std::io;

/// An error of a driver.
#[derive(Debug)]
pub enum Error {
    /// An error of the manager.
    Stream(isthmus_stream::Error),
    /// An error of the ring of a link.
    Ring(isthmus_ring::Error),
    /// An invalid destination: its text, and the problem.
    Destination(String, String),
    /// An error of the system: the operation, and the error.
    System(String, io::Error),
    /// The link is not cut and has its ends already.
    Attached(LinkId),
    /// An invalid request for a resumable link: the link, and the problem.
    Resumable(LinkId, String),
    /// Invalid data came over a link or a socket.
    Garbled(String),
    /// The thread of the driver has ended.
    Ended,
}

/// The result of a driver's call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn system(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System(what.into(), error.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(error) => error.fmt(f),
            Self::Ring(error) => error.fmt(f),
            Self::Destination(words, why) => write!(f, "destination `{words}`: {why}"),
            Self::System(what, error) => write!(f, "{what}: {error}"),
            Self::Attached(link) => {
                write!(
                    f,
                    "link {link} has its ends: cut it before others are given to it"
                )
            }
            Self::Resumable(link, why) => write!(f, "link {link}: {why}"),
            Self::Garbled(what) => f.write_str(what),
            Self::Ended => f.write_str("the driver's thread has ended: start another"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Stream(error) => Some(error),
            Self::Ring(error) => Some(error),
            Self::System(_, error) => Some(error),
            _ => None,
        }
    }
}

impl From<isthmus_stream::Error> for Error {
    fn from(error: isthmus_stream::Error) -> Self {
        Self::Stream(error)
    }
}

impl From<isthmus_ring::Error> for Error {
    fn from(error: isthmus_ring::Error) -> Self {
        Self::Ring(error)
    }
}
