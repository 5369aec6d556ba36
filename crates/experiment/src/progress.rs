//! Progress counters and stop flags of a run, shared between threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of a run, shared with the threads that display it or stop the run.
#[derive(Debug, Default)]
pub struct Progress {
    /// Number of messages delivered so far in all simulations of the run.
    messages: AtomicU64,
    /// Whether the first point or search has started.
    started: AtomicBool,
    /// Number of finished points and searches.
    done: AtomicU64,
    /// Number of all points and searches of the run.
    total: AtomicU64,
    /// Number of points and searches that other processes compute now.
    elsewhere: AtomicU64,
    /// Whether a caller has requested that the run stop.
    cancelled: AtomicBool,
    /// Whether all work of the run should stop, because the run is cancelled or has failed. It is a flag of its own,
    /// apart from the counts, because it is read at every event.
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// Return the number of messages delivered so far in all simulations of the run.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Return whether the first point or search has started, which implies that its machine has been built.
    pub fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Return the number of finished points and searches, and the number of all of them.
    pub fn jobs(&self) -> (u64, u64) {
        (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        )
    }

    /// Return the number of points and searches that other processes are computing.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere.load(Ordering::Relaxed)
    }

    /// Cancel the run: it stops soon, and finished points stay in the journal.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Return whether a caller has cancelled the run.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Request that all work of the run stop, because the run can no longer succeed.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Return whether all work of the run should stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Return the flag whose value [`Progress::is_stopped`] returns, for code that reads it at every event.
    pub(crate) fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Add `count` to the number of messages delivered so far in the run.
    pub(crate) fn add_messages(&self, count: u64) {
        self.messages.fetch_add(count, Ordering::Relaxed);
    }

    /// Record that the first point or search has started.
    pub(crate) fn set_started(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// Set the total number of points and searches of the run.
    pub(crate) fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Set the number of points and searches that other processes are computing.
    pub(crate) fn set_elsewhere(&self, count: u64) {
        self.elsewhere.store(count, Ordering::Relaxed);
    }

    /// Subtract one from the number of points and searches that other processes compute: it is finished, or this
    /// process computes it.
    pub(crate) fn drop_elsewhere(&self) {
        self.elsewhere.fetch_sub(1, Ordering::Relaxed);
    }

    /// Add one to the finished points and searches.
    pub(crate) fn add_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Record that all points and searches of the run are finished.
    pub(crate) fn set_all_done(&self) {
        let total = self.total.load(Ordering::Relaxed);
        self.done.store(total, Ordering::Relaxed);
    }
}
