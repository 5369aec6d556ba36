//! The progress of a run, and requests to it to stop, for other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The state that a run shares with the threads that watch it.
#[derive(Debug, Default)]
pub struct Progress {
    messages: AtomicU64,
    started: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    elsewhere: AtomicU64,
    cancelled: AtomicBool,
    /// Whether everything at work should end: cancelled, or something has failed. Apart from the
    /// counts, since it is looked at all the time.
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// Messages delivered so far, all points together.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Return whether the first point or search has started. Its machine is built by then.
    pub fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Points and searches finished, and their number.
    pub fn jobs(&self) -> (u64, u64) {
        (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        )
    }

    /// Points and searches that are waited for, as others are at them.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere.load(Ordering::Relaxed)
    }

    /// Asks the run to stop soon. Finished points stay.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Whether the run was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Ends everything at work, since the run cannot succeed any more.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether everything at work should end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The flag behind [`Progress::is_stopped`], for those who look at it at every event.
    pub(crate) fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    pub(crate) fn add_messages(&self, count: u64) {
        self.messages.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn set_started(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    pub(crate) fn set_elsewhere(&self, count: u64) {
        self.elsewhere.store(count, Ordering::Relaxed);
    }

    /// One that was waited for is at work here, or done.
    pub(crate) fn drop_elsewhere(&self) {
        self.elsewhere.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn add_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_all_done(&self) {
        let total = self.total.load(Ordering::Relaxed);
        self.done.store(total, Ordering::Relaxed);
    }
}
