//! Errors of a client.

use isthmus_forward::Errno;
use isthmus_forward::message::Malformed;
use std::time::Duration;

/// The reason why a client cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server cannot be reached.
    #[error("{0}")]
    Wire(#[from] isthmus_wire::Error),
    /// No connection can be made.
    #[error("{0} cannot be reached: {1}; is the daemon running?")]
    Unreachable(String, String),
    /// The connection is gone.
    #[error("the connection to {0} is gone: {1}; is the daemon running?")]
    Gone(String, String),
    /// The server does not answer.
    #[error("{0}: no answer within {1:?}; is the daemon running?")]
    Silent(String, Duration),
    /// The server sent an unexpected reply.
    #[error("{0} does not speak 9P2000.L: {1}")]
    Protocol(String, String),
    /// The server is another one than the client needs.
    #[error("{0} {1}")]
    Unfit(String, &'static str),
    /// The server refused to let the client in.
    #[error("{0} refused: {1}")]
    Refused(String, Errno),
    /// More requests than there are tags.
    #[error("too many requests in flight: take replies first")]
    Full,
    /// Other requests are in flight.
    #[error("other requests are in flight: take their replies first")]
    InFlight,
    /// The directory cannot be mounted at, or not unmounted.
    #[error("{0}: {1}")]
    Mount(String, String),
    /// A path with more than 16 names in one request.
    #[error("a walk of more than 16 names: walk in several requests")]
    Path(#[from] Malformed),
}

/// A value, or an error of the client.
pub type Result<T> = std::result::Result<T, Error>;
