//! Errors of the manager, each a message of one line that names the problem and a remedy.

use crate::ids::{AppId, ConnectionId, StreamId};
use std::fmt;

/// An error of the manager.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The configuration is invalid.
    Config(String),
    /// The data format is invalid.
    Format(String),
    /// The application does not exist.
    NoApplication(AppId),
    /// The connection does not exist, or its end was reported long ago.
    NoConnection(ConnectionId),
    /// The stream does not exist, or its end was reported long ago.
    NoStream(StreamId),
    /// The connection accepts no further streams.
    NotOpen(ConnectionId, String),
    /// The item belongs to another application.
    Foreign(String),
    /// The request exceeds the resources of the manager.
    NeverFits(String),
    /// The request exceeds the limits of the application.
    Limit(String),
    /// Streams would wait for one another; the message names each step of the cycle.
    Cycle(String),
    /// The request contradicts an earlier one.
    Conflict(String),
}

/// The result of a manager's call.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(what) => write!(f, "configuration: {what}"),
            Self::Format(what) => write!(f, "data format: {what}"),
            Self::NoApplication(app) => {
                write!(
                    f,
                    "application {app} is not known: add it before it is used"
                )
            }
            Self::NoConnection(connection) => {
                write!(
                    f,
                    "connection {connection} is not known: open it, or use one that is open"
                )
            }
            Self::NoStream(stream) => {
                write!(
                    f,
                    "stream {stream} is not known, or ended long ago: submit it first"
                )
            }
            Self::NotOpen(connection, why) => {
                write!(
                    f,
                    "connection {connection} takes no streams: {why}; open another one"
                )
            }
            Self::Foreign(what) => write!(f, "{what}: use what the application opened itself"),
            Self::NeverFits(what) | Self::Limit(what) | Self::Conflict(what) => f.write_str(what),
            Self::Cycle(cycle) => {
                write!(
                    f,
                    "streams would wait for one another: {cycle}; leave out one of these"
                )
            }
        }
    }
}

impl std::error::Error for Error {}
