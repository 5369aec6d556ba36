//! Long work that Ctrl-C can end: done in a thread of its own, while this one listens.

use crate::CoreError;
use isthmus_experiment::{Progress, catch};
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time between two looks at whether Ctrl-C was pressed.
const LISTEN: Duration = Duration::from_millis(50);

/// What `work` returns, unless a signal comes first: then `progress` is cancelled, and the thread
/// ends as soon as it looks at that. A panic in there is an error that asks for a report.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    progress: Arc<Progress>,
    work: impl FnOnce(Arc<Progress>) -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let shared = Arc::clone(&progress);
    let thread = thread::Builder::new().spawn(move || {
        // Nobody listens any more after a signal.
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
