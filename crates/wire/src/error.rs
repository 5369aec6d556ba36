//! Errors, each one line: what, where, and the fix.

use std::io;

/// Why a socket, an address or a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address that cannot be read or used: its text, and the reason.
    #[error("address `{0}`: {1}")]
    Address(String, String),
    /// An invalid setting.
    #[error("{0}")]
    Config(String),
    /// Nobody answers at an address: the reason.
    #[error("{0}")]
    Unreachable(String),
    /// The system refused something: what, and its error.
    #[error("{0}: {1}")]
    System(String, #[source] io::Error),
}

/// A value, or the reason why there is none.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Add to an error of the system what was attempted.
    pub fn system(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System(what.into(), error.into())
    }
}
