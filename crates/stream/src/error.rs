//! Why the manager refuses what it is asked to do. Each is one line: what, where, what would do.

use crate::ids::{AppId, ConnectionId, StreamId};
use std::fmt;

/// What the manager refuses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The configuration cannot be.
    Config(String),
    /// The data format cannot be.
    Format(String),
    /// No such application.
    NoApplication(AppId),
    /// No such connection, or one whose end was told long ago.
    NoConnection(ConnectionId),
    /// No such stream, or one whose end was told long ago.
    NoStream(StreamId),
    /// The connection takes no streams any more.
    NotOpen(ConnectionId, String),
    /// It belongs to another application.
    Foreign(String),
    /// It asks for more than there will ever be.
    NeverFits(String),
    /// It asks for more than the application may have.
    Limit(String),
    /// Streams would wait for one another; the cycle, link by link.
    Cycle(String),
    /// It does not go with what was said before.
    Conflict(String),
}

/// What was asked for, or why not.
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
