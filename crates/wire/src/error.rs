//! Errors of sockets, addresses and certificates. Each is one line with the problem, its location
//! and the fix.

use std::io;

/// The reason why a socket, an address or a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address that cannot be read or used: its text, and the reason.
    #[error("address `{0}`: {1}")]
    Address(String, String),
    /// A setting, such as a certificate, is invalid.
    #[error("{0}")]
    Config(String),
    /// No server can be reached at an address; the text is the reason.
    #[error("{0}")]
    Unreachable(String),
    /// The operating system refused an operation: its name, and the error.
    #[error("{0}: {1}")]
    System(String, #[source] io::Error),
}

/// The result of an operation on sockets, addresses or certificates.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Create an error from an error of the operating system; `what` names the operation that
    /// failed.
    pub fn system(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System(what.into(), error.into())
    }
}
