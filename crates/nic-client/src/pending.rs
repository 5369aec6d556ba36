//! Requests to the daemon that have not been answered.

use crate::core::Core;
use crate::error::Result;
use isthmus_nic_protocol::{Answer, Refusal};
use isthmus_wire::Timeout;
use std::sync::Arc;

/// The state of a request that was sent: its answer, if it has arrived, and whether the session
/// must report the arrival in its list of notices.
#[derive(Debug)]
pub(crate) struct RequestState {
    pub notify: bool,
    pub answer: Option<std::result::Result<Answer, Refusal>>,
}

impl RequestState {
    /// Create the state of a request that was just sent.
    pub fn new(notify: bool) -> Self {
        Self {
            notify,
            answer: None,
        }
    }
}

/// A request that was sent to the daemon. Dropping it discards its answer.
#[derive(Debug)]
pub struct Pending {
    core: Arc<Core>,
    id: u64,
}

impl Pending {
    /// Create the handle of the request with this number.
    pub(crate) fn new(core: Arc<Core>, id: u64) -> Self {
        Self { core, id }
    }

    /// Return the number of the request, by which [`Session::notices`](crate::Session::notices)
    /// reports its answer.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Wait for the answer of the daemon. After a timeout the caller may wait again.
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused), [`Error::Gone`](crate::Error::Gone), an expired
    /// timeout.
    pub fn wait(&self, timeout: Timeout<'_>) -> Result<Answer> {
        self.core.answer(self.id, timeout)
    }

    /// Return the answer of the daemon, if it has arrived.
    #[must_use]
    pub fn poll(&self) -> Option<Result<Answer>> {
        self.core.poll_answer(self.id)
    }
}

impl Drop for Pending {
    /// Discard the request's answer.
    fn drop(&mut self) {
        self.core.forget(self.id);
    }
}
