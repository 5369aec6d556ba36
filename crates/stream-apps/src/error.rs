//! Errors of the demonstration applications of the stream manager. Each message has one line.

use std::path::PathBuf;

/// An error of one of the demonstration applications of the stream manager.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The description of the work is invalid. The text names the problem and how to correct it.
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
    /// The application ended before its work was done. The text is the reason.
    #[error("{0}")]
    Ended(String),
    /// The received data differ from the sent data. The text says where.
    #[error("{0}")]
    Wrong(String),
}

impl From<isthmus_ring::Error> for Error {
    /// Convert an error of a shared-memory ring to an error of the stream manager.
    fn from(error: isthmus_ring::Error) -> Self {
        Self::Net(error.into())
    }
}
