//! Errors of a driver, which moves the data of streams. Each message is one line, which names the problem and
//! its position.

use isthmus_stream::LinkId;
use std::io;

/// An error of a driver, which moves the data of streams.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the stream manager.
    #[error("{0}")]
    Stream(#[from] isthmus_stream::Error),
    /// An error of the shared-memory ring of a link.
    #[error("{0}")]
    Ring(#[from] isthmus_ring::Error),
    /// An invalid destination of a connection: its text, and the problem.
    #[error("destination `{0}`: {1}")]
    Destination(String, String),
    /// An error of the operating system: the operation, and the error.
    #[error("{0}: {1}")]
    System(String, #[source] io::Error),
    /// The caller attached a socket or rings to a link that has them already and that is not cut.
    #[error("link {0} has its ends: cut it before others are given to it")]
    Attached(LinkId),
    /// An invalid request for a resumable link (one that survives the loss of its socket). The fields are the number
    /// of the link, and a text about the problem.
    #[error("link {0}: {1}")]
    Resumable(LinkId, String),
    /// Invalid data arrived over a link or a socket.
    #[error("{0}")]
    Garbled(String),
    /// The thread of the driver has ended.
    #[error("the driver's thread has ended: start another")]
    Ended,
}

/// The result of a driver's call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error of the operating system; `what` names the failed operation.
    pub(crate) fn system(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System(what.into(), error.into())
    }
}
