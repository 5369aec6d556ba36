//! Errors. Each is one line with the problem, its location and the remedy.

use isthmus_nic_protocol::{Refusal, RefusalKind};
use isthmus_wire::Expired;
use std::fmt;
use std::sync::Arc;

/// An error of the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// An invalid address: the text, and the right form.
    Address(String, String),
    /// The daemon cannot be reached: its address, and the reason.
    Unreachable(String, String),
    /// The daemon refused the request.
    Refused(Refusal),
    /// The daemon is gone, or the session was closed: the address, and the reason.
    Gone(Arc<str>, Arc<str>),
    /// The session belongs to the parent process, which has this number.
    OtherProcess(u32),
    /// The timeout has passed: the operation, and the reason why it waits.
    TimedOut(String),
    /// The caller interrupted the wait.
    Interrupted,
    /// A link cannot be used: its number, and the reason.
    Link(u16, String),
    /// The request does not fit the stream: the problem, and the remedy.
    Misfit(String),
    /// The stream failed, was cancelled or was left within an ADU: its number, and the reason.
    Stream(u32, String),
    /// The daemon violated the protocol.
    Garbled(String),
}

/// A result of the client.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Return whether the daemon refused for a reason of this kind.
    #[must_use]
    pub fn is_refused(&self, kind: RefusalKind) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.kind == kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(words, right) => write!(f, "address `{words}`: {right}"),
            Self::Unreachable(address, why) => {
                write!(f, "no daemon can be reached at {address}: {why}")
            }
            Self::Refused(refusal) => f.write_str(&refusal.text),
            Self::Gone(address, why) => write!(f, "the session with {address} is over: {why}"),
            Self::OtherProcess(process) => write!(
                f,
                "this session is of process {process}; in a child use join(address, ticket)"
            ),
            Self::TimedOut(what) | Self::Misfit(what) | Self::Garbled(what) => f.write_str(what),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Link(link, why) => write!(f, "link {link}: {why}"),
            Self::Stream(stream, why) => write!(f, "stream {stream}: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<isthmus_wire::Error> for Error {
    fn from(error: isthmus_wire::Error) -> Self {
        match error {
            isthmus_wire::Error::Address(text, why) => Self::Address(text, why),
            other => Self::Misfit(other.to_string()),
        }
    }
}

impl From<Expired> for Error {
    fn from(expired: Expired) -> Self {
        match expired {
            Expired::TimedOut => Self::TimedOut(String::new()),
            Expired::Interrupted => Self::Interrupted,
        }
    }
}

/// Add a description to a timeout that has none.
pub(crate) fn describe(error: impl Into<Error>, what: impl FnOnce() -> String) -> Error {
    match error.into() {
        Error::TimedOut(said) if said.is_empty() => Error::TimedOut(what()),
        other => other,
    }
}
