//! A task: work that runs in its own thread, and for whose end other threads can wait.

use crate::error::RunError;
use crate::guard;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// State of a task: not started, running or ended.
#[derive(Debug)]
enum State<T> {
    /// The task has not started.
    Idle,
    /// The task has started and not ended.
    Running,
    /// The task has ended with this result, which [`Task::take`] has not returned yet.
    Ended(Result<T, RunError>),
    /// The task has ended, and [`Task::take`] has returned its result.
    Taken,
}

/// State of a task, shared by its thread and the threads that wait for it.
#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    /// Condition variable that is notified when the task ends.
    ended: Condvar,
}

/// Work that runs once, in its own thread. A panic in the work ends the task with an error.
#[derive(Debug)]
pub struct Task<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Default for Task<T> {
    /// Return a task that has not started.
    fn default() -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State::Idle),
                ended: Condvar::new(),
            }),
        }
    }
}

impl<T> Shared<T> {
    /// Lock and return the state of the task.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> Task<T> {
    /// Start `work` in a new thread. Return false if the task has started before.
    pub fn start(&self, work: impl FnOnce() -> Result<T, RunError> + Send + 'static) -> bool {
        let mut state = self.shared.lock();
        if !matches!(*state, State::Idle) {
            return false;
        }
        *state = State::Running;
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().spawn(move || {
            let result = guard::catch(work).unwrap_or_else(|panic| Err(panic.into()));
            *shared.lock() = State::Ended(result);
            shared.ended.notify_all();
        });
        if let Err(error) = thread {
            *state = State::Ended(Err(RunError::Threads {
                jobs: 1,
                problem: error.to_string(),
            }));
        }
        true
    }
}

impl<T> Task<T> {
    /// Return whether the task has started and not ended.
    pub fn is_running(&self) -> bool {
        matches!(*self.shared.lock(), State::Running)
    }

    /// Wait up to `limit` for the end of the task. Return false if it is still running.
    pub fn wait(&self, limit: Duration) -> bool {
        let running = |state: &mut State<T>| matches!(state, State::Running);
        let state = self.shared.lock();
        let waited = self.shared.ended.wait_timeout_while(state, limit, running);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !matches!(*state, State::Running)
    }

    /// Return the result of the task and remove it. Return `None` if the task has not ended or the result was
    /// removed before.
    pub fn take(&self) -> Option<Result<T, RunError>> {
        let mut state = self.shared.lock();
        if !matches!(*state, State::Ended(_)) {
            return None;
        }
        match mem::replace(&mut *state, State::Taken) {
            State::Ended(result) => Some(result),
            State::Idle | State::Running | State::Taken => None,
        }
    }
}
