//! Fractions of the ranks' time that they spend on each activity.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Nanoseconds that all ranks of one kind have spent on each of `N` activities.
#[derive(Debug)]
pub(crate) struct Shares<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Shares<N> {
    /// Create the counters of `N` activities, all zero.
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl<const N: usize> Shares<N> {
    /// Run a function and add its time to activity `which`.
    pub fn time<T>(&self, which: usize, work: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let done = work();
        let ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0[which].fetch_add(ns, Ordering::Relaxed);
        done
    }

    /// Return the share of each activity in the total time, from 0 to 1.
    pub fn parts(&self) -> [f64; N] {
        let each = std::array::from_fn(|at| self.0[at].load(Ordering::Relaxed) as f64);
        let all: f64 = each.iter().sum();
        each.map(|one: f64| if all > 0.0 { one / all } else { 0.0 })
    }
}

/// Consecutive numbers of work items that ranks claim, until they are closed.
#[derive(Debug, Default)]
pub(crate) struct Numbers(std::sync::Mutex<(u64, Option<u64>)>);

impl Numbers {
    /// Lock the state: the number of claimed numbers, and the end of the range of numbers, which is
    /// `None` until the numbers are closed.
    fn lock(&self) -> std::sync::MutexGuard<'_, (u64, Option<u64>)> {
        let locked = self.0.lock();
        locked.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Claim `number`. Return false if the numbers were closed before and `number` is beyond the
    /// end.
    pub fn begin(&self, number: u64) -> bool {
        let mut state = self.lock();
        if state.1.is_some_and(|end| number >= end) {
            return false;
        }
        state.0 = state.0.max(number + 1);
        true
    }

    /// Close the numbers, so that ranks claim no further ones. Return how many numbers are claimed,
    /// including all below the highest claimed number.
    pub fn stop(&self) -> u64 {
        let mut state = self.lock();
        let started = state.0;
        *state.1.get_or_insert(started)
    }
}
