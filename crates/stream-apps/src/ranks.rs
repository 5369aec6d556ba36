//! Runs the ranks of an application as threads, which all end if one fails. A rank that fails
//! reports the reason; ranks that wait for it end because their channels are closed.

use crate::error::Error;
use std::fmt::Display;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Number of bytes of a rank's stack; large data are on the heap.
const STACK_BYTES: usize = 512 << 10;
/// Time after which a rank that waits for another rank fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Capacity of a channel between two ranks, in messages.
pub(crate) const IN_CHANNEL: usize = 2;

/// The reason why the thread of a rank ended early.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The rank ended because another rank had ended before; that rank reports the reason.
    Left,
    /// The rank failed with this error.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Ended {
    /// Convert an error to the result of a rank that failed with it.
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The result of a rank's thread: success, or the reason why the rank ended early.
pub(crate) type RankResult = Result<(), Ended>;

/// The threads of all ranks, and the first failure among them.
#[derive(Debug, Default)]
pub(crate) struct Ranks {
    threads: Vec<JoinHandle<()>>,
    failed: Arc<Mutex<Option<Error>>>,
}

impl Ranks {
    /// Start a rank. `name` is the name of its thread.
    pub fn start(
        &mut self,
        name: String,
        work: impl FnOnce() -> RankResult + Send + 'static,
    ) -> Result<(), Error> {
        let failed = Arc::clone(&self.failed);
        let rank_name = name.clone();
        let thread = Builder::new().name(name).stack_size(STACK_BYTES);
        let thread = thread.spawn(move || {
            if let Err(Ended::Failed(error)) = work() {
                let mut first = failed.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(Error::Ended(format!("{rank_name}: {error}")));
            }
        });
        let thread = thread.map_err(|error| Error::Ended(format!("a thread: {error}")))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Return the first failure, if a rank has failed.
    pub fn failure(&self) -> Option<String> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.as_ref().map(ToString::to_string)
    }

    /// Wait for the threads of all ranks to end. Return the error of the first rank that failed, if
    /// any.
    pub fn join(&mut self) -> Result<(), Error> {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                let what = "a thread of it has failed; please report this with the lines above";
                return Err(Error::Ended(what.into()));
            }
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map_or(Ok(()), Err)
    }
}

/// Send a message to another rank.
pub(crate) fn send<T>(to: &SyncSender<T>, what: T) -> RankResult {
    to.send(what).map_err(|_| Ended::Left)
}

/// Receive a message from another rank; `whom` is its name in errors. Return `None` if the other
/// rank has ended.
pub(crate) fn take<T>(from: &Receiver<T>, whom: impl Display) -> Result<Option<T>, Ended> {
    match from.recv_timeout(PATIENCE) {
        Ok(what) => Ok(Some(what)),
        Err(RecvTimeoutError::Disconnected) => Ok(None),
        Err(RecvTimeoutError::Timeout) => {
            let s = PATIENCE.as_secs();
            Err(Error::Ended(format!("nothing came from {whom} for {s} s")).into())
        }
    }
}
