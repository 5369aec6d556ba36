//! Runs long work so that Ctrl-C can interrupt it: on another thread, while the calling thread
//! checks for signals.

use crate::CoreError;
use isthmus_experiment::{Progress, catch};
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval between two checks for Ctrl-C.
const LISTEN: Duration = Duration::from_millis(50);

/// Return the result of `work`, which runs on another thread. A signal cancels `progress`, and the
/// thread ends at its next check. A panic becomes an error that asks the user for a report.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    progress: Arc<Progress>,
    work: impl FnOnce(Arc<Progress>) -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let shared = Arc::clone(&progress);
    let thread = thread::Builder::new().spawn(move || {
        // After a signal, the channel has no receiver, and the result is dropped.
        let _ = sender.send(catch(|| work(shared)));
    });
    thread.map_err(|error| CoreError::new_err(format!("cannot start a thread: {error}")))?;
    loop {
        let (back, received) = py.detach(move || {
            let received = receiver.recv_timeout(LISTEN);
            (receiver, received)
        });
        receiver = back;
        match received {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(panic)) => return Err(crate::panicked(&panic)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(CoreError::new_err(
                    "the thread has vanished; please report it",
                ));
            }
        }
        if let Err(signal) = py.check_signals() {
            progress.cancel();
            return Err(signal);
        }
    }
}
