//! Errors of applications; each message has one line.

use std::path::PathBuf;

/// An error of one of the demonstration applications of the stream manager.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An impossible request: the problem, and a hint for the correction.
    #[error("{0}")]
    Spec(String),
    /// A file that cannot be used: its path, and the reason.
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, String),
    /// An error of the frame buffer's screens, or of the web page that shows them.
    #[error(transparent)]
    Screens(#[from] isthmus_framebuffer::Error),
    /// An error of the stream manager.
    #[error(transparent)]
    Net(#[from] isthmus_stream_net::Error),
    /// The application ended early, for this reason.
    #[error("{0}")]
    Ended(String),
    /// Data arrived changed. The text has the position.
    #[error("{0}")]
    Wrong(String),
}

impl From<isthmus_ring::Error> for Error {
    /// Convert an error of a ring in shared memory.
    fn from(error: isthmus_ring::Error) -> Self {
        Self::Net(error.into())
    }
}
