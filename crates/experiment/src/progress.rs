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
    /// Whether all running work should end: the run is cancelled or has failed. It is separate from the
    /// counts because it is read at every event.
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// Return the messages delivered so far, all points together.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Return whether the first point or search has started. Its machine is built by then.
    pub fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Return the number of finished points and searches, and their total number.
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

    /// Ask the run to stop soon. Finished points stay.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Return whether the run was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// End all running work, because the run can no longer succeed.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Return whether all running work should end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Return the flag behind [`Progress::is_stopped`], for code that reads it at every event.
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

    /// Count one point or search fewer that another process computes: it is done, or runs here.
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
