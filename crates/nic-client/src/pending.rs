//! Requests that are under way.

use crate::core::Core;
use crate::error::Result;
use isthmus_nic_protocol::{Answer, Refusal};
use isthmus_wire::Timeout;
use std::sync::Arc;

/// What is known of a request.
#[derive(Debug)]
pub(crate) struct Slot {
    pub noticed: bool,
    pub answer: Option<std::result::Result<Answer, Refusal>>,
}

impl Slot {
    pub fn waiting(noticed: bool) -> Self {
        Self {
            noticed,
            answer: None,
        }
    }
}

/// A request that is under way. Dropped, its answer is not wanted any more.
#[derive(Debug)]
pub struct Pending {
    core: Arc<Core>,
    id: u64,
}

impl Pending {
    pub(crate) fn new(core: Arc<Core>, id: u64) -> Self {
        Self { core, id }
    }

    /// Its number, as [`Session::notices`](crate::Session::notices) tells it.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the answer. It can be waited for again.
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused), [`Error::Gone`](crate::Error::Gone), those of
    /// the timeout.
    pub fn wait(&self, timeout: Timeout<'_>) -> Result<Answer> {
        self.core.answer(self.id, timeout)
    }

    /// The answer, if it is there.
    #[must_use]
    pub fn poll(&self) -> Option<Result<Answer>> {
        self.core.answered(self.id)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.core.forget(self.id);
    }
}
