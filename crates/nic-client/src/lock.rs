//! Locks and conditions.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a thread that panicked left is whole: nothing here is changed in two steps.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the condition, a time at most.
pub(crate) fn waited<'m, T>(
    condition: &Condvar,
    guard: MutexGuard<'m, T>,
    time: Duration,
) -> MutexGuard<'m, T> {
    let waited = condition.wait_timeout(guard, time);
    waited.unwrap_or_else(PoisonError::into_inner).0
}
