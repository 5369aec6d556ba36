//! A mutex whose lock operation has a timeout.

use crate::error::Result;
use crate::lock::{lock, wait_for_change};
use isthmus_wire::Timeout;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex};

/// A mutex that callers lock with a timeout, because another thread may hold the lock for long.
#[derive(Debug)]
pub(crate) struct TimedMutex<T> {
    pos: Mutex<Option<T>>,
    returned: Condvar,
}

/// A locked value, which is unlocked when the guard is dropped.
pub(crate) struct TimedGuard<'h, T> {
    mutex: &'h TimedMutex<T>,
    value: Option<T>,
}

impl<T> TimedMutex<T> {
    /// Create an unlocked mutex with this value.
    pub fn new(value: T) -> Self {
        Self {
            pos: Mutex::new(Some(value)),
            returned: Condvar::new(),
        }
    }

    /// Lock the value, within the timeout.
    ///
    /// # Errors
    /// An expired timeout.
    pub fn take(&self, timeout: Timeout<'_>) -> Result<TimedGuard<'_, T>> {
        loop {
            // Call this before `pos` is locked: the callback of the timeout may wait for a thread
            // that waits for this lock.
            let left = timeout.slice_left();
            let mut pos = lock(&self.pos);
            if let Some(value) = pos.take() {
                return Ok(TimedGuard {
                    mutex: self,
                    value: Some(value),
                });
            }
            drop(wait_for_change(&self.returned, pos, left?));
        }
    }

    /// Call `peek` with the value and return its result; None while the value is locked.
    pub fn peek<R>(&self, peek: impl FnOnce(&T) -> R) -> Option<R> {
        lock(&self.pos).as_ref().map(peek)
    }

    /// Wait until the value is unlocked, but at most for a part of the remaining timeout. An error
    /// says that the timeout has passed.
    pub fn pause(&self, timeout: Timeout<'_>) -> Result<()> {
        let left = timeout.slice_left()?;
        let pos = lock(&self.pos);
        drop(self.returned.wait_timeout(pos, left));
        Ok(())
    }

    /// Wake the threads that wait for the value.
    pub fn notify(&self) {
        self.returned.notify_all();
    }
}

impl<T> Deref for TimedGuard<'_, T> {
    /// The type of the locked value.
    type Target = T;
    /// Return the locked value.
    fn deref(&self) -> &T {
        self.value.as_ref().expect("it is given back when dropped")
    }
}

impl<T> DerefMut for TimedGuard<'_, T> {
    /// Return the locked value for changes.
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("it is given back when dropped")
    }
}

impl<T> Drop for TimedGuard<'_, T> {
    /// Unlock the mutex, and wake the threads that wait for it.
    fn drop(&mut self) {
        *lock(&self.mutex.pos) = self.value.take();
        self.mutex.returned.notify_all();
    }
}
