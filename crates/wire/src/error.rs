//! Errors, each one line: what, where, and the fix.

use std::fmt;
use std::io;

/// Why a socket, an address or a certificate cannot be used.
#[derive(Debug)]
pub enum Error {
    /// An address that cannot be read or used: its text, and the reason.
    Address(String, String),
    /// An invalid setting.
    Config(String),
    /// Nobody answers at an address: the reason.
    Unreachable(String),
    /// The system refused something: what, and its error.
    System(String, io::Error),
}

/// A value, or the reason why there is none.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Add to an error of the system what was attempted.
    pub fn system(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System(what.into(), error.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(text, why) => write!(f, "address `{text}`: {why}"),
            Self::Config(text) | Self::Unreachable(text) => f.write_str(text),
            Self::System(what, error) => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System(_, error) => Some(error),
            _ => None,
        }
    }
}
