//! Errors of the stream manager. The text of each is one line that names the problem and a remedy.

use crate::ids::{AppId, ConnectionId, StreamId};

/// An error of the stream manager.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// The configuration of the stream manager is invalid.
    #[error("configuration: {0}")]
    Config(String),
    /// The data format of a stream is invalid.
    #[error("data format: {0}")]
    Format(String),
    /// An application with this number does not exist.
    #[error("application {0} is not known: add it before it is used")]
    NoApplication(AppId),
    /// A connection with this number does not exist, or its end was reported long ago.
    #[error("connection {0} is not known: open it, or use one that is open")]
    NoConnection(ConnectionId),
    /// A stream with this number does not exist, or its end was reported long ago.
    #[error("stream {0} is not known, or ended long ago: submit it first")]
    NoStream(StreamId),
    /// The connection accepts no further streams.
    #[error("connection {0} takes no streams: {1}; open another one")]
    NotOpen(ConnectionId, String),
    /// The stream or connection belongs to another application.
    #[error("{0}: use what the application opened itself")]
    Foreign(String),
    /// The request exceeds the resources of the stream manager, so it can never be granted.
    #[error("{0}")]
    NeverFits(String),
    /// The request exceeds the limits of the application.
    #[error("{0}")]
    Limit(String),
    /// Streams would wait for one another; the message names each step of the cycle.
    #[error("streams would wait for one another: {0}; leave out one of these")]
    Cycle(String),
    /// The application's request contradicts one of its earlier requests.
    #[error("{0}")]
    Conflict(String),
}

/// The result of a call of the stream manager.
pub type Result<T> = std::result::Result<T, Error>;
