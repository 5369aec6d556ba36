//! What goes wrong, each in one line: what, where, what would do.

use isthmus_nic_protocol::{Refusal, RefusalKind};
use isthmus_wire::Expired;
use std::fmt;
use std::sync::Arc;

/// Why something was not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// An address that is none: the words, and what would be right.
    Address(String, String),
    /// The daemon cannot be reached: its address, and why.
    Unreachable(String, String),
    /// The daemon refuses.
    Refused(Refusal),
    /// The daemon is gone, or this session was closed: its address, and how that was seen.
    Gone(Arc<str>, Arc<str>),
    /// The session is of another process, from which this one was forked: that one's number.
    Abroad(u32),
    /// It took too long: what, and who waits for what.
    TimedOut(String),
    /// The caller had enough of waiting.
    Interrupted,
    /// A link cannot be used: its number, and why.
    Link(u16, String),
    /// What is asked does not fit the stream: what, and what would be right.
    Misfit(String),
    /// The stream has ended and not well, or was left in the middle of an ADU: its number, why.
    Stream(u32, String),
    /// The daemon said something that it should not.
    Garbled(String),
}

/// What was asked for, or why not.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether the daemon refused for such a reason.
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
            Self::Abroad(process) => write!(
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

/// What took too long, in words, unless that is said already.
pub(crate) fn named(error: impl Into<Error>, what: impl FnOnce() -> String) -> Error {
    match error.into() {
        Error::TimedOut(said) if said.is_empty() => Error::TimedOut(what()),
        other => other,
    }
}
