//! Threads as ranks. They end together: a rank that fails reports the reason, and the ranks that
//! wait for it find their channels closed.

use crate::error::Error;
use std::fmt::Display;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Bytes of a rank's stack, which holds little.
const STACK_BYTES: usize = 512 << 10;
/// Timeout of a rank that waits for another.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Capacity of a channel between two ranks, in messages.
pub(crate) const IN_CHANNEL: usize = 2;

/// The reason why a rank ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Another rank ended before, which reports the reason.
    Left,
    /// It failed.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The result of a rank.
pub(crate) type Course = Result<(), Ended>;

/// Threads, and the first failure among them.
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
        work: impl FnOnce() -> Course + Send + 'static,
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

    /// Wait for all ranks.
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

/// Send to another rank.
pub(crate) fn give<T>(to: &SyncSender<T>, what: T) -> Course {
    to.send(what).map_err(|_| Ended::Left)
}

/// Receive from another rank, which is called `whom`; none once it has ended.
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
