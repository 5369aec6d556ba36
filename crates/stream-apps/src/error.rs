//! Errors of applications, each one line.

use std::path::PathBuf;

/// An error of an application.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An impossible request: the problem, and the remedy.
    #[error("{0}")]
    Spec(String),
    /// An unusable file, and the reason.
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, String),
    /// An error of the screens or their page.
    #[error(transparent)]
    Screens(#[from] isthmus_framebuffer::Error),
    /// An error of the stream manager.
    #[error(transparent)]
    Net(#[from] isthmus_stream_net::Error),
    /// It ended early, for this reason.
    #[error("{0}")]
    Ended(String),
    /// Data arrived changed, at this place.
    #[error("{0}")]
    Wrong(String),
}

impl From<isthmus_ring::Error> for Error {
    fn from(error: isthmus_ring::Error) -> Self {
        Self::Net(error.into())
    }
}
