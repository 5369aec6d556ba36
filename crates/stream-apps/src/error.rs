//! Why an application did not do what it was asked for, in one line.

use std::fmt;
use std::path::PathBuf;

/// Why an application did not do what it was asked for.
#[derive(Debug)]
pub enum Error {
    /// What was asked for cannot be: what, and what would do.
    Spec(String),
    /// A file that cannot be used: which, and why.
    File(PathBuf, String),
    /// Screens or their page.
    Screens(isthmus_framebuffer::Error),
    /// What runs streams refuses.
    Net(isthmus_stream_net::Error),
    /// It ended before it was done: why.
    Ended(String),
    /// What came is not what was sent: where.
    Wrong(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(what) | Self::Ended(what) | Self::Wrong(what) => f.write_str(what),
            Self::File(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Screens(error) => error.fmt(f),
            Self::Net(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<isthmus_framebuffer::Error> for Error {
    fn from(error: isthmus_framebuffer::Error) -> Self {
        Self::Screens(error)
    }
}

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
