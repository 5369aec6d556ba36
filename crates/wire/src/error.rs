//! Errors of sockets, addresses and certificates. Each is one line with the problem, its location
//! and the fix.

use std::io;

/// The reason for which a socket, an address or a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address that cannot be read or used: its text, and the reason.
    #[error("address `{0}`: {1}")]
    Address(String, String),
    /// An invalid setting.
    #[error("{0}")]
    Config(String),
    /// No server can be reached at an address, for this reason.
    #[error("{0}")]
    Unreachable(String),
    /// The system refused an operation: the operation, and the error.
    #[error("{0}: {1}")]
    System(String, #[source] io::Error),
}

/// The result of an operation on sockets, addresses or certificates.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Create an error of the system; `what` names the operation that was attempted.
    pub fn system(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System(what.into(), error.into())
    }
}
