//! Errors of a client of the daemon. Each is a line of text: the problem, where it occurred, and
//! the remedy.

use isthmus_nic_protocol::{Refusal, RefusalKind};
use isthmus_wire::Expired;
use std::sync::Arc;

/// An error of a client of the stream manager's daemon.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// An invalid address of a daemon: the text, and the right form.
    #[error("address `{0}`: {1}")]
    Address(String, String),
    /// The daemon cannot be reached at this address, for this reason.
    #[error("no daemon can be reached at {0}: {1}")]
    Unreachable(String, String),
    /// The daemon refused the request; [`Refusal`] has the reason.
    #[error("{}", .0.text)]
    Refused(Refusal),
    /// The daemon is gone, or the session was closed: the address, and the reason.
    #[error("the session with {0} is over: {1}")]
    Gone(Arc<str>, Arc<str>),
    /// The session belongs to the parent process, which has this process ID.
    #[error("this session is of process {0}; in a child use join(address, ticket)")]
    OtherProcess(u32),
    /// The timeout has passed; the text names the operation, and the reason why it waits.
    #[error("{0}")]
    TimedOut(String),
    /// The caller has interrupted the wait, for example by Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// A link cannot be used: its number, and the reason.
    #[error("link {0}: {1}")]
    Link(u16, String),
    /// The arguments of a call do not fit the stream: the problem, and the remedy.
    #[error("{0}")]
    Misfit(String),
    /// The stream failed, was cancelled or was interrupted within an application data unit (ADU):
    /// its number, and the reason.
    #[error("stream {0}: {1}")]
    Stream(u32, String),
    /// The daemon violated the protocol.
    #[error("{0}")]
    Garbled(String),
}

/// Result of a call of the client.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Return whether the daemon refused the request, and its reason is of this kind.
    #[must_use]
    pub fn is_refused(&self, kind: RefusalKind) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.kind == kind)
    }
}

impl From<isthmus_wire::Error> for Error {
    /// Convert an error in an address or in the settings of a socket.
    fn from(error: isthmus_wire::Error) -> Self {
        match error {
            isthmus_wire::Error::Address(text, why) => Self::Address(text, why),
            other => Self::Misfit(other.to_string()),
        }
    }
}

impl From<Expired> for Error {
    /// Convert the reason for the end of a wait: the timeout has passed, or the caller has
    /// interrupted it.
    fn from(expired: Expired) -> Self {
        match expired {
            Expired::TimedOut => Self::TimedOut(String::new()),
            Expired::Interrupted => Self::Interrupted,
        }
    }
}

/// Convert an error to one of the client. If it is a timeout without a description, add that of the
/// operation, which `what` returns.
pub(crate) fn describe(error: impl Into<Error>, what: impl FnOnce() -> String) -> Error {
    match error.into() {
        Error::TimedOut(said) if said.is_empty() => Error::TimedOut(what()),
        other => other,
    }
}
