//! What a daemon refuses to begin with, each in one line: what, where, what would do.

use std::fmt;
use std::io;

/// Why a daemon does not start, or why it ended.
#[derive(Debug)]
pub enum Error {
    /// An address that cannot be read: the words, and what is wrong.
    Address(String, String),
    /// A configuration that cannot be.
    Config(String),
    /// The system refused something: what, and its answer.
    System(String, io::Error),
    /// The driver of the streams refuses.
    Net(isthmus_stream_net::Error),
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
            Self::Address(words, why) => write!(f, "address `{words}`: {why}"),
            Self::Config(what) => f.write_str(what),
            Self::System(what, error) => write!(f, "{what}: {error}"),
            Self::Net(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System(_, error) => Some(error),
            Self::Net(error) => Some(error),
            Self::Address(..) | Self::Config(_) => None,
        }
    }
}

impl From<isthmus_stream_net::Error> for Error {
    fn from(error: isthmus_stream_net::Error) -> Self {
        Self::Net(error)
    }
}
