//! What a driver refuses, each in one line: what, where, what would do.

use isthmus_stream::LinkId;
use std::fmt;
use std::io;

/// Why a driver did not do what it was asked for.
#[derive(Debug)]
pub enum Error {
    /// The manager refuses.
    Stream(isthmus_stream::Error),
    /// The ring of a link refuses.
    Ring(isthmus_ring::Error),
    /// A destination that cannot be read: the words, and what is wrong.
    Destination(String, String),
    /// The system refused something: what, and its answer.
    System(String, io::Error),
    /// The link is not cut, and has its ends.
    Attached(LinkId),
    /// What is said of a lasting link is not so: which, and how.
    Lasting(LinkId, String),
    /// What came over a link or a socket is not what is written there.
    Garbled(String),
    /// The thread of the driver has ended.
    Ended,
}

/// What was asked for, or why not.
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
            Self::Lasting(link, why) => write!(f, "link {link}: {why}"),
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
