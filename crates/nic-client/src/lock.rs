//! Functions that lock mutexes and wait for condition variables, even if another thread has
//! panicked with the lock.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lock a mutex, even if a thread panicked while it held the lock. Every change under a lock in
/// this crate is a single step, which a panic cannot leave half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wait for the condition variable, at most for this time.
pub(crate) fn wait_for_change<'m, T>(
    condition: &Condvar,
    guard: MutexGuard<'m, T>,
    time: Duration,
) -> MutexGuard<'m, T> {
    let wait_for_change = condition.wait_timeout(guard, time);
    wait_for_change.unwrap_or_else(PoisonError::into_inner).0
}
