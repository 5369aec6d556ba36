//! Errors of applications, each one line.

use std::fmt;
use std::path::PathBuf;

/// An error of an application.
#[derive(Debug)]
pub enum Error {
    /// An impossible request: the problem, and the remedy.
    Spec(String),
    /// An unusable file, and the reason.
    File(PathBuf, String),
    /// An error of the screens or their page.
    Screens(isthmus_framebuffer::Error),
    /// An error of the stream manager.
    Net(isthmus_stream_net::Error),
    /// It ended early, for this reason.
    Ended(String),
    /// Data arrived changed, at this place.
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
