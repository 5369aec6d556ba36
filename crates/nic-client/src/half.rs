//! One direction of a link, which one call has at a time.

use crate::error::Result;
use crate::lock::{locked, waited};
use isthmus_wire::Timeout;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex};

/// Something that one call has at a time.
#[derive(Debug)]
pub(crate) struct Half<T> {
    place: Mutex<Option<T>>,
    back: Condvar,
}

/// It, until this is dropped.
pub(crate) struct Taken<'h, T> {
    half: &'h Half<T>,
    it: Option<T>,
}

impl<T> Half<T> {
    pub fn new(it: T) -> Self {
        Self {
            place: Mutex::new(Some(it)),
            back: Condvar::new(),
        }
    }

    /// Takes it, waiting for who has it.
    ///
    /// # Errors
    /// Those of the timeout.
    pub fn take(&self, timeout: Timeout<'_>) -> Result<Taken<'_, T>> {
        loop {
            // Asked without the lock: who says so may wait for somebody who waits for the lock.
            let left = timeout.slice_left();
            let mut place = locked(&self.place);
            if let Some(it) = place.take() {
                return Ok(Taken {
                    half: self,
                    it: Some(it),
                });
            }
            drop(waited(&self.back, place, left?));
        }
    }

    /// Looks at it; none while somebody has it.
    pub fn look<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        locked(&self.place).as_ref().map(look)
    }

    /// Waits until somebody had it and gave it back, a little at most.
    pub fn pause(&self, timeout: Timeout<'_>) -> Result<()> {
        let left = timeout.slice_left()?;
        let place = locked(&self.place);
        drop(self.back.wait_timeout(place, left));
        Ok(())
    }

    pub fn notify(&self) {
        self.back.notify_all();
    }
}

impl<T> Deref for Taken<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.it.as_ref().expect("it is given back when dropped")
    }
}

impl<T> DerefMut for Taken<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.it.as_mut().expect("it is given back when dropped")
    }
}

impl<T> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        *locked(&self.half.place) = self.it.take();
        self.half.back.notify_all();
    }
}
